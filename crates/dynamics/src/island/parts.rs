//! What an island is made of.

use super::*;

/// Who is in an island.
#[derive(Debug)]
pub(crate) struct Members<G: Geometry> {
    /// Bodies; the first is the world.
    pub bodies: Vec<LocalBody<G>>,
    /// Those of them that have shapes.
    pub shaped: Vec<usize>,
    /// Box of everywhere the shapes of each of these have been in this step.
    pub travelled: Vec<Aabb<G>>,
    /// Bodies that share the island only because they meet nobody; 0 where bodies are bound to each other.
    pub company: usize,
    /// Whether any body moves whatever pushes it.
    pub driven: bool,
    /// Whether any body moves that no joint holds.
    pub loose: bool,
}

impl<G: Geometry> Default for Members<G> {
    fn default() -> Self {
        Members { bodies: Vec::new(), shaped: Vec::new(), travelled: Vec::new(), company: 0, driven: false, loose: false }
    }
}

/// Where its bodies are and how they move, over one substep.
#[derive(Debug)]
pub(crate) struct Motion<G: Geometry> {
    /// Poses q.
    pub poses: Vec<Pose<G>>,
    /// Velocities v, full step.
    pub twists: Vec<Twist<G>>,
    /// Velocities v1/2 of the move.
    pub half: Vec<Twist<G>>,
    /// Poses q' at the end of the move.
    pub next: Vec<Pose<G>>,
    /// Poses before the last round of a projection: scratch.
    pub retreat: Vec<Pose<G>>,
    /// Accelerations under loads alone, at q.
    pub free: Vec<Twist<G>>,
    /// Accelerations under loads and joints, at q: what sets the rest speed.
    pub held: Vec<Twist<G>>,
    /// Scratch velocities.
    pub scratch: Vec<Twist<G>>,
    /// Angular impulses of rows on each body in stage 7.
    pub turning: Vec<G::Ang>,
}

impl<G: Geometry> Default for Motion<G> {
    fn default() -> Self {
        Motion {
            poses: Vec::new(),
            twists: Vec::new(),
            half: Vec::new(),
            next: Vec::new(),
            retreat: Vec::new(),
            free: Vec::new(),
            held: Vec::new(),
            scratch: Vec::new(),
            turning: Vec::new(),
        }
    }
}

/// What acts on them besides rows.
#[derive(Debug)]
pub(crate) struct Loading<G: Geometry> {
    /// Loads at q or q'.
    pub loads: Vec<Loads<G>>,
    /// Whether loads other than weight were found, which do work that is booked.
    pub worked: bool,
    /// The loads are the weights of the bodies and stay as they are while the bodies are the same.
    pub weight_alone: bool,
    /// So do the accelerations under them, at q and at q': they are nobody's spin's either.
    pub falling: bool,
    /// Indexes of the forces that act on its bodies: (force, local body, control).
    pub forces: Vec<(usize, usize, Option<usize>)>,
}

impl<G: Geometry> Default for Loading<G> {
    fn default() -> Self {
        Loading { loads: Vec::new(), worked: false, weight_alone: false, falling: false, forces: Vec::new() }
    }
}

/// What binds them: joints and pairs, and how these bent the last moves.
#[derive(Debug, Default)]
pub(crate) struct Links {
    /// Pairs that may touch.
    pub pairs: Vec<LocalPair>,
    /// Joints.
    pub joints: Vec<LocalJoint>,
    /// Couplings of its joints.
    pub ties: Vec<LocalTie>,
    /// Tendons of its joints.
    pub tendons: Vec<LocalTie>,
    /// Those of them, rising, that are more than rows which hold: springs, motors, friction, limits, and lengths that turn.
    pub acting: Vec<usize>,
    /// How joints bent the last moves.
    pub curvature: Curvature,
    /// The same at the start of the step, where the world left it to the island.
    pub curvature_before: Curvature,
}

/// Contacts: at the present poses, remembered, and summed over the step.
#[derive(Debug)]
pub(crate) struct Touch<G: Geometry> {
    /// Contacts at the current pose within the margin.
    pub near: Vec<Near<G>>,
    /// How many of them detection found, by rising pair; those after were added since.
    pub detected: usize,
    /// They are those of the present poses: the last step ended there.
    pub found: bool,
    /// What the last substep left: which contacts were active, with which impulses; sorted by key.
    pub memory: Vec<Memory<G>>,
    /// Contacts of this step and their summed impulses; sorted by key.
    pub reports: Vec<Report<G>>,
    /// Manifold scratch.
    pub manifold: Vec<Contact<G>>,
    /// What is known of each pair of colliders on the move at hand.
    pub ahead: Vec<Ahead<G>>,
}

impl<G: Geometry> Default for Touch<G> {
    fn default() -> Self {
        Touch {
            near: Vec::new(),
            detected: 0,
            found: false,
            memory: Vec::new(),
            reports: Vec::new(),
            manifold: Vec::new(),
            ahead: Vec::new(),
        }
    }
}

/// Rows, the selected problem, and who solves it.
#[derive(Debug)]
pub(crate) struct System<G: Geometry> {
    /// Rows and factors at the current pose.
    pub assembly: Assembly<G>,
    /// The selected problem and its solution.
    pub solve: Solve,
    /// Solver with its scratch.
    pub solver: ContactSolver,
}

impl<G: Geometry> Default for System<G> {
    fn default() -> Self {
        System { assembly: Assembly::empty(), solve: Solve::default(), solver: ContactSolver::new() }
    }
}

/// What the step came to.
#[derive(Debug)]
pub(crate) struct Books<G: Geometry> {
    /// What its joints did in this step, where somebody watches.
    pub efforts: Vec<JointEffort<G>>,
    /// Energy booked in this step.
    pub flow: Flow,
    /// How the step went.
    pub report: IslandReport,
    /// Why it failed, if it did.
    pub failure: Option<StepError>,
    /// Who watches its steps.
    pub observer: Option<Box<dyn Observer<G>>>,
    /// What was put right before it moved.
    pub placement: Placement,
}

impl<G: Geometry> Default for Books<G> {
    fn default() -> Self {
        Books {
            efforts: Vec::new(),
            flow: Flow::default(),
            report: IslandReport::default(),
            failure: None,
            observer: None,
            placement: Placement::default(),
        }
    }
}

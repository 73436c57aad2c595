//! What a world is made of besides its model and its state.

use super::*;

/// What every step asks of a model, found once: a long mechanism is bound by what it has to read.
#[derive(Clone, Debug, Default)]
pub(super) struct Facts {
    /// Number of controls.
    pub controls: usize,
    /// Bodies that move whatever pushes them.
    pub kinematic: Vec<usize>,
    /// Whether anything is a spring.
    pub springs: bool,
}

impl Facts {
    pub fn of<G: Geometry>(model: &Model<G>) -> Self {
        Facts {
            controls: model.control_count(),
            kinematic: (0..model.bodies.len()).filter(|&body| model.bodies[body].kind == BodyKind::Kinematic).collect(),
            springs: model.joints.iter().any(|joint| joint.kind == JointKind::Spring) || model.couplings.iter().any(|c| c.tendon.is_some()),
        }
    }
}

/// The search for pairs that may meet within a step.
#[derive(Debug)]
pub(crate) struct Search<G: Geometry> {
    /// Which bodies collide at all.
    pub table: PairTable,
    /// Largest extent of each body \[m\].
    pub extents: Vec<f64>,
    /// Everywhere each body may come within the step.
    pub boxes: Vec<Aabb<G>>,
    /// Bodies with shapes, and their boxes: the others meet nobody.
    pub shaped: Vec<usize>,
    /// Their boxes.
    pub shaped_boxes: Vec<Aabb<G>>,
    /// The search itself.
    pub broadphase: Broadphase<G>,
    /// What it found.
    pub pairs: Vec<(usize, usize)>,
    /// The same with boxes that grew.
    pub wider: Vec<(usize, usize)>,
}

impl<G: Geometry> Search<G> {
    pub fn of(model: &Model<G>) -> Self {
        Search {
            table: PairTable::new(model),
            extents: model.bodies.iter().map(|b| b.extent()).collect(),
            boxes: Vec::new(),
            shaped: (0..model.bodies.len()).filter(|&b| !model.bodies[b].colliders.is_empty()).collect(),
            shaped_boxes: Vec::new(),
            broadphase: Broadphase::new(),
            pairs: Vec::new(),
            wider: Vec::new(),
        }
    }
}

/// The islands of the last step, and what they were built from.
#[derive(Debug)]
pub(crate) struct Islands<G: Geometry> {
    /// Who shares one.
    pub partition: Partition,
    /// The islands; those past `used` are memory for later.
    pub list: Vec<Island<G>>,
    /// How many are in use.
    pub used: usize,
    /// Pairs they were built from.
    pub built: Vec<(usize, usize)>,
    /// Whether every body that meets nobody has one of its own.
    pub apart: bool,
    /// Whether they ended where the state is now.
    pub current: bool,
    /// They know better than the world what joints remember: where no body has a shape islands stay as they are, and nothing is copied in every step.
    pub remember: bool,
}

impl<G: Geometry> Default for Islands<G> {
    fn default() -> Self {
        Islands {
            partition: Partition::default(),
            list: Vec::new(),
            used: 0,
            built: Vec::new(),
            apart: false,
            current: false,
            remember: false,
        }
    }
}

/// What steps leave for those after them, and for those who ask.
#[derive(Clone, Debug)]
pub(crate) struct Past<G: Geometry> {
    /// Which contacts were active, with which impulses; sorted by key.
    pub memory: Vec<Memory<G>>,
    /// How joints bent the last moves.
    pub curvature: Curvature,
    /// Contacts of the last step and their summed impulses; sorted by key.
    pub reports: Vec<Report<G>>,
    /// One contact of every pair that pushed each other before the last step.
    pub touched: Vec<Key<G>>,
    /// How the last step went.
    pub last: StepReport,
}

impl<G: Geometry> Default for Past<G> {
    fn default() -> Self {
        Past { memory: Vec::new(), curvature: Curvature::default(), reports: Vec::new(), touched: Vec::new(), last: StepReport::default() }
    }
}

/// The books since reset.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Books {
    /// What flowed.
    pub flow: Flow,
    /// Energy at the start \[J\].
    pub start_energy: f64,
    /// Largest energy seen \[J\].
    pub largest: f64,
}

/// Who acts on a world, or looks at it, from outside; copies have none of it.
#[derive(Debug)]
pub(crate) struct Outside<G: Geometry> {
    /// Who watches steps.
    pub watch: Option<Watch<G>>,
    /// The wish to stop.
    pub interrupt: Interrupt,
    /// Contact problems are kept before they are solved.
    pub capture: bool,
    /// Wrenches, one per body, or none.
    pub pushes: Vec<Wrench<G>>,
    /// What joints did in the last step, where somebody asked.
    pub efforts: Option<Vec<JointEffort<G>>>,
    /// Islands at rest take their steps all the same.
    pub awake: bool,
}

impl<G: Geometry> Default for Outside<G> {
    fn default() -> Self {
        Outside { watch: None, interrupt: Interrupt::NEVER, capture: false, pushes: Vec::new(), efforts: None, awake: false }
    }
}

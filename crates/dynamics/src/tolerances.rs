//! Every number that decides something in the step, with its unit and its reason.

/// Named tolerances; lengths are fractions of the size, the largest extent of the smaller body of a pair.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Tolerances {
    /// Contacts closer than this fraction of the size are kept as near. Larger costs time; smaller loses contacts that persist.
    pub margin: f64,
    /// A gap below this fraction of the size touches. It must lie well above rounding of positions and below anything visible.
    pub touch: f64,
    /// Overlap up to this fraction of the size is left alone; beyond it positions are projected.
    pub slop: f64,
    /// Least rest speed [m/s]: slower contacts do not bounce.
    pub rest_speed: f64,
    /// Contacts closing slower than this many steps of their load's acceleration do not bounce: below it one step of gravity
    /// would be read as an impact and a resting body would jitter.
    pub rest_steps: f64,
    /// Joint error and active gap at the end of the move, as a fraction of the size.
    pub position: f64,
    /// A contact row whose effective inverse mass falls below this fraction of its unjointed value is locked by the joints.
    pub locked: f64,
    /// Largest turn \[rad\] of a jointed body in one substep; beyond it start-pose impulses lose the energy (theory 2.9).
    pub turn: f64,
    /// Miss of a contact law [m/s] at which a solve may stop; without it solves go as far as rounding lets them. Joints are exact either way.
    pub solve: Option<f64>,
    /// Events at which a step and island may be cut; past them the rest of the step is one stepped move, theory (2.25).
    pub max_events: usize,
    /// Rounds of impact at one instant; the first with restitution.
    pub max_rounds: usize,
    /// Smallest substep under `halving`, as a power of two of the step.
    pub max_halvings: usize,
}

impl Default for Tolerances {
    fn default() -> Self {
        Tolerances {
            margin: 1e-3,
            touch: 1e-9,
            slop: 1e-6,
            rest_speed: 1e-3,
            rest_steps: 2.0,
            position: 1e-12,
            locked: 1e-9,
            turn: 0.2,
            solve: None,
            max_events: 64,
            max_rounds: 20,
            max_halvings: 10,
        }
    }
}

impl Tolerances {
    /// The first entry that makes no sense, with what is allowed; `None` when all are usable.
    pub fn fault(&self) -> Option<(&'static str, f64, &'static str)> {
        let positive = [
            ("margin", self.margin),
            ("touch", self.touch),
            ("slop", self.slop),
            ("rest_speed", self.rest_speed),
            ("position", self.position),
            ("locked", self.locked),
            ("turn", self.turn),
        ];
        for (name, value) in positive {
            if !(value.is_finite() && value > 0.0) {
                return Some((name, value, "a positive number"));
            }
        }
        if let Some(solve) = self.solve
            && !(solve.is_finite() && solve > 0.0)
        {
            return Some(("solve", solve, "a positive number"));
        }
        if !(self.rest_steps.is_finite() && self.rest_steps >= 0.0) {
            return Some(("rest_steps", self.rest_steps, "a number >= 0"));
        }
        if self.touch > self.slop || self.slop > self.margin {
            return Some(("slop", self.slop, "touch <= slop <= margin"));
        }
        for (name, value) in [("max_events", self.max_events), ("max_rounds", self.max_rounds)] {
            if value == 0 {
                return Some((name, 0.0, "at least 1"));
            }
        }
        None
    }
}

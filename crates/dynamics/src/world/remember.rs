//! What a world remembers from step to step, taken out and put back; and worlds made from worlds.

use super::*;

/// What the steps after a state depend on, beyond the state itself.
#[derive(Clone, Debug)]
pub(crate) struct Remembered<G: Geometry> {
    memory: Vec<Memory<G>>,
    curvature: Curvature,
    books: (Flow, f64, f64),
    fresh: bool,
}

impl<G: Geometry> Remembered<G> {
    /// Bytes it holds.
    pub fn bytes(&self) -> usize {
        size_of::<Self>() + size_of_val(&self.memory[..]) + size_of_val(&self.curvature.values()[..])
    }
}

impl<G: Geometry> World<G> {
    /// What is remembered of contacts.
    pub(crate) fn memory(&self) -> &[Memory<G>] {
        &self.past.memory
    }

    /// Flows, energy at the start and largest energy seen.
    pub(crate) fn books(&self) -> (Flow, f64, f64) {
        (self.books.flow, self.books.start_energy, self.books.largest)
    }

    /// What is remembered of joints, to be replaced.
    pub(crate) fn curvature(&mut self) -> &mut Curvature {
        self.islands.remember = false;
        &mut self.past.curvature
    }

    /// The same, to read.
    pub(crate) fn curvature_values(&self) -> Vec<f64> {
        self.present_curvature().values()
    }

    pub(crate) fn present_curvature(&self) -> Curvature {
        let mut curvature = self.past.curvature.clone();
        if self.islands.remember {
            self.islands.list[..self.islands.used]
                .iter()
                .for_each(|island| island.links.curvature.give(&mut curvature, &island.links.joints));
        }
        curvature
    }

    /// Takes islands of an earlier run for their room, or lays its own down where it has come to rest: the next step builds them anew.
    pub(crate) fn exchange_islands(&mut self, islands: Vec<Island<G>>) -> Vec<Island<G>> {
        self.past.curvature = self.present_curvature();
        (self.islands.remember, self.islands.current, self.islands.used) = (false, false, 0);
        std::mem::replace(&mut self.islands.list, islands)
    }

    /// Takes over memory and books.
    pub(crate) fn resume(&mut self, memory: Vec<Memory<G>>, (flow, start_energy, largest): (Flow, f64, f64)) {
        self.past.memory = memory;
        self.islands.current = false;
        (self.books.flow, self.books.start_energy, self.books.largest) = (flow, start_energy, largest);
    }

    /// What the next step depends on beyond the state: memory of contacts and joints, and the books.
    pub(crate) fn remembered(&self) -> Remembered<G> {
        Remembered { memory: self.past.memory.clone(), curvature: self.present_curvature(), books: self.books(), fresh: self.fresh }
    }

    /// Goes back to a state of this same run, with what was then remembered.
    pub(crate) fn return_to(&mut self, state: &State<G>, then: &Remembered<G>) {
        self.state.clone_from(state);
        self.curvature().clone_from(&then.curvature);
        self.past.reports.clear();
        self.resume(then.memory.clone(), then.books);
        self.fresh = then.fresh;
    }

    /// How near two bodies must be for their contacts to be kept \[m\].
    pub(crate) fn reach(&self, bodies: [usize; 2]) -> f64 {
        self.model.tolerances.margin * pair_size(&self.search.extents, bodies[0], bodies[1])
    }

    /// The same world once more: model, state, memory of contacts and books.
    #[inline(never)]
    pub fn copy(&self) -> Self {
        World {
            facts: self.facts.clone(),
            search: Search::of(&self.model),
            islands: Islands::default(),
            past: Past { curvature: self.present_curvature(), ..self.past.clone() },
            books: self.books,
            outside: Outside::default(),
            fresh: self.fresh,
            placement: self.placement.clone(),
            edition: self.edition,
            idle: self.idle.clone(),
            start: self.start.clone(),
            state: self.state.clone(),
            model: self.model.clone(),
            scratch_pool: self.scratch_pool.clone(),
        }
    }

    /// This world with another model and state, its memory of contacts and its books kept; the bodies must be the same ones.
    #[inline(never)]
    pub fn altered(&self, model: Model<G>, state: State<G>) -> Result<Self, ModelError> {
        let mut world = World::new(model, state)?;
        world.resume(self.past.memory.clone(), self.books());
        world.past.curvature = self.present_curvature();
        world.start = self.start.clone();
        world.edition = self.edition;
        world.watch_joints(self.outside.efforts.is_some());
        world.scratch_pool = self.scratch_pool.handed_on();
        Ok(world)
    }
}

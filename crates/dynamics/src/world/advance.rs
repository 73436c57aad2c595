//! A step of the whole world: who may meet, islands side by side, and what they bring back.

use super::*;

impl<G: Geometry> World<G> {
    /// Boxes swept by the whole step at the present velocities, grown by the margin and by what the loads can add.
    pub(crate) fn sweep(&mut self) {
        let h = self.model.step;
        let fall = 0.5 * h * h * self.model.gravity.norm();
        let nowhere = Aabb::of_point(G::Lin::zero());
        self.search.boxes.resize(self.model.bodies.len(), nowhere);
        for &index in &self.search.shaped {
            let body = &self.model.bodies[index];
            let pose = &self.state.poses[index];
            let mut swept: Option<Aabb<G>> = None;
            let moves = body.kind != BodyKind::Static;
            let twist = self.state.twists[index];
            for collider in &body.colliders {
                let here = G::bounds(&collider.shape, &pose.compose(&collider.local));
                let mut all = here;
                if moves {
                    all = all.union(&G::bounds(&collider.shape, &pose.advanced(twist, h).compose(&collider.local)));
                    let chord = (twist.ang.norm() * h).min(2.0) * G::reach(&collider.shape, G::Lin::zero());
                    all = all.grown(if chord.is_finite() { chord * 0.25 } else { 0.0 });
                }
                swept = Some(swept.map_or(all, |s| s.union(&all)));
            }
            let margin =
                if self.search.extents[index].is_finite() { self.model.tolerances.margin * self.search.extents[index] } else { 0.0 };
            let slack = if moves { fall + margin } else { margin };
            self.search.boxes[index] = swept.unwrap_or_else(|| Aabb::of_point(pose.position)).grown(slack);
        }
        let mut pairs = std::mem::take(&mut self.search.pairs);
        self.find_pairs(&mut pairs);
        self.search.pairs = pairs;
    }

    /// Pairs of bodies whose boxes meet and that may touch, ascending.
    pub(super) fn find_pairs(&mut self, out: &mut Vec<(usize, usize)>) {
        let World { model, search: Search { table, broadphase, boxes, shaped, shaped_boxes, .. }, .. } = self;
        shaped_boxes.clear();
        shaped_boxes.extend(shaped.iter().map(|&body| boxes[body]));
        broadphase.pairs(shaped_boxes, |i, j| table.collide(model, shaped[i], shaped[j]), out);
        for (i, j) in out.iter_mut() {
            (*i, *j) = (shaped[*i], shaped[*j]);
        }
    }

    /// Advances every island, by a whole step or only to where it starts. A body that left its box gets a larger one; where that brings new pairs the
    /// step is taken again.
    pub(crate) fn advance_islands(&mut self, controls: &[f64], advance: Advance<G>) -> Result<usize, StepError> {
        // A record is one of islands that were bound together, and so are the rounds of mean velocities.
        let apart = self.outside.watch.is_some() || self.model.options.scheme().by_means();
        // Whoever looks on, keeps problems or counts efforts wants every step to be taken.
        let outside = &self.outside;
        let looked_at = outside.watch.is_some() || outside.capture || outside.efforts.is_some() || outside.awake;
        let rests = !looked_at && !self.fresh && !self.model.options.scheme().by_means();
        let mut used = 0;
        for round in 0..=SWEEP_CAP {
            // The same pairs make the same islands. Kinematic bodies move on the world's clock and must be placed anew.
            if std::mem::take(&mut self.islands.current) && self.islands.apart == apart && self.islands.built == self.search.pairs {
                used = self.islands.used;
                for island in &mut self.islands.list[..used] {
                    if !rests {
                        island.rest.wake();
                    }
                    if island.sleeps_on(controls, &self.outside.pushes) {
                        continue;
                    }
                    island.resume(&self.model);
                    if self.islands.remember {
                        island.links.curvature_before.assign(&island.links.curvature);
                    }
                }
            } else {
                if std::mem::take(&mut self.islands.remember) {
                    self.islands.list[..self.islands.used]
                        .iter()
                        .for_each(|island| island.links.curvature.give(&mut self.past.curvature, &island.links.joints));
                }
                let World {
                    model, state, search: Search { table, extents, pairs, .. }, past: Past { memory, curvature, .. }, islands, ..
                } = self;
                let Islands { partition, list, .. } = islands;
                used = partition.build(model, state, table, extents, pairs, memory, curvature, apart, list);
                self.islands.apart = apart;
                self.islands.built.clone_from(&self.search.pairs);
                self.islands.used = used;
            }
            let ctx = Context {
                model: &self.model,
                controls,
                time: self.state.time,
                watch: self.outside.watch,
                pushes: &self.outside.pushes,
                interrupt: &self.outside.interrupt,
                capture: self.outside.capture,
                fresh: self.fresh,
            };
            let islands = &mut self.islands.list[..used];
            for island in islands.iter_mut().filter(|island| !island.rest.sleeps()) {
                island.books.efforts.clear();
                island
                    .books
                    .efforts
                    .resize(if self.outside.efforts.is_some() { island.links.joints.len() } else { 0 }, JointEffort::zero());
            }
            let run = |island: &mut Island<G>| {
                if !island.rest.sleeps() {
                    island.books.failure = advance(island, &ctx).err();
                }
            };
            if used > 1 && self.model.bodies.len() >= PARALLEL_BODIES {
                islands.par_iter_mut().for_each(run);
            } else {
                islands.iter_mut().for_each(run);
            }
            let mut grew = false;
            for island in islands.iter() {
                let shaped = island.members.shaped.iter().map(|&body| &island.members.bodies[body]).zip(&island.members.travelled);
                for (body, travelled) in shaped.filter(|(body, _)| body.dynamic) {
                    let swept = &mut self.search.boxes[body.index];
                    if !swept.contains(travelled) {
                        grew = true;
                        *swept = swept.union(&travelled.grown(self.model.tolerances.margin * self.search.extents[body.index].min(1.0)));
                    }
                }
            }
            if !grew || round == SWEEP_CAP {
                break;
            }
            let mut wider = std::mem::take(&mut self.search.wider);
            self.find_pairs(&mut wider);
            self.search.wider = wider;
            if self.search.wider == self.search.pairs {
                break;
            }
            std::mem::swap(&mut self.search.wider, &mut self.search.pairs);
        }
        // What islands were stopped in is nothing that went wrong, and what they came to is worth nothing.
        let stopped = self.outside.interrupt.raised().then(|| StepError::unfinished(Cause::Stopped, self.state.time));
        let failed = stopped.or_else(|| self.islands.list[..used].iter_mut().find_map(|i| i.books.failure.take()));
        if failed.is_some() && self.islands.remember {
            self.islands.list[..used]
                .iter_mut()
                .for_each(|island| std::mem::swap(&mut island.links.curvature, &mut island.links.curvature_before));
        }
        match failed {
            Some(failed) => Err(failed),
            None => {
                self.settle(used, controls, rests);
                Ok(used)
            }
        }
    }

    /// Puts islands to sleep that the step left as they were, theory (2.40).
    fn settle(&mut self, used: usize, controls: &[f64], rests: bool) {
        let World { state, islands, outside: Outside { pushes, .. }, .. } = self;
        for island in islands.list[..used].iter_mut().filter(|island| !island.rest.sleeps()) {
            let places = island.members.bodies.iter().zip(island.motion.poses.iter().zip(&island.motion.twists));
            let stays = |(pose, twist), index: usize| unmoved::<G>((&state.poses[index], &state.twists[index]), (pose, twist));
            let unmoved = rests && places.filter(|(body, _)| body.dynamic).all(|(body, place)| stays(place, body.index));
            island.settle(controls, pushes, unmoved);
        }
    }

    /// Writes the islands back.
    pub(super) fn commit(&mut self, used: usize) {
        let h = self.model.step;
        self.gather_efforts(used);
        self.past.last = StepReport::default();
        if std::mem::take(&mut self.fresh) {
            self.placement = self.gathered_placement(used);
        }
        touching(&self.past.memory, &mut self.past.touched);
        self.past.memory.clear();
        self.past.reports.clear();
        let mut kinetic = 0.0;
        for island in &self.islands.list[..used] {
            let mut moving = 0.0;
            for (body, (pose, twist)) in island.members.bodies.iter().zip(island.motion.poses.iter().zip(&island.motion.twists)) {
                if body.dynamic {
                    self.state.poses[body.index] = *pose;
                    self.state.twists[body.index] = *twist;
                    // The islands' inertias stand at their last poses already.
                    moving += body.kinetic(twist);
                }
            }
            kinetic += moving + island.system.assembly.equalities.rotor_energy(&island.motion.twists);
            self.past.memory.extend_from_slice(&island.touch.memory);
            if !self.search.shaped.is_empty() {
                island.links.curvature.give(&mut self.past.curvature, &island.links.joints);
            }
            for ties in [&island.system.assembly.equalities.ties, &island.system.assembly.equalities.tendons] {
                ties.tell_turns(&self.model, &island.motion.poses, &mut self.state.turns);
            }
            self.past.reports.extend_from_slice(&island.touch.reports);
            self.books.flow.add(&island.books.flow);
            self.past.last.merge(&island.books.report.times(island.members.company.max(1)));
        }
        for &index in &self.facts.kinematic {
            self.state.poses[index] = self.state.poses[index].advanced(self.state.twists[index], h);
        }
        self.past.memory.sort_unstable_by_key(|a| a.key);
        self.past.reports.sort_unstable_by_key(|a| a.key);
        self.state.time += h;
        self.islands.remember = self.search.shaped.is_empty();
        self.islands.current = self.facts.kinematic.is_empty();
        let elastic = if self.facts.springs { elastic(&self.model, &self.state) } else { 0.0 };
        self.books.largest = self.books.largest.max(kinetic + elastic);
    }
}

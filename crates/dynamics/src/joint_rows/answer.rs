//! How bodies answer the rows of their joints: the blocks of J M^-1 J', and the work of impulses.

use super::*;

impl<G: Geometry> JointRows<G> {
    /// M^-1 applied to a wrench on a body of the island.
    pub(crate) fn answer(&self, body: usize, wrench: &Wrench<G>) -> Twist<G> {
        let (inv_mass, inv_inertia) = self.inverse[body];
        Twist { lin: wrench.lin.scale(inv_mass), ang: G::inertia_apply(inv_inertia, wrench.ang) }
    }

    /// The row of a coupling with those of a joint, theory (21.12).
    pub fn meet_tie(&self, tie: usize, node: usize, block: &mut [f64]) {
        for (body, wrench) in self.ties.sides_of(tie) {
            let answer = self.answer(*body, wrench);
            for side in (0..2).filter(|&side| self.spans[node].bodies[side] as usize == *body) {
                self.speeds_at(node, side, &answer, |r, speed| block[r] += speed);
            }
        }
    }

    /// The rows of two couplings with each other.
    pub fn meet_ties(&self, ties: [usize; 2]) -> f64 {
        let [one, other] = ties.map(|tie| self.ties.sides_of(tie));
        let mut sum = 0.0;
        for (body, wrench) in one {
            let met = other.iter().filter(|(at, _)| at == body);
            sum += met.map(|(_, covector)| covector.power(&self.answer(*body, wrench))).sum::<f64>();
        }
        sum
    }

    /// l . J v for the sum of two velocities, and the part of it that belongs to bodies of which `driven` says so. The torques of the impulses are added to
    /// those on each body where there is room for them.
    pub fn work(&self, impulses: &[f64], twists: [&[Twist<G>]; 2], driven: impl Fn(usize) -> bool, pushed: &mut [G::Ang]) -> (f64, f64) {
        let (mut work, mut by_driven) = (0.0, 0.0);
        for span in &self.spans {
            let (force, torques) = self.wrench(span, impulses);
            for (body, force, torque) in [(span.bodies[0], force, torques[0]), (span.bodies[1], -force, torques[1])] {
                let body = body as usize;
                let [before, after] = twists.map(|twists| &twists[body]);
                let power = force.dot(before.lin + after.lin) + torque.dot(before.ang + after.ang);
                work += power;
                by_driven += if driven(body) { power } else { 0.0 };
                if let Some(pushed) = pushed.get_mut(body) {
                    *pushed += torque;
                }
            }
        }
        self.ties.sides(|row, body, wrench| {
            let [before, after] = twists.map(|twists| &twists[body]);
            let power = impulses[row] * (wrench.power(before) + wrench.power(after));
            work += power;
            by_driven += if driven(body) { power } else { 0.0 };
            if let Some(pushed) = pushed.get_mut(body) {
                *pushed += wrench.ang * impulses[row];
            }
        });
        (work, by_driven)
    }

    /// Adds the torques of impulses to those on each body.
    pub fn add_torques(&self, impulses: &[f64], pushed: &mut [G::Ang]) {
        for span in &self.spans {
            let (_, torques) = self.wrench(span, impulses);
            span.bodies.iter().zip(torques).for_each(|(body, torque)| pushed[*body as usize] += torque);
        }
        self.ties.sides(|row, body, wrench| pushed[body] += wrench.ang * impulses[row]);
    }

    /// Calls `out(r, J_r x)` for the rows of a joint, numbered among those with rows, and the twist of one of its sides.
    #[inline(always)]
    pub fn speeds_at(&self, joint: usize, side: usize, twist: &Twist<G>, mut out: impl FnMut(usize, f64)) {
        let span = &self.spans[joint];
        let sign = if side == 0 { 1.0 } else { -1.0 };
        if span.pin != WHOLE {
            let point = twist.at(self.now.pins[span.pin as usize][side]);
            for r in 0..G::DIM {
                out(r, sign * point[r]);
            }
            let turns = &self.now.turns[span.at as usize..][..span.rows as usize - G::DIM];
            for (r, w) in turns.iter().enumerate() {
                out(G::DIM + r, sign * w.dot(twist.ang));
            }
        } else {
            let rows = &self.now.whole[span.at as usize..][..span.rows as usize];
            for (r, row) in rows.iter().enumerate() {
                out(r, sign * row.lin.dot(twist.lin) + row.ang[side].dot(twist.ang));
            }
        }
    }

    /// M^-1 J' of the rows of a joint at one of its sides; returns how many there are.
    #[inline(always)]
    pub fn responses_at(&self, joint: usize, side: usize, out: &mut [Twist<G>; MAX_ROWS]) -> usize {
        let span = &self.spans[joint];
        let rows = (span.rows as usize).min(MAX_ROWS);
        let sign = if side == 0 { 1.0 } else { -1.0 };
        let (inv_mass, inv_inertia) = self.inverse[span.bodies[side] as usize];
        if span.pin != WHOLE {
            let turned = G::inertia_arm(inv_inertia, self.now.pins[span.pin as usize][side]);
            for (r, (out, ang)) in out[..G::DIM].iter_mut().zip(turned).enumerate() {
                out.lin = G::Lin::zero();
                out.lin[r] = sign * inv_mass[r];
                out.ang = ang * sign;
            }
            for (out, w) in out[G::DIM..rows].iter_mut().zip(&self.now.turns[span.at as usize..]) {
                *out = Twist { lin: G::Lin::zero(), ang: G::inertia_apply(inv_inertia, *w * sign) };
            }
        } else {
            for (out, row) in out[..rows].iter_mut().zip(&self.now.whole[span.at as usize..]) {
                *out = Twist { lin: (row.lin * sign).scale(inv_mass), ang: G::inertia_apply(inv_inertia, row.ang[side]) };
            }
        }
        rows
    }

    /// Adds J_a M^-1 J_b' of a meeting to its block; of a joint with itself the lower triangle is enough.
    #[inline]
    pub fn meet(&self, meeting: &Meeting, values: &mut [f64]) {
        let [a, b] = meeting.nodes.map(|node| &self.spans[node as usize]);
        let block = &mut values[meeting.at as usize..];
        let lower = meeting.nodes[0] == meeting.nodes[1];
        if a.pin != WHOLE && b.pin != WHOLE && a.rows == b.rows {
            // With the number of rows known the block is straight code.
            match (a.rows as usize - G::DIM, lower) {
                (0, _) => return self.meet_pinned::<0, false>(meeting, [a, b], block),
                (1, _) => return self.meet_pinned::<1, false>(meeting, [a, b], block),
                (2, true) => return self.meet_pinned::<2, true>(meeting, [a, b], block),
                (2, false) => return self.meet_pinned::<2, false>(meeting, [a, b], block),
                (3, _) => return self.meet_pinned::<3, false>(meeting, [a, b], block),
                _ => {}
            }
        }
        let [node_a, node_b] = meeting.nodes.map(|node| node as usize);
        let [side_a, side_b] = meeting.sides.map(usize::from);
        let (width, parts) = (b.rows as usize, f64::from(meeting.parts));
        let mut responses = [Twist::zero(); MAX_ROWS];
        let count = self.responses_at(node_b, side_b, &mut responses);
        for (c, response) in responses[..count].iter().enumerate() {
            self.speeds_at(node_a, side_a, response, |r, speed| block[r * width + c] += parts * speed);
        }
    }

    /// The same for joints that pin a point and hold T turns each.
    #[inline(always)]
    pub(super) fn meet_pinned<const T: usize, const LOWER: bool>(&self, meeting: &Meeting, spans: [&Span; 2], block: &mut [f64]) {
        let rows = G::DIM + T;
        let block = &mut block[..rows * rows];
        let [side_a, side_b] = meeting.sides.map(usize::from);
        let parts = f64::from(meeting.parts);
        let scale = if side_a == side_b { parts } else { -parts };
        let [arm_a, arm_b] = [(spans[0], side_a), (spans[1], side_b)].map(|(span, side)| self.now.pins[span.pin as usize][side]);
        let [turns_a, turns_b] = spans.map(|span| &self.now.turns[span.at as usize..][..T]);
        let (inv_mass, inv_inertia) = self.inverse[spans[1].bodies[side_b] as usize];
        let responses = G::inertia_arm(inv_inertia, arm_b);
        for c in 0..G::DIM {
            let mut point = G::spin(responses[c], arm_a);
            point[c] += inv_mass[c];
            for r in if LOWER { c } else { 0 }..G::DIM {
                block[r * rows + c] += scale * point[r];
            }
            for k in 0..T {
                block[(G::DIM + k) * rows + c] += scale * turns_a[k].dot(responses[c]);
            }
        }
        for c in 0..T {
            let response = G::inertia_apply(inv_inertia, turns_b[c]);
            if !LOWER {
                let point = G::spin(response, arm_a);
                for r in 0..G::DIM {
                    block[r * rows + G::DIM + c] += scale * point[r];
                }
            }
            for k in if LOWER { c } else { 0 }..T {
                block[(G::DIM + k) * rows + G::DIM + c] += scale * turns_a[k].dot(response);
            }
        }
    }

    /// M^-1 applied to a wrench on one side of a joint.
    pub fn response(&self, joint: usize, side: usize, wrench: &Wrench<G>) -> Twist<G> {
        let (inv_mass, inv_inertia) = self.inverse[self.spans[joint].bodies[side] as usize];
        Twist { lin: wrench.lin.scale(inv_mass), ang: G::inertia_apply(inv_inertia, wrench.ang) }
    }
}

//! The energy of the velocities that the joints allow, theory (13.19): what `energy-momentum` keeps without it would say too little.

use crate::redundancy::Jointed;
use crate::world::World;
use carom_geometry::Geometry;
use carom_math::Twist;

impl<G: Geometry> World<G> {
    /// Kinetic energy \[J\] of the present velocities projected onto J v = 0, the least change in the metric of the masses. It is at most the
    /// kinetic energy itself; the two agree under `verlet` and `euler`, whose velocities obey the joints, and differ under
    /// `energy-momentum` by what its velocities put into breaking them.
    pub fn projected_kinetic(&self) -> f64 {
        let Jointed { bodies, lines, factor, .. } = Jointed::new(self.model(), self.state());
        let moves = |index: usize| bodies[index].dynamic || bodies[index].kinematic;
        let own = self.state().twists.iter().enumerate().map(|(b, twist)| if moves(b + 1) { *twist } else { Twist::zero() });
        let mut twists: Vec<Twist<G>> = std::iter::once(Twist::zero()).chain(own).collect();
        let mut impulses: Vec<f64> = lines.iter().map(|line| -line.speed(&twists)).collect();
        factor.solve(&mut impulses);
        for (line, &impulse) in lines.iter().zip(&impulses) {
            line.push(impulse, &mut twists);
        }
        bodies.iter().zip(&twists).filter(|(body, _)| body.dynamic).map(|(body, twist)| body.kinetic(twist)).sum()
    }
}

//! One oblique collision in the plane worked out from its definition: Coulomb friction along the way, restitution by the work of the
//! normal force. Between two events (slip stops, compression ends, enough work is returned) every rate is constant, so the walk from
//! event to event is exact. Nothing here is shared with the engine.

/// A body about to strike level ground.
#[derive(Clone, Copy, Debug)]
pub struct Approach {
    /// Mass [kg].
    pub mass: f64,
    /// Inertia [kg m^2].
    pub inertia: f64,
    /// From the centre to the contact, along x and up [m].
    pub arm: [f64; 2],
    /// Velocity of the centre [m/s].
    pub velocity: [f64; 2],
    /// Rate of turning from x towards up [rad/s].
    pub spin: f64,
}

/// Events after which the walk gives up: a planar collision has at most a stop, an end of compression and an end.
const EVENTS: usize = 8;

impl Approach {
    /// Velocity of the contact point.
    fn contact_velocity(&self) -> [f64; 2] {
        [self.velocity[0] - self.spin * self.arm[1], self.velocity[1] + self.spin * self.arm[0]]
    }

    /// Kinetic energy [J].
    pub fn energy(&self) -> f64 {
        0.5 * (self.mass * (self.velocity[0].powi(2) + self.velocity[1].powi(2)) + self.inertia * self.spin.powi(2))
    }

    /// The body after an impulse at the contact.
    fn pushed(&self, impulse: [f64; 2]) -> Approach {
        let mut after = *self;
        for axis in 0..2 {
            after.velocity[axis] += impulse[axis] / self.mass;
        }
        after.spin += (self.arm[0] * impulse[1] - self.arm[1] * impulse[0]) / self.inertia;
        after
    }

    /// The body after its collision with restitution e and friction mu.
    pub fn collide(&self, e: f64, mu: f64) -> Approach {
        let [x, up] = self.arm;
        let cross = -x * up / self.inertia;
        let inverse_mass = [[1.0 / self.mass + up * up / self.inertia, cross], [cross, 1.0 / self.mass + x * x / self.inertia]];
        let [mut slip, mut closing] = self.contact_velocity();
        assert!(closing < 0.0, "it approaches");
        let mut impulse = [0.0; 2];
        let (mut compression, mut work) = (None, 0.0);
        let stick = -inverse_mass[0][1] / inverse_mass[0][0];
        for _ in 0..EVENTS {
            // Tangential impulse per unit of normal impulse.
            let drag = if slip != 0.0 { -mu * slip.signum() } else { stick.clamp(-mu, mu) };
            let slip_rate = inverse_mass[0][0] * drag + inverse_mass[0][1];
            let closing_rate = inverse_mass[1][0] * drag + inverse_mass[1][1];
            let until_stop = if slip != 0.0 && slip_rate * slip < 0.0 { -slip / slip_rate } else { f64::INFINITY };
            let until_phase = match compression {
                None if closing_rate > 0.0 => -closing / closing_rate,
                None => f64::INFINITY,
                // closing s + closing_rate s^2 / 2 = what is still to be returned.
                Some(taken) => {
                    let missing: f64 = -e * e * taken - work;
                    ((closing * closing + 2.0 * closing_rate * missing).max(0.0).sqrt() - closing) / closing_rate
                }
            };
            let push = until_stop.min(until_phase);
            assert!(push.is_finite(), "no event: a wedged contact");
            impulse = [impulse[0] + drag * push, impulse[1] + push];
            work += push * (closing + 0.5 * closing_rate * push);
            slip = if push == until_stop { 0.0 } else { slip + slip_rate * push };
            closing += closing_rate * push;
            if push == until_phase {
                if compression.is_some() || e == 0.0 {
                    return self.pushed(impulse);
                }
                (compression, work, closing) = (Some(work), 0.0, 0.0);
            }
        }
        panic!("the collision does not end");
    }
}

/// The walk agrees with closed forms: a slow-slipping sphere that sticks, a fast one that slides throughout.
#[test]
fn spheres_stick_and_slide() {
    let ball = |slip: f64| Approach { mass: 2.0, inertia: 0.4 * 2.0 * 0.01, arm: [0.0, -0.1], velocity: [slip, -1.0], spin: 0.0 };
    let (e, mu) = (0.5, 0.3);
    // Sticks: the tangential impulse removes the slip, 1 / (1/m + r^2/I) = 2 m / 7.
    let after = ball(0.5).collide(e, mu);
    assert!((after.velocity[0] - 0.5 * (1.0 - 2.0 / 7.0)).abs() < 1e-15 && (after.velocity[1] - e).abs() < 1e-15);
    // Slides: mu (1 + e) v_n.
    let after = ball(5.0).collide(e, mu);
    assert!((after.velocity[0] - (5.0 - mu * (1.0 + e))).abs() < 1e-15 && (after.velocity[1] - e).abs() < 1e-15);
}

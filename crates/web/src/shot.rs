//! Where everything is after one step, in numbers small enough to send sixty times a second.

use carom_dynamics::{State, World};
use carom_geometry::Geometry;

/// Most contacts of one shot: of a large heap the strongest say enough.
pub(crate) const MAX_TOUCHES: usize = 512;

/// Places of two books in [`books`].
#[cfg(feature = "server")]
const WORK_IN: usize = 3;
#[cfg(feature = "server")]
const DRIFT: usize = 10;

/// A contact as it is drawn; in the plane the third components are 0.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Touch {
    /// Bodies a and b.
    pub bodies: [u32; 2],
    /// Where \[m\].
    pub point: [f32; 3],
    /// Unit normal from b to a.
    pub normal: [f32; 3],
    /// Impulse on a in the last step \[N s\].
    pub impulse: [f32; 3],
}

impl Touch {
    /// Size of the impulse \[N s\].
    fn strength(&self) -> f32 {
        self.impulse.iter().map(|x| x * x).sum::<f32>().sqrt()
    }
}

/// The world after a step, to the accuracy of a screen.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Shot {
    /// Time \[s\].
    pub time: f64,
    /// Poses: x, y, angle, or x, y, z, w, x, y, z of every body.
    pub q: Vec<f32>,
    /// Velocities: linear, then angular.
    pub v: Vec<f32>,
    /// The numbers that [`books`] names.
    pub books: Vec<f64>,
    /// Contacts of the step, strongest first when there are too many.
    pub touches: Vec<Touch>,
}

/// Names of the numbers of the whole scene: the ledger, then linear and angular momentum, then the number of contacts.
pub fn books<G: Geometry>() -> Vec<&'static str> {
    let mut names = vec![
        "kinetic",
        "potential",
        "elastic",
        "work_in",
        "friction_loss",
        "impact_loss",
        "contact_loss",
        "damping_loss",
        "joint_work",
        "projection",
        "drift",
    ];
    let momentum: [&[&str]; 2] = if G::DIM == 2 { [&["px", "py"], &["angular"]] } else { [&["px", "py", "pz"], &["lx", "ly", "lz"]] };
    names.extend(momentum.concat());
    names.push("contacts");
    names
}

impl Shot {
    /// The world as it is.
    pub fn of<G: Geometry>(world: &World<G>) -> Self {
        let mut shot = Shot::default();
        shot.take(world);
        shot
    }
    /// The same into an old shot, whose memory is used again.
    pub fn take<G: Geometry>(&mut self, world: &World<G>) {
        self.take_state(world.state());
        self.books.clear();
        let ledger = world.ledger();
        let flow = &ledger.flow;
        self.books.extend([ledger.kinetic, ledger.potential, ledger.elastic, flow.work_in, flow.friction_loss, flow.impact_loss]);
        self.books.extend([flow.contact_loss, flow.damping_loss, flow.joint_work, flow.projection, ledger.drift]);
        self.books.extend(ledger.momentum.iter().chain(&ledger.angular_momentum));
        self.touches.clear();
        for contact in world.contacts() {
            let mut touch = Touch { bodies: contact.bodies.map(|b| b as u32), ..Touch::default() };
            for k in 0..G::DIM {
                touch.point[k] = contact.point[k] as f32;
                touch.normal[k] = contact.normal[k] as f32;
                touch.impulse[k] = contact.impulse[k] as f32;
            }
            self.touches.push(touch);
        }
        self.books.push(self.touches.len() as f64);
        strongest(&mut self.touches);
    }
    /// Books energy that a change of the model brought \[J\] as work from outside, which the ledger takes for drift.
    #[cfg(feature = "server")]
    pub(crate) fn bring(&mut self, energy: f64) {
        self.books[WORK_IN] += energy;
        self.books[DRIFT] -= energy;
    }
    /// Poses and velocities alone.
    pub fn take_state<G: Geometry>(&mut self, state: &State<G>) {
        self.time = state.time;
        self.q.clear();
        self.v.clear();
        let mut row = [0.0; 7];
        for body in 0..state.poses.len() {
            state.write_pose(body, &mut row);
            self.q.extend(row[..G::COORDS].iter().map(|x| *x as f32));
            state.write_twist(body, &mut row);
            self.v.extend(row[..G::DOF].iter().map(|x| *x as f32));
        }
    }
    /// Keeps contacts of an earlier step whose bodies do not meet in this one: what struck between two shots is seen.
    pub(crate) fn keep(&mut self, earlier: &[Touch]) {
        for touch in earlier {
            if touch.strength() > 0.0 && !self.touches.iter().any(|t| t.bodies == touch.bodies) {
                self.touches.push(*touch);
            }
        }
        strongest(&mut self.touches);
    }
}

/// Drops the weakest where there are too many.
fn strongest(touches: &mut Vec<Touch>) {
    if touches.len() > MAX_TOUCHES {
        touches.sort_by(|a, b| b.strength().total_cmp(&a.strength()));
        touches.truncate(MAX_TOUCHES);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use carom_scene::{Scene, from_toml, scene};

    #[test]
    fn a_shot_has_the_numbers_its_names_say() {
        for (name, dimension) in [("newton_cradle", 2), ("box_stack_3d", 3)] {
            let (shot, names, bodies) = match from_toml(scene(name).unwrap().text, name).unwrap() {
                Scene::Planar(s) => {
                    let mut world = World::new(s.model, s.state).unwrap();
                    world.step().unwrap();
                    (Shot::of(&world), books::<carom_math::Planar>(), world.model().bodies.len())
                }
                Scene::Spatial(s) => {
                    let mut world = World::new(s.model, s.state).unwrap();
                    world.step().unwrap();
                    (Shot::of(&world), books::<carom_math::Spatial>(), world.model().bodies.len())
                }
            };
            assert_eq!(shot.books.len(), names.len());
            let (coords, dof) = if dimension == 2 { (3, 3) } else { (7, 6) };
            assert_eq!((shot.q.len(), shot.v.len()), (bodies * coords, bodies * dof));
            assert!(shot.touches.iter().any(|t| t.strength() > 0.0) || name == "newton_cradle");
        }
    }

    #[test]
    fn what_struck_between_two_shots_is_kept_once() {
        let touch = |a, b, x| Touch { bodies: [a, b], impulse: [x, 0.0, 0.0], ..Touch::default() };
        let mut shot = Shot { touches: vec![touch(0, 1, 1.0)], ..Shot::default() };
        shot.keep(&[touch(0, 1, 5.0), touch(1, 2, 3.0), touch(2, 3, 0.0)]);
        assert_eq!(shot.touches, vec![touch(0, 1, 1.0), touch(1, 2, 3.0)]);
        shot.keep(&(0..2 * MAX_TOUCHES as u32).map(|i| touch(i, i + 5, 1.0 + i as f32)).collect::<Vec<_>>());
        assert_eq!(shot.touches.len(), MAX_TOUCHES);
        assert_eq!(shot.touches[0].impulse[0], 2.0 * MAX_TOUCHES as f32);
    }
}

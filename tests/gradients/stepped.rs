//! The gradient of a stepped move: flagged as such, since it knows no time of impact.

use carom_dynamics::gradient::{Cotangents, Tape};
use carom_math::Planar;
use carom_tests::scene::pose;
use carom_tests::{Scene, Stage};

/// Two balls land in one step that may be cut once: its gradient is told as stepped, and with more cuts it is not.
#[test]
fn a_stepped_gradient_is_told() {
    for (cuts, told) in [(1, true), (64, false)] {
        let mut scene = Scene::<Planar>::new(0.004);
        scene.ground(0.0, 0.7);
        for (index, gap) in [0.001, 0.004].into_iter().enumerate() {
            let body = scene.body(Planar::ball(0.1), 1.0, pose(0.2005 * index as f64, 0.1 + gap, 0.0), 0.0, 0.7);
            scene.moving(body, Planar::at(0.0, -2.4), Planar::rate(0.0));
        }
        scene.model.tolerances.max_events = cuts;
        let rollout = scene.world().rollout(3, &[], Tape::Full).unwrap_or_else(|error| panic!("{error}"));
        let mut bar = Cotangents { poses: vec![0.0; 9], twists: vec![0.0; 9] };
        bar.poses[7] = 1.0;
        let gradient = rollout.backward(&bar).unwrap_or_else(|error| panic!("{error}"));
        assert_eq!(gradient.switches[0].stepped, usize::from(told), "{cuts} cuts");
        assert_eq!(gradient.switches[0].is_exact(), !told, "{cuts} cuts: {:?}", gradient.switches[0]);
        assert!(gradient.poses.iter().chain(&gradient.twists).all(|x| x.is_finite()));
        assert_eq!(rollout.reports[0].stepped, usize::from(told));
    }
}

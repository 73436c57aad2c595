//! What changes during a run: poses, velocities, time.

use carom_math::{Pose, Space, Twist, Vector};

/// Poses and velocities of all bodies at one time, statics included.
#[derive(Clone, Debug, PartialEq)]
pub struct State<S: Space> {
    /// Time since the start \[s\].
    pub time: f64,
    /// Pose of each body.
    pub poses: Vec<Pose<S>>,
    /// Velocity of each body: of its centre of mass, world axes, full step.
    pub twists: Vec<Twist<S>>,
    /// Whole turns of each joint that a coupling counts, in space; nothing where none does, or where they are not known.
    pub turns: Vec<i32>,
}

impl<S: Space> State<S> {
    /// No bodies at time zero.
    pub fn empty() -> Self {
        State { time: 0.0, poses: Vec::new(), twists: Vec::new(), turns: Vec::new() }
    }
    /// Appends a body.
    pub fn push(&mut self, pose: Pose<S>, twist: Twist<S>) {
        self.poses.push(pose);
        self.twists.push(twist);
    }
    /// Writes the pose of a body as (x, y, angle) or (x, y, z, qw, qx, qy, qz).
    pub fn write_pose(&self, body: usize, out: &mut [f64]) {
        let pose = &self.poses[body];
        out[..S::DIM].copy_from_slice(pose.position.as_slice());
        S::write_rotation(pose.rotation, &mut out[S::DIM..]);
    }
    /// Writes the velocity of a body, linear first.
    pub fn write_twist(&self, body: usize, out: &mut [f64]) {
        let twist = &self.twists[body];
        out[..S::DIM].copy_from_slice(twist.lin.as_slice());
        out[S::DIM..S::DIM + S::ANG].copy_from_slice(twist.ang.as_slice());
    }
    /// 16 hex digits of the state's bits: FNV-1a over time, poses, velocities and counted turns in order.
    pub fn hash(&self) -> String {
        const OFFSET: u64 = 0xcbf2_9ce4_8422_2325;
        const PRIME: u64 = 0x0000_0100_0000_01b3;
        let mut hash = OFFSET;
        let mut feed = |x: f64| {
            for byte in x.to_bits().to_le_bytes() {
                hash = (hash ^ u64::from(byte)).wrapping_mul(PRIME);
            }
        };
        feed(self.time);
        let mut coords = [0.0; 7];
        for body in 0..self.poses.len() {
            self.write_pose(body, &mut coords);
            coords[..S::COORDS].iter().for_each(|&x| feed(x));
            self.write_twist(body, &mut coords);
            coords[..S::DOF].iter().for_each(|&x| feed(x));
        }
        self.turns.iter().for_each(|&turns| feed(f64::from(turns)));
        format!("{hash:016x}")
    }
}

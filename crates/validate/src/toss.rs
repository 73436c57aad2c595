//! Measured tosses of a cube, and the starts from which they are simulated.

use crate::Trouble;
use crate::reading::{self, Rows, array, fault, whole};
use carom::dynamics::State;
use carom::math::{Pose, Space, Spatial, Twist, Vector};
use carom::record::{Arrays, arrays_of, read_arrays};
use std::path::{Path, PathBuf};

/// Numbers of a row: position, quaternion, velocity, rate in the frame of the body.
const ROW: usize = 13;
/// Frames per second of the cameras.
pub const RATE: f64 = 148.0;
/// Width of the cube \[m\].
pub const WIDTH: f64 = 0.1048;
/// What the published protocol takes for gravity [m/s^2].
pub const GRAVITY: f64 = 9.81;
/// Of its half width, the height of the centre at rest in the data: lengths are that much short.
pub const SHORT: f64 = 0.9779;
/// Frames before the first touch at which the published protocol starts.
const BEFORE_TOUCH: usize = 3;
/// Fewer frames of flight give no velocity: the measured one is taken.
const FLIGHT: usize = 4;
/// At rest the centre lies so high over the table, in half widths.
const REST: [f64; 2] = [0.7, 1.4];

/// The tosses that are part of the package.
const SHIPPED: &[u8] = include_bytes!("../data/cube.npz");

/// One toss: a state per frame.
#[derive(Clone, Debug)]
pub struct Toss {
    /// Its number in the set.
    pub id: i64,
    /// Poses, frame by frame.
    pub poses: Vec<Pose<Spatial>>,
    /// Velocities in world axes, frame by frame.
    pub twists: Vec<Twist<Spatial>>,
}

/// Tosses and where they come from.
#[derive(Clone, Debug)]
pub struct Tosses {
    /// The tosses.
    pub all: Vec<Toss>,
    /// Where they were read; those of the package where there is none.
    pub files: Vec<PathBuf>,
}

/// Where a simulation starts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Start {
    /// As the published protocol does: three frames before the first touch, with the velocity of the flight before.
    Paper,
    /// At the first frame, with the velocity measured there.
    First,
}

impl Start {
    /// In a word.
    pub fn name(self) -> &'static str {
        match self {
            Start::Paper => "paper",
            Start::First => "first",
        }
    }
}

impl Tosses {
    /// Those of a folder (`cube.npz`, `cube_*.npz`, all of them) where it has any, otherwise those of the package.
    ///
    /// # Errors
    /// A file cannot be read or is of another kind, or a toss stands in two of them.
    pub fn load(data: Option<&Path>) -> Result<Self, Trouble> {
        let files = match reading::files(data, "cube") {
            Ok(files) => files,
            Err(Trouble::NoData(_)) => return Self::shipped(),
            Err(other) => return Err(other),
        };
        let mut all: Vec<Toss> = Vec::new();
        for path in &files {
            let arrays = read_arrays(path).map_err(|error| Trouble::Failed(error.to_string()))?;
            for toss in tosses(&arrays, path)? {
                if all.iter().any(|other| other.id == toss.id) {
                    return Err(fault(path, &format!("\"id\": toss {} is there twice in the files of the folder", toss.id)));
                }
                all.push(toss);
            }
        }
        Ok(Tosses { all, files })
    }

    /// Those of the package.
    ///
    /// # Errors
    /// Never, unless the package is damaged.
    pub fn shipped() -> Result<Self, Trouble> {
        let arrays = arrays_of(SHIPPED).map_err(|what| Trouble::Failed(what.to_string()))?;
        Ok(Tosses { all: tosses(&arrays, Path::new("cube.npz"))?, files: Vec::new() })
    }
}

fn tosses(arrays: &Arrays, path: &Path) -> Result<Vec<Toss>, Trouble> {
    let ids = whole(arrays, path, "id", &[0], f64::NEG_INFINITY)?;
    let lengths = whole(arrays, path, "length", &[ids.len()], 2.0)?;
    let (shape, rows) = array(arrays, path, "state", &[0, ROW])?;
    if lengths.iter().sum::<i64>() != shape[0] as i64 {
        return Err(fault(path, "\"length\" does not add up to the rows of \"state\""));
    }
    let mut rest = rows.chunks_exact(ROW).enumerate();
    let (mut out, mut parts, mut begin) = (Vec::new(), Vec::new(), 0);
    for (id, length) in ids.iter().zip(&lengths) {
        let mut toss = Toss { id: *id, poses: Vec::new(), twists: Vec::new() };
        for (number, row) in rest.by_ref().take(*length as usize) {
            let rotation = reading::rotation(&row[3..7])
                .ok_or_else(|| fault(path, &format!("\"state\", row {number}, columns 3 to 6: no unit quaternion")))?;
            let rate = Spatial::rotate(rotation, Vector::from_slice(&row[10..13]));
            toss.poses.push(Pose { position: Vector::from_slice(&row[..3]), rotation });
            toss.twists.push(Twist { lin: Vector::from_slice(&row[7..10]), ang: rate });
        }
        out.push(toss);
        let end = begin + *length as usize * ROW;
        parts.push(Rows { numbers: &rows[begin..end], width: ROW, rate: RATE });
        begin = end;
    }
    [[0, 7], [1, 8], [2, 9]].into_iter().try_for_each(|pair| reading::rate_of(&parts, path, pair))?;
    reading::turns_of(&parts, path, [3, 10])?;
    let rest: Vec<f64> = out.iter().filter_map(|t| t.poses.last()).map(|p| p.position[2] / (WIDTH / 2.0)).collect();
    reading::lies_within(&rest, REST, path, "\"state\", column 2: height of the centre at the end, in half widths of the cube,")?;
    Ok(out)
}

impl Toss {
    /// The same with all lengths multiplied.
    pub fn scaled(&self, by: f64) -> Self {
        let mut out = self.clone();
        out.poses.iter_mut().for_each(|p| p.position *= by);
        out.twists.iter_mut().for_each(|t| t.lin *= by);
        out
    }

    /// The frame at which a simulation starts, and pose and velocity there.
    pub fn start(&self, start: Start) -> (usize, Pose<Spatial>, Twist<Spatial>) {
        let first = (0, self.poses[0], self.twists[0]);
        if start == Start::First {
            return first;
        }
        let reach = WIDTH / 2.0 * 3f64.sqrt();
        let touch = self.poses.iter().position(|p| p.position[2] <= reach).unwrap_or(0);
        let frame = touch.saturating_sub(BEFORE_TOUCH);
        if frame < FLIGHT {
            return (frame, self.poses[frame], self.twists[frame]);
        }
        (frame, self.poses[frame], self.flight(frame))
    }

    /// The velocity at the end of a flight that lasts until before a frame: level speed from its ends, the fall by least squares, the rate from
    /// the rotation between its first frame and this one.
    fn flight(&self, frame: usize) -> Twist<Spatial> {
        let (last, n) = (frame - 1, frame as f64);
        let time = |k: usize| k as f64 / RATE;
        let mut lin = (self.poses[last].position - self.poses[0].position) / time(last);
        let height = |k: usize| self.poses[k].position[2] + 0.5 * GRAVITY * time(k).powi(2);
        let mean = |f: &dyn Fn(usize) -> f64| (0..frame).map(f).sum::<f64>() / n;
        let (middle, high) = (mean(&time), mean(&height));
        let along: f64 = (0..frame).map(|k| (time(k) - middle) * (height(k) - high)).sum();
        let across: f64 = (0..frame).map(|k| (time(k) - middle).powi(2)).sum();
        lin[2] = along / across - GRAVITY * time(last);
        let turn = Spatial::compose(self.poses[frame].rotation, Spatial::inverse(self.poses[0].rotation));
        Twist { lin, ang: Spatial::log(turn) / time(frame) }
    }

    /// States from the published start on, of which the first alone has a velocity that counts: that of the flight.
    pub fn states(&self) -> Vec<State<Spatial>> {
        let (first, _, twist) = self.start(Start::Paper);
        let state = |pose: &Pose<Spatial>| {
            let mut state = State::<Spatial>::empty();
            state.push(*pose, twist);
            state
        };
        self.poses[first..].iter().map(state).collect()
    }

    /// Misses of simulated states that start at a frame: position [% of the width] and rotation \[degrees\], frame by frame.
    pub fn misses(&self, frame: usize, states: &[State<Spatial>], body: usize) -> Vec<[f64; 2]> {
        let pairs = states.iter().map(|s| s.poses[body]).zip(&self.poses[frame..]);
        pairs
            .map(|(found, measured)| {
                let away = (found.position - measured.position).norm();
                let turn = Spatial::log(Spatial::compose(found.rotation, Spatial::inverse(measured.rotation))).norm();
                [100.0 * away / WIDTH, turn.to_degrees()]
            })
            .collect()
    }
}

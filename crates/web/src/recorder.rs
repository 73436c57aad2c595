//! A run in one file: shots gathered while it goes on, then packed, deflated and put into the page.
//!
//! The payload is the length of a JSON text (4 bytes, little-endian), the text, and numbers as [`pack`](crate::pack) writes them: the steps of
//! the shots; of every body each coordinate, then each velocity, as a series over the shots; each number of the books, likewise; and for every
//! shot its contacts: how many, and of each a, b, point, normal, impulse.

use crate::bundle::replay_page;
use crate::pack::{Pack, quantised, quantum};
use crate::picture::{About, Picture};
use crate::shot::{Shot, Touch, books};
use carom_dynamics::{State, World};
use carom_geometry::Geometry;
use serde_json::{Value, json};

/// Numbers of poses and velocities that are kept without a second thought: about 2 MB deflated. Above it shots are left out.
const NUMBERS: usize = 3_000_000;
/// Shots that are kept per second of simulated time however many numbers they have: what a screen shows.
const SHOTS_PER_SECOND: f64 = 60.0;
/// Levels into which the largest coordinate and the largest velocity are divided: a thousandth of a pixel, and smooth plots.
const LEVELS: f64 = (1 << 20) as f64;
/// Quantum of angles \[rad\] and of quaternions: 0.03 mm at the rim of a metre.
const TURN: f64 = 1.0 / (1 << 15) as f64;
/// Levels of the books: what a plot can show, with room to look closer.
const BOOK_LEVELS: f64 = (1 << 24) as f64;
/// Quantum of normals.
const NORMAL: f64 = 1.0 / (1 << 9) as f64;
/// Levels of points and impulses of contacts.
const TOUCH_LEVELS: f64 = (1 << 16) as f64;
/// Deflate harder than the default: written once, opened often.
const DEFLATE: u8 = 9;

/// Gathers the shots of a run.
#[derive(Debug)]
pub struct Recorder {
    head: Value,
    dimension: usize,
    coords: usize,
    dof: usize,
    bodies: usize,
    books: Vec<&'static str>,
    /// Steps from one shot to the next.
    stride: u64,
    taken: u64,
    steps: Vec<u64>,
    shots: Vec<Shot>,
    /// Contacts since the last shot.
    pending: Vec<Touch>,
    scratch: Shot,
}

impl Recorder {
    /// A recorder for so many steps of a world, whose present state is the first shot.
    pub fn new<G: Geometry>(world: &World<G>, about: &About<'_>, steps: u64) -> Self {
        let mut recorder = Recorder::empty::<G>(world, about, steps, books::<G>());
        recorder.shoot(Shot::of(world));
        recorder
    }
    /// The recorder of a finished run of which only states and energies \[J\] are known.
    pub fn of_states<G: Geometry>(world: &World<G>, about: &About<'_>, states: &[State<G>], energy: &[f64]) -> Self {
        let steps = states.len().saturating_sub(1) as u64;
        let mut recorder = Recorder::empty::<G>(world, about, steps, vec!["energy"]);
        for (step, (state, energy)) in states.iter().zip(energy).enumerate() {
            recorder.taken = step as u64;
            if recorder.due(steps) {
                let mut shot = Shot::default();
                shot.take_state(state);
                shot.books.push(*energy);
                recorder.shoot(shot);
            }
        }
        recorder
    }
    fn empty<G: Geometry>(world: &World<G>, about: &About<'_>, steps: u64, books: Vec<&'static str>) -> Self {
        let model = world.model();
        let mut head = Picture::of(model, about).0;
        head["start"] = json!(world.state().time);
        Recorder {
            head,
            dimension: G::DIM,
            coords: G::COORDS,
            dof: G::DOF,
            bodies: model.bodies.len(),
            books,
            stride: stride(steps, model.bodies.len() * (G::COORDS + G::DOF), model.step),
            taken: 0,
            steps: Vec::new(),
            shots: Vec::new(),
            pending: Vec::new(),
            scratch: Shot::default(),
        }
    }
    /// Whether the present step makes a shot.
    fn due(&self, last: u64) -> bool {
        self.taken.is_multiple_of(self.stride) || self.taken == last
    }
    fn shoot(&mut self, shot: Shot) {
        self.steps.push(self.taken);
        self.shots.push(shot);
    }
    /// Takes note of the world after a step.
    pub fn record<G: Geometry>(&mut self, world: &World<G>) {
        self.taken += 1;
        let mut shot = std::mem::take(&mut self.scratch);
        shot.take(world);
        if self.due(u64::MAX) {
            shot.keep(&self.pending);
            self.pending.clear();
            self.shoot(shot);
        } else {
            shot.keep(&self.pending);
            std::mem::swap(&mut self.pending, &mut shot.touches);
            self.scratch = shot;
        }
    }
    /// The run as a page that needs nothing else.
    pub fn html(&self) -> String {
        replay_page(&miniz_oxide::deflate::compress_to_vec(&self.payload(), DEFLATE))
    }

    fn payload(&self) -> Vec<u8> {
        let shots = &self.shots;
        let q = |body: usize, k: usize| shots.iter().map(move |s| f64::from(s.q[body * self.coords + k]));
        let v = |body: usize, k: usize| shots.iter().map(move |s| f64::from(s.v[body * self.dof + k]));
        let all = |width: std::ops::Range<usize>| (0..self.bodies).flat_map(move |b| width.clone().map(move |k| (b, k)));
        let place = quantum(all(0..self.dimension).flat_map(|(b, k)| q(b, k)), LEVELS);
        let speed = quantum(all(0..self.dimension).flat_map(|(b, k)| v(b, k)), LEVELS);
        let spin = quantum(all(self.dimension..self.dof).flat_map(|(b, k)| v(b, k)), LEVELS);
        let book = |k: usize| shots.iter().map(move |s| s.books[k]);
        let book_quanta: Vec<f64> = (0..self.books.len()).map(|k| quantum(book(k), BOOK_LEVELS)).collect();
        let touches = || shots.iter().flat_map(|s| &s.touches);
        let point = quantum(touches().flat_map(|t| t.point).map(f64::from), TOUCH_LEVELS);
        let impulse = quantum(touches().flat_map(|t| t.impulse).map(f64::from), TOUCH_LEVELS);

        let mut pack = Pack::default();
        pack.series(self.steps.iter().map(|s| *s as f64), 1.0);
        for (body, k) in all(0..self.coords) {
            pack.series(q(body, k), if k < self.dimension { place } else { TURN });
        }
        for (body, k) in all(0..self.dof) {
            pack.series(v(body, k), if k < self.dimension { speed } else { spin });
        }
        for (k, quantum) in book_quanta.iter().enumerate() {
            pack.series(book(k), *quantum);
        }
        for shot in shots {
            pack.unsigned(shot.touches.len() as u64);
            for touch in &shot.touches {
                touch.bodies.iter().for_each(|b| pack.unsigned(u64::from(*b)));
                for (vector, quantum) in [(&touch.point, point), (&touch.normal, NORMAL), (&touch.impulse, impulse)] {
                    vector[..self.dimension].iter().for_each(|x| pack.signed(quantised(f64::from(*x), quantum)));
                }
            }
        }
        let mut head = self.head.clone();
        head["shots"] = json!(shots.len());
        head["books"] = json!(self.books);
        head["quanta"] = json!({
            "place": place, "turn": TURN, "speed": speed, "spin": spin, "books": book_quanta,
            "point": point, "normal": NORMAL, "impulse": impulse,
        });
        let text = head.to_string();
        let mut out = Vec::with_capacity(size_of::<u32>() + text.len() + pack.bytes.len());
        out.extend_from_slice(&(text.len() as u32).to_le_bytes());
        out.extend_from_slice(text.as_bytes());
        out.extend_from_slice(&pack.bytes);
        out
    }
}

/// Steps from one shot to the next: 1 unless the numbers grow too many, and never so many that the motion jerks.
fn stride(steps: u64, width: usize, step: f64) -> u64 {
    let wanted = (steps as usize).saturating_mul(width).div_ceil(NUMBERS) as u64;
    let most = (1.0 / (SHOTS_PER_SECOND * step)).floor() as u64;
    wanted.min(most).max(1)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::pack::tests::Unpack;
    use carom_math::Planar;
    use carom_scene::{Scene, SceneOf, from_toml, scene};

    fn planar(name: &str) -> SceneOf<Planar> {
        match from_toml(scene(name).unwrap().text, name).unwrap() {
            Scene::Planar(scene) => scene,
            Scene::Spatial(_) => panic!("{name} is no scene of the plane"),
        }
    }

    fn recorded(name: &str, steps: u64) -> (Recorder, World<Planar>) {
        let scene = planar(name);
        let mut world = World::new(scene.model, scene.state).unwrap();
        let mut recorder = Recorder::new(&world, &About { name, ..About::default() }, steps);
        for _ in 0..steps {
            world.step().unwrap();
            recorder.record(&world);
        }
        (recorder, world)
    }

    #[test]
    fn ten_seconds_of_the_pool_break_fit_into_two_megabytes() {
        let (recorder, _) = recorded("pool_break", 2000);
        let page = recorder.html();
        assert!(page.len() < 2_000_000, "{} bytes", page.len());
        assert_eq!(recorder.shots.len(), 2001, "every step is kept");
    }

    #[test]
    fn the_payload_holds_the_run_to_a_quantum() {
        let (recorder, world) = recorded("pool_break", 300);
        let payload = recorder.payload();
        let length = u32::from_le_bytes(payload[..4].try_into().unwrap()) as usize;
        let head: Value = serde_json::from_slice(&payload[4..4 + length]).unwrap();
        let count = head["shots"].as_u64().unwrap() as usize;
        let bodies = head["bodies"].as_array().unwrap().len();
        let mut read = Unpack(&payload[4 + length..]);
        assert_eq!(read.series(count, 1.0), (0..=300).map(f64::from).collect::<Vec<_>>());
        let place = head["quanta"]["place"].as_f64().unwrap();
        for body in 0..bodies {
            for k in 0..3 {
                let series = read.series(count, if k < 2 { place } else { TURN });
                if k < 2 {
                    let now = world.state().poses[body].position[k];
                    assert!((series[300] - now).abs() < place, "body {body}: {} and {now}", series[300]);
                }
            }
        }
        for _ in 0..bodies * 3 {
            read.series(count, 1.0);
        }
        let books: Vec<Vec<f64>> =
            (0..recorder.books.len()).map(|k| read.series(count, head["quanta"]["books"][k].as_f64().unwrap())).collect();
        assert!((books[0][300] - world.ledger().kinetic).abs() < 1e-6);
        let mut touches = 0;
        for _ in 0..count {
            let here = read.unsigned();
            touches += here;
            for _ in 0..here {
                assert!(read.unsigned() < bodies as u64 && read.unsigned() < bodies as u64);
                (0..6).for_each(|_| assert!(read.signed().abs() < 1 << 30));
            }
        }
        assert!(touches > 0, "the break did strike");
        assert!(read.0.is_empty());
    }

    #[test]
    fn shots_are_left_out_only_of_large_runs_and_never_below_the_screen_s_rate() {
        assert_eq!(stride(2000, 16 * 6, 0.005), 1);
        assert_eq!(stride(2000, 1000 * 13, 0.005), 3);
        assert_eq!(stride(u64::MAX, usize::MAX, 0.02), 1);
        assert_eq!(stride(0, 0, 0.005), 1);
    }

    #[test]
    fn a_rollout_is_replayed_from_its_states() {
        let scene = planar("ball_drop");
        let world = World::new(scene.model, scene.state).unwrap();
        let rollout = world.rollout(50, &[], carom_dynamics::gradient::Tape::Off).unwrap();
        let recorder = Recorder::of_states(&world, &About::default(), &rollout.states, &rollout.energy);
        assert_eq!((recorder.shots.len(), recorder.books.len()), (51, 1));
        assert!(recorder.html().contains("carom-run"));
    }
}

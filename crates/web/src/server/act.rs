//! A running scene of the plane or of space behind one face.

use super::dials;
use super::hand::Hand;
use super::slope::{Slope, slope};
use crate::picture::{About, Picture};
use crate::shot::{Shot, Touch, books};
use carom_dynamics::gradient::Names;
use carom_dynamics::{Interrupt, ModelError, Snapshot, StepReport, World};
use carom_geometry::{Aabb, Geometry};
use carom_math::Vector;
use carom_scene::{Scene, SceneOf, SceneSpace, to_toml};
use serde_json::Value;

/// Where a shot belongs.
#[derive(Clone, Copy, Debug)]
pub struct Stamp {
    /// Counts resets and changes of the scene.
    pub generation: u32,
    /// Steps since the start.
    pub step: u32,
}

/// A scene that can be stepped, drawn and pulled at.
pub trait Act: Send {
    /// What never changes.
    fn picture(&self) -> &Picture;
    /// Names of the numbers of the whole scene.
    fn books(&self) -> Vec<&'static str>;
    /// Time step \[s\].
    fn step_size(&self) -> f64;
    /// Simulated time of a plain run \[s\].
    fn duration(&self) -> f64;
    /// Time \[s\].
    fn time(&self) -> f64;
    /// From now on a step ends when the token is raised.
    fn heed(&mut self, over: &Interrupt);
    /// One step, and how it went; says what went wrong.
    fn step(&mut self) -> Result<StepReport, String>;
    /// The same once more, held by nobody.
    fn twin(&self) -> Box<dyn Act>;
    /// Poses of all bodies, as shots have them.
    fn poses(&mut self) -> &[f32];
    /// Parameters and controls as they are.
    fn dials(&self) -> Value;
    /// Sets a parameter of one body, joint or axis, or of all.
    fn set(&mut self, key: &str, index: Option<usize>, value: f64) -> Result<(), String>;
    /// Sets a control.
    fn control(&mut self, index: usize, value: f64) -> Result<(), String>;
    /// The scene at the state of this act, as text; meant for one that has not moved.
    fn text(&self) -> String;
    /// Everything the next step depends on, in hexadecimal digits.
    fn state(&self) -> String;
    /// Goes to such a state.
    fn restore(&mut self, digits: &str) -> Result<(), String>;
    /// The state in the bytes of [`Report::Shot`](super::message::Report::Shot), with what struck since the last.
    fn shoot(&mut self, stamp: Stamp, boxes: bool) -> Vec<u8>;
    /// Takes hold of a body.
    fn grab(&mut self, body: usize, at: &[f64]);
    /// Moves the cursor.
    fn pull(&mut self, to: &[f64]);
    /// Lets go.
    fn release(&mut self);
    /// The gradient of a loss from the start, as a job for another thread.
    fn slope(&self) -> Slope;
}

/// A scene at its start.
pub fn open(scene: Scene) -> Result<Box<dyn Act>, ModelError> {
    Ok(match scene {
        Scene::Planar(scene) => Box::new(Acting::new(scene)?),
        Scene::Spatial(scene) => Box::new(Acting::new(scene)?),
    })
}

struct Acting<G: Geometry> {
    world: World<G>,
    names: Names<G>,
    /// What a scene says beside its model, which is kept in the world alone.
    about: SceneOf<G>,
    picture: Picture,
    controls: Vec<f64>,
    hand: Option<Hand<G>>,
    shot: Shot,
    struck: Vec<Touch>,
    /// Energy that parameters brought when they were set \[J\]: the engine's ledger is of one model, and would call it drift.
    brought: f64,
    over: Interrupt,
}

impl<G: SceneSpace> Acting<G> {
    fn new(scene: SceneOf<G>) -> Result<Self, ModelError> {
        let about = About { name: &scene.name, description: &scene.description, duration: scene.duration };
        let picture = Picture::of(&scene.model, &about);
        let names = Names::new(&scene.model, &scene.joints, &scene.state)?;
        let world = World::new(scene.model.clone(), scene.state.clone())?;
        let controls = vec![0.0; world.model().control_count()];
        Ok(Acting {
            world,
            names,
            about: scene,
            picture,
            controls,
            hand: None,
            shot: Shot::default(),
            struck: Vec::new(),
            brought: 0.0,
            over: Interrupt::NEVER,
        })
    }
    fn energy(&self) -> f64 {
        let (kinetic, potential, elastic) = self.world.energies();
        kinetic + potential + elastic
    }
    /// The world as a shot, with what struck since the last.
    fn take(&mut self) {
        self.shot.take(&self.world);
        self.shot.bring(self.brought);
        self.shot.keep(&self.struck);
    }
}

/// Appends the bits of numbers that are small enough for a screen.
fn put(out: &mut Vec<u8>, numbers: impl IntoIterator<Item = f32>) {
    for x in numbers {
        out.extend_from_slice(&x.to_le_bytes());
    }
}

/// Appends a shot as the page reads it.
fn write<G: Geometry>(shot: &Shot, stamp: Stamp, boxes: &[Aabb<G>], out: &mut Vec<u8>) {
    for word in [stamp.generation, stamp.step] {
        out.extend_from_slice(&word.to_le_bytes());
    }
    out.extend_from_slice(&shot.time.to_le_bytes());
    for count in [shot.touches.len(), boxes.len()] {
        out.extend_from_slice(&(count as u32).to_le_bytes());
    }
    for book in &shot.books {
        out.extend_from_slice(&book.to_le_bytes());
    }
    put(out, shot.q.iter().chain(&shot.v).copied());
    for touch in &shot.touches {
        put(out, touch.bodies.map(|b| b as f32));
        put(out, touch.point.into_iter().chain(touch.normal).chain(touch.impulse));
    }
    for bounds in boxes {
        put(out, bounds.min.as_slice().iter().chain(bounds.max.as_slice()).map(|x| *x as f32));
    }
}

impl<G: SceneSpace> Act for Acting<G> {
    fn picture(&self) -> &Picture {
        &self.picture
    }
    fn books(&self) -> Vec<&'static str> {
        books::<G>()
    }
    fn step_size(&self) -> f64 {
        self.world.model().step
    }
    fn duration(&self) -> f64 {
        self.about.duration
    }
    fn time(&self) -> f64 {
        self.world.state().time
    }
    fn heed(&mut self, over: &Interrupt) {
        self.over = over.clone();
        self.world.heed(over);
    }
    fn step(&mut self) -> Result<StepReport, String> {
        if let Some(hand) = &self.hand {
            hand.act(&mut self.world);
        }
        let report = self.world.step_with(&self.controls).map_err(|error| error.to_string())?;
        self.take();
        self.struck.clone_from(&self.shot.touches);
        Ok(report)
    }
    fn twin(&self) -> Box<dyn Act> {
        Box::new(Acting {
            world: self.world.copy(),
            names: self.names.clone(),
            about: self.about.clone(),
            picture: self.picture.clone(),
            controls: self.controls.clone(),
            hand: None,
            shot: Shot::default(),
            struck: Vec::new(),
            brought: self.brought,
            over: Interrupt::NEVER,
        })
    }
    fn poses(&mut self) -> &[f32] {
        self.shot.take_state(self.world.state());
        &self.shot.q
    }
    fn dials(&self) -> Value {
        dials::report(self.world.model(), &self.controls)
    }
    fn set(&mut self, key: &str, index: Option<usize>, value: f64) -> Result<(), String> {
        let model = dials::set(&mut self.names, self.world.model(), key, index, value)?;
        let before = self.energy();
        self.world = self.world.altered(model, self.world.state().clone()).map_err(|error| error.to_string())?;
        self.world.heed(&self.over);
        // At the start the books are opened anew with the new energy.
        if self.world.state().time == self.about.state.time {
            self.world.reset();
        } else {
            self.brought += self.energy() - before;
        }
        Ok(())
    }
    fn control(&mut self, index: usize, value: f64) -> Result<(), String> {
        let count = self.controls.len();
        let slot = self.controls.get_mut(index).ok_or_else(|| format!("control {index}: the scene has {count}"))?;
        if !value.is_finite() {
            return Err(format!("control {index}: needs a finite number"));
        }
        *slot = value;
        Ok(())
    }
    fn text(&self) -> String {
        let scene = SceneOf {
            model: self.world.model().clone(),
            state: self.world.state().clone(),
            joints: self.names.joints().to_vec(),
            ..self.about.clone()
        };
        to_toml(&G::wrap(scene))
    }
    fn state(&self) -> String {
        self.world.snapshot().to_bytes().iter().map(|byte| format!("{byte:02x}")).collect()
    }
    fn restore(&mut self, digits: &str) -> Result<(), String> {
        let pair = |k: usize| digits.get(2 * k..2 * k + 2).and_then(|pair| u8::from_str_radix(pair, 16).ok());
        let bytes: Option<Vec<u8>> = (0..digits.len().div_ceil(2)).map(pair).collect();
        let bytes = bytes.ok_or_else(|| "the link's state is not written in hexadecimal digits".to_string())?;
        let snapshot = Snapshot::from_bytes(&bytes).map_err(|error| format!("the link's state: {error}"))?;
        self.world.restore(&snapshot).map_err(|error| format!("the link's state: {error}"))
    }
    fn shoot(&mut self, stamp: Stamp, boxes: bool) -> Vec<u8> {
        let mut out = Vec::new();
        self.take();
        self.struck.clear();
        write(&self.shot, stamp, if boxes { self.world.swept_boxes() } else { &[] }, &mut out);
        out
    }
    fn grab(&mut self, body: usize, at: &[f64]) {
        self.release();
        self.hand = Hand::grab(&self.world, body, at);
    }
    fn pull(&mut self, to: &[f64]) {
        if let Some(hand) = &mut self.hand {
            hand.pull(to);
        }
    }
    fn release(&mut self) {
        self.hand = None;
        self.world.release();
    }
    fn slope(&self) -> Slope {
        let mut world = self.world.copy();
        world.reset();
        let names = self.names.clone();
        Box::new(move |text: &str, time: f64, over: &Interrupt| -> Result<Value, String> { slope(&world, &names, text, time, over) })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn act(name: &str) -> Box<dyn Act> {
        open(carom_scene::from_toml(carom_scene::scene(name).unwrap().text, name).unwrap()).unwrap()
    }

    #[test]
    fn a_shot_is_as_long_as_its_parts() {
        for (name, dimension, bodies) in [("pool_break", 2, 16), ("box_stack_3d", 3, 0)] {
            let mut act = act(name);
            (0..3).for_each(|_| assert!(act.step().is_ok()));
            let bytes = act.shoot(Stamp { generation: 1, step: 3 }, true);
            let word = |at: usize| u32::from_le_bytes(bytes[at..at + 4].try_into().unwrap()) as usize;
            let (touches, boxes) = (word(16), word(20));
            let (coords, dof) = if dimension == 2 { (3, 3) } else { (7, 6) };
            assert!(boxes == bodies || bodies == 0);
            assert_eq!(bytes.len(), 24 + 8 * act.books().len() + 4 * (boxes * (coords + dof) + touches * 11 + boxes * 2 * dimension));
            assert_eq!((word(0), word(4)), (1, 3));
        }
    }

    #[test]
    fn a_twin_of_the_start_starts_as_a_new_one() {
        let start = act("newton_cradle");
        let stamp = Stamp { generation: 0, step: 0 };
        let first = start.twin().shoot(stamp, false);
        let mut act = start.twin();
        act.grab(1, &[0.0, 0.0]);
        act.pull(&[3.0, 3.0]);
        (0..50).for_each(|_| assert!(act.step().is_ok()));
        assert_ne!(first, act.shoot(stamp, false));
        assert_eq!(first, start.twin().shoot(stamp, false));
    }

    #[test]
    fn a_state_comes_back_to_the_same_bits() {
        for name in ["pile_in_bin", "box_stack_3d", "strandbeest"] {
            let mut there = act(name);
            (0..40).for_each(|_| assert!(there.step().is_ok()));
            let mut here = act(name);
            here.restore(&there.state()).unwrap();
            for _ in 0..20 {
                there.step().unwrap();
                here.step().unwrap();
            }
            assert_eq!(there.state(), here.state(), "{name}");
        }
        assert!(act("ball_drop").restore("0g").unwrap_err().contains("hexadecimal"));
        assert!(act("ball_drop").restore("00").unwrap_err().contains("bytes"));
    }

    /// Total energy, work put in and drift of the present shot.
    fn energies(act: &mut Box<dyn Act>) -> [f64; 3] {
        let bytes = act.shoot(Stamp { generation: 0, step: 0 }, false);
        let book = |k: usize| f64::from_le_bytes(bytes[24 + 8 * k..32 + 8 * k].try_into().unwrap());
        [book(0) + book(1) + book(2), book(3), book(10)]
    }

    #[test]
    fn gravity_that_is_set_acts_at_once_and_its_energy_is_booked_as_work() {
        let mut act = act("ball_drop");
        (0..40).for_each(|_| assert!(act.step().is_ok()));
        let [before, work, _] = energies(&mut act);
        act.set("gravity", Some(1), -2.0).unwrap();
        let [after, more, drift] = energies(&mut act);
        assert!((after - before).abs() > 0.1, "{before} {after}");
        assert!((more - work - (after - before)).abs() < 1e-12 && drift.abs() < 1e-9, "{work} {more} {drift}");
        let v = |act: &mut Box<dyn Act>| {
            f32::from_le_bytes(act.shoot(Stamp { generation: 0, step: 0 }, false)[24 + 8 * 15 + 4 * 10..][..4].try_into().unwrap())
        };
        let first = v(&mut act);
        act.step().unwrap();
        assert!((f64::from(v(&mut act) - first) + 2.0 * act.step_size()).abs() < 1e-5, "falls by the new gravity");
        let text = act.twin().text();
        assert!(text.contains("-2.0"), "{text}");
    }
}

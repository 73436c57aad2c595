//! A running scene of the plane or of space behind one face.

use super::hand::Hand;
use super::slope::{Slope, slope};
use crate::picture::{About, Picture};
use crate::shot::{Shot, Touch, books};
use carom_dynamics::gradient::Names;
use carom_dynamics::{Interrupt, ModelError, StepError, World};
use carom_geometry::{Aabb, Geometry};
use carom_math::Vector;
use carom_scene::{Scene, SceneOf};

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
    /// Time step [s].
    fn step_size(&self) -> f64;
    /// One step; says what went wrong. Interrupted, everything stays as it was.
    fn step(&mut self, interrupt: &Interrupt) -> Result<(), StepError>;
    /// Back to the start.
    fn reset(&mut self);
    /// The state in the bytes of [`Told::Shot`](super::message::Told::Shot), with what struck since the last.
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
    picture: Picture,
    hand: Option<Hand<G>>,
    shot: Shot,
    struck: Vec<Touch>,
}

impl<G: Geometry> Acting<G> {
    fn new(scene: SceneOf<G>) -> Result<Self, ModelError> {
        let about = About { name: &scene.name, description: &scene.description, duration: scene.duration };
        let picture = Picture::of(&scene.model, &about);
        let names = Names::new(&scene.model, &scene.joints, &scene.state)?;
        let world = World::new(scene.model, scene.state)?;
        Ok(Acting { world, names, picture, hand: None, shot: Shot::default(), struck: Vec::new() })
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

impl<G: Geometry> Act for Acting<G> {
    fn picture(&self) -> &Picture {
        &self.picture
    }
    fn books(&self) -> Vec<&'static str> {
        books::<G>()
    }
    fn step_size(&self) -> f64 {
        self.world.model().step
    }
    fn step(&mut self, interrupt: &Interrupt) -> Result<(), StepError> {
        if let Some(hand) = &self.hand {
            hand.act(&mut self.world);
        }
        self.world.heed(interrupt);
        self.world.step()?;
        self.shot.take(&self.world);
        self.shot.keep(&self.struck);
        self.struck.clone_from(&self.shot.touches);
        Ok(())
    }
    fn reset(&mut self) {
        self.release();
        self.world.reset();
        self.struck.clear();
    }
    fn shoot(&mut self, stamp: Stamp, boxes: bool) -> Vec<u8> {
        let mut out = Vec::new();
        self.shot.take(&self.world);
        self.shot.keep(&self.struck);
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
        Box::new(move |text: &str, time: f64, interrupt: &Interrupt| slope(&world, &names, text, time, interrupt))
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
            (0..3).for_each(|_| act.step(&Interrupt::NEVER).unwrap());
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
    fn a_reset_scene_starts_as_a_new_one() {
        let mut act = act("newton_cradle");
        let first = act.shoot(Stamp { generation: 0, step: 0 }, false);
        act.grab(1, &[0.0, 0.0]);
        act.pull(&[3.0, 3.0]);
        (0..50).for_each(|_| act.step(&Interrupt::NEVER).unwrap());
        assert_ne!(first, act.shoot(Stamp { generation: 0, step: 0 }, false));
        act.reset();
        assert_eq!(first, act.shoot(Stamp { generation: 0, step: 0 }, false));
    }
}

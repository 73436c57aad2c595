//! The frames of a log at any time, and the times a film or strip shows.

use crate::error::RenderError;
use carom_dynamics::{Model, State};
use carom_geometry::Geometry;
use carom_math::{Pose, Vector};
use carom_record::Log;
use std::f64::consts::{PI, TAU};

/// Where the poses come from.
#[derive(Debug)]
enum Reel<'a, G: Geometry> {
    Log(&'a Log),
    /// Every state of a run, the same time apart.
    States(&'a [State<G>]),
    /// One moment and no other.
    Still(&'a [Pose<G>]),
}

/// A recorded run and the model that ran.
#[derive(Debug)]
pub struct Film<'a, G: Geometry> {
    /// What ran.
    pub model: &'a Model<G>,
    reel: Reel<'a, G>,
    /// Time of the first frame \[s\].
    pub start: f64,
    /// Time of the last frame \[s\].
    pub end: f64,
}

impl<'a, G: Geometry> Film<'a, G> {
    /// The film of a log; its bodies must be the model's.
    ///
    /// # Errors
    /// The log is empty, or of another model.
    pub fn new(log: &'a Log, model: &'a Model<G>) -> Result<Self, RenderError> {
        if log.is_empty() {
            return Err(RenderError::Frame("the log holds no frame"));
        }
        if log.header().dimension != G::DIM || log.header().bodies.len() != model.bodies.len() {
            return Err(RenderError::Frame("the log belongs to another model"));
        }
        let (first, last) = (log.frame(0)?.time, log.frame(log.len() - 1)?.time);
        Ok(Film { model, reel: Reel::Log(log), start: first, end: last.max(first) })
    }

    /// The film of states that follow each other.
    ///
    /// # Errors
    /// There is none, or their bodies are not the model's.
    pub fn of_states(states: &'a [State<G>], model: &'a Model<G>) -> Result<Self, RenderError> {
        let (Some(first), Some(last)) = (states.first(), states.last()) else {
            return Err(RenderError::Frame("the run holds no state"));
        };
        if states.iter().any(|state| state.poses.len() != model.bodies.len()) {
            return Err(RenderError::Frame("the states belong to another model"));
        }
        Ok(Film { model, reel: Reel::States(states), start: first.time, end: last.time.max(first.time) })
    }

    /// A single moment.
    ///
    /// # Errors
    /// The poses are not those of the model's bodies.
    pub fn still(model: &'a Model<G>, poses: &'a [Pose<G>]) -> Result<Self, RenderError> {
        if poses.len() != model.bodies.len() {
            return Err(RenderError::Frame("the poses belong to another model"));
        }
        Ok(Film { model, reel: Reel::Still(poses), start: 0.0, end: 0.0 })
    }

    /// Length \[s\].
    pub fn duration(&self) -> f64 {
        self.end - self.start
    }

    /// The poses at a time \[s\]; between two frames of the log, between their poses.
    ///
    /// # Errors
    /// The log cannot be read, or a pose is not finite.
    pub fn poses(&self, time: f64, out: &mut Vec<Pose<G>>) -> Result<(), RenderError> {
        if let Reel::Still(poses) = self.reel {
            out.clear();
            out.extend_from_slice(poses);
            return Ok(());
        }
        let last = self.len() - 1;
        let place = if self.duration() > 0.0 { (time - self.start) / self.duration() * last as f64 } else { 0.0 };
        let below = (place.max(0.0).floor() as u64).min(last);
        let part = (place - below as f64).clamp(0.0, 1.0);
        let low = self.coordinates(below)?;
        let high = if below < last && part > 0.0 { Some(self.coordinates(below + 1)?) } else { None };
        out.clear();
        for body in 0..self.model.bodies.len() {
            let row = body * G::COORDS..(body + 1) * G::COORDS;
            let mut q = low[row.clone()].to_vec();
            if let Some(high) = &high {
                blend::<G>(&mut q, &high[row], part);
            }
            let rotation = G::read_rotation(&q[G::DIM..]).ok_or(RenderError::Frame("a rotation is not finite"))?;
            let pose = Pose { position: G::Lin::from_slice(&q[..G::DIM]), rotation };
            if !pose.is_finite() {
                return Err(RenderError::Frame("a position is not finite"));
            }
            out.push(pose);
        }
        Ok(())
    }

    /// Number of frames that were recorded, at least 1.
    pub fn len(&self) -> u64 {
        match self.reel {
            Reel::Log(log) => log.len(),
            Reel::States(states) => states.len() as u64,
            Reel::Still(_) => 1,
        }
    }

    /// Never: there is no film without a frame.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// The coordinates of all bodies in a recorded frame.
    fn coordinates(&self, index: u64) -> Result<Vec<f64>, RenderError> {
        let write = |state: &State<G>| {
            let mut q = vec![0.0; state.poses.len() * G::COORDS];
            q.chunks_exact_mut(G::COORDS).enumerate().for_each(|(body, row)| state.write_pose(body, row));
            q
        };
        match self.reel {
            Reel::Log(log) => Ok(log.frame(index)?.q),
            Reel::States(states) => Ok(write(&states[index as usize])),
            Reel::Still(_) => Err(RenderError::Frame("a still has no frames")),
        }
    }

    /// Times \[s\] of a strip of so many panels: the end alone, or evenly from the start to the end.
    pub fn panels(&self, count: usize) -> Vec<f64> {
        let gaps = count.saturating_sub(1).max(1) as f64;
        (0..count.max(1)).map(|k| if count <= 1 { self.end } else { self.start + self.duration() * k as f64 / gaps }).collect()
    }

    /// Times \[s\] of a film at `rate` frames a second that shows `speed` seconds in one; at most so many frames where it would be too long.
    pub fn frames(&self, rate: f64, speed: f64, most: usize) -> Vec<f64> {
        let shown = self.duration() / speed;
        let gaps = (shown * rate).round().clamp(0.0, (most - 1) as f64);
        if gaps < 1.0 { vec![self.end] } else { (0..=gaps as usize).map(|k| self.start + self.duration() * k as f64 / gaps).collect() }
    }
}

/// Moves coordinates part of the way to others, turns along the shorter way.
fn blend<G: Geometry>(q: &mut [f64], other: &[f64], part: f64) {
    for k in 0..G::DIM {
        q[k] += (other[k] - q[k]) * part;
    }
    let (turn, to) = (&mut q[G::DIM..], &other[G::DIM..]);
    if let [angle] = turn {
        let apart = (to[0] - *angle + PI).rem_euclid(TAU) - PI;
        *angle += apart * part;
        return;
    }
    let sign = if turn.iter().zip(to).map(|(a, b)| a * b).sum::<f64>() < 0.0 { -1.0 } else { 1.0 };
    turn.iter_mut().zip(to).for_each(|(a, b)| *a += (sign * b - *a) * part);
    let norm = turn.iter().map(|a| a * a).sum::<f64>().sqrt();
    if norm > 0.0 {
        turn.iter_mut().for_each(|a| *a /= norm);
    }
}

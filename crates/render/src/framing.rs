//! Where the camera looks: everything that moves, all the time; or along with what walks away.

use crate::error::RenderError;
use crate::film::Film;
use carom_dynamics::{BodyKind, Model};
use carom_geometry::{Aabb, Geometry};
use carom_math::{Pose, Space, Vector};

/// Moments at which the run is looked at.
const SAMPLES: usize = 90;
/// A camera follows along an axis on which the way is this many times as long as what moves...
const LONG_WAY: f64 = 2.5;
/// ...if so many bodies go that way together: a single ball is shown with the way it takes.
const COMPANY: usize = 4;
/// From so many bodies on, one far from all the others is let go.
const CROWD: usize = 8;
/// Part of a crowd on either side that does not say how wide it is.
const FRINGE: f64 = 0.1;
/// Widths of a crowd beyond its fringe at which a body is let go.
const FAR_OFF: f64 = 1.5;
/// Fixed things are shown whole if they and what moves fit into so many sizes of what moves...
const WHOLE: f64 = 12.0;
/// ...and otherwise as far as so many sizes of what moves.
const SURROUNDINGS: f64 = 0.75;
/// A view is never smaller than this part of its longest side, in any direction.
const THINNEST: f64 = 0.05;
/// A crowd without anything around it is shown until it is so many times as wide as at first.
const BURST: f64 = 3.0;
/// Half of a view is at least so many extents of the largest body.
const AIR: f64 = 0.8;
/// Smallest view \[m\].
const LEAST: f64 = 1e-3;
/// Samples on either side over which a camera that follows is held steady.
const STEADY: usize = 4;

/// What the camera sees, at any time.
#[derive(Clone, Debug)]
pub struct Framing<G: Geometry> {
    /// Middle of the view at the samples.
    centres: Vec<G::Lin>,
    /// Half of its extents \[m\].
    pub half: G::Lin,
    start: f64,
    end: f64,
}

/// The box of a shape, without the directions in which it has no end.
fn bounded<G: Geometry>(shape: &G::Shape, pose: &Pose<G>) -> Option<Aabb<G>> {
    let found = G::bounds(shape, pose);
    let mut out = found;
    let mut any = false;
    for k in 0..G::DIM {
        let (low, high) = (found.min[k].is_finite(), found.max[k].is_finite());
        any |= low || high;
        if !low {
            out.min[k] = if high { found.max[k] } else { pose.position[k] };
        }
        if !high {
            out.max[k] = if low { found.min[k] } else { pose.position[k] };
        }
    }
    // A half-space along an axis has an end on one side, but no size.
    let unbounded = (0..G::DIM).filter(|k| !found.min[*k].is_finite() && !found.max[*k].is_finite()).count();
    (any && unbounded == 0).then_some(out)
}

fn of_body<G: Geometry>(model: &Model<G>, body: usize, pose: &Pose<G>) -> Option<Aabb<G>> {
    let colliders = &model.bodies[body].colliders;
    if colliders.is_empty() {
        return Some(Aabb::of_point(pose.position));
    }
    join(colliders.iter().filter_map(|c| bounded::<G>(&c.shape, &pose.compose(&c.local))))
}

fn join<S: Space>(boxes: impl Iterator<Item = Aabb<S>>) -> Option<Aabb<S>> {
    boxes.reduce(|a, b| a.union(&b))
}

/// The box of a crowd, without those that have left it.
fn crowd<G: Geometry>(boxes: &[Aabb<G>]) -> Option<Aabb<G>> {
    if boxes.len() < CROWD {
        return join(boxes.iter().copied());
    }
    let mut limits = Aabb::<G>::everything();
    for k in 0..G::DIM {
        let mut middles: Vec<f64> = boxes.iter().map(|b| 0.5 * (b.min[k] + b.max[k])).collect();
        middles.sort_by(f64::total_cmp);
        let fringe = (FRINGE * (middles.len() - 1) as f64) as usize;
        let (low, high) = (middles[fringe], middles[middles.len() - 1 - fringe]);
        let widest = boxes.iter().fold(0.0f64, |w, b| w.max(b.max[k] - b.min[k]));
        let reach = FAR_OFF * (high - low).max(widest);
        (limits.min[k], limits.max[k]) = (low - reach, high + reach);
    }
    join(boxes.iter().filter(|b| limits.overlaps(b)).copied()).or_else(|| join(boxes.iter().copied()))
}

impl<G: Geometry> Framing<G> {
    /// Looks at the run and chooses; `follow` overrules.
    ///
    /// # Errors
    /// The log cannot be read.
    pub fn new(film: &Film<'_, G>, follow: Option<bool>) -> Result<Self, RenderError> {
        let model = film.model;
        let mut poses = Vec::new();
        let mut moving: Vec<Aabb<G>> = Vec::new();
        let mut fixed: Vec<Aabb<G>> = Vec::new();
        for k in 0..SAMPLES {
            let time = film.start + film.duration() * k as f64 / (SAMPLES - 1) as f64;
            film.poses(time, &mut poses)?;
            let boxes = |kinds: &[BodyKind]| -> Vec<Aabb<G>> {
                let chosen = (0..poses.len()).filter(|b| kinds.contains(&model.bodies[*b].kind));
                chosen.filter_map(|b| of_body(model, b, &poses[b])).collect()
            };
            if k == 0 {
                fixed = boxes(&[BodyKind::Static]).into_iter().chain(world_anchors(model)).collect();
            }
            if let Some(seen) = crowd(&boxes(&[BodyKind::Dynamic, BodyKind::Kinematic])) {
                moving.push(seen);
            }
        }
        // A crowd that bursts with nothing around it is shown until it is too wide to be seen.
        let size = |b: &Aabb<G>| (0..G::DIM).fold(0.0f64, |s, k| s.max(b.max[k] - b.min[k]));
        let free = fixed.is_empty() && model.joints.is_empty() && model.bodies.len() >= CROWD;
        if let Some(first) = moving.first().filter(|_| free).map(&size) {
            moving.iter_mut().fold(first, |widest, seen| {
                let keep = size(seen) <= BURST * first;
                if !keep {
                    *seen = clipped(seen, widest);
                }
                if keep { widest.max(size(seen)) } else { widest }
            });
        }
        let whole = join(moving.iter().copied()).or_else(|| join(fixed.iter().copied())).unwrap_or(Aabb::of_point(G::Lin::zero()));
        // Fixed things count whole where they are not much larger or farther, otherwise as far as they surround what moves.
        let moved = size(&whole).max(LEAST);
        let near = whole.grown(SURROUNDINGS * moved);
        let mut shown = whole;
        for fixed in &fixed {
            let both = whole.union(fixed);
            if size(&both) <= WHOLE * moved {
                shown = shown.union(fixed);
            } else if near.overlaps(fixed) {
                let mut clipped = *fixed;
                for k in 0..G::DIM {
                    clipped.min[k] = fixed.min[k].max(near.min[k]);
                    clipped.max[k] = fixed.max[k].min(near.max[k]);
                }
                shown = shown.union(&clipped);
            }
        }
        // Where something bounded stands fixed the way is part of the picture.
        let company = fixed.is_empty() && model.bodies.iter().filter(|b| b.kind == BodyKind::Dynamic).count() >= COMPANY;
        let mut centres = vec![middle::<G>(&shown); moving.len().max(1)];
        let mut half = (shown.max - shown.min) * 0.5;
        for k in 0..G::DIM {
            let widest = moving.iter().fold(0.0f64, |w, b| w.max(b.max[k] - b.min[k]));
            let long = company && whole.max[k] - whole.min[k] > LONG_WAY * widest.max(LEAST);
            if follow.unwrap_or(long) {
                let raw: Vec<f64> = moving.iter().map(|b| 0.5 * (b.min[k] + b.max[k])).collect();
                half[k] = 0.0;
                for (i, seen) in moving.iter().enumerate() {
                    let (from, to) = (i.saturating_sub(STEADY), (i + STEADY + 1).min(raw.len()));
                    let steady = raw[from..to].iter().sum::<f64>() / (to - from) as f64;
                    centres[i][k] = steady;
                    half[k] = half[k].max(seen.max[k] - steady).max(steady - seen.min[k]);
                }
            }
        }
        // Air around the largest body, so that a body alone does not fill the picture.
        let largest =
            model.bodies.iter().filter(|b| b.kind == BodyKind::Dynamic).map(|b| b.extent()).filter(|e| e.is_finite()).fold(0.0, f64::max);
        let most = (0..G::DIM).fold(0.0f64, |m, k| m.max(half[k]));
        if most < AIR * largest {
            half = half * (AIR * largest / most.max(LEAST));
        }
        let longest = (0..G::DIM).fold(LEAST, |l, k| l.max(half[k]));
        for k in 0..G::DIM {
            half[k] = half[k].max(THINNEST * longest);
        }
        Ok(Framing { centres, half, start: film.start, end: film.end })
    }

    /// Middle of the view at a time \[s\].
    pub fn centre(&self, time: f64) -> G::Lin {
        let last = self.centres.len() - 1;
        let length = self.end - self.start;
        let place = if length > 0.0 { ((time - self.start) / length).clamp(0.0, 1.0) * last as f64 } else { 0.0 };
        let below = (place.floor() as usize).min(last);
        let above = (below + 1).min(last);
        self.centres[below] + (self.centres[above] - self.centres[below]) * (place - below as f64)
    }
}

/// The part of a box within a distance of its middle.
fn clipped<G: Geometry>(b: &Aabb<G>, width: f64) -> Aabb<G> {
    let (centre, mut out) = (middle::<G>(b), *b);
    for k in 0..G::DIM {
        out.min[k] = b.min[k].max(centre[k] - 0.5 * width);
        out.max[k] = b.max[k].min(centre[k] + 0.5 * width);
    }
    out
}

fn middle<G: Geometry>(b: &Aabb<G>) -> G::Lin {
    (b.min + b.max) * 0.5
}

/// Points at which joints hold on to the world.
fn world_anchors<G: Geometry>(model: &Model<G>) -> Vec<Aabb<G>> {
    let ends = model.joints.iter().flat_map(|joint| joint.bodies.iter().zip(&joint.anchors));
    ends.filter(|(body, _)| body.is_none()).map(|(_, anchor)| Aabb::of_point(*anchor)).collect()
}

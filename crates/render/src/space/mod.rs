//! Pictures of space: perspective, one lamp, shadows, ground that fades into the paper.

mod camera;
mod painter;
mod raster;
mod shadow;
pub(crate) mod solids;
mod stage;

use crate::canvas::{CHANNELS, Canvas};
use crate::color::{Ink, Rgb, bytes, mix, rgb};
use crate::draw::{Draw, Moment, Scenery};
use crate::drawing::Drawing;
use crate::error::RenderError;
use crate::framing::Framing;
use crate::mesh::{self, Room};
use crate::options::Options;
use camera::Camera;
use carom_geometry::spatial::Shape;
use carom_math::{Pose, Spatial};
use nalgebra::Vector3;
use raster::{Raster, Sample};
use shadow::Lamp;
use solids::{Detail, Face};
use stage::Stage;

type V = Vector3<f64>;

/// Samples along a side of a pixel, on paper up to the width below and on wider paper.
const SAMPLES: usize = 2;
const SAMPLES_FINE: usize = 3;
const FINE: usize = 600;
/// Sides of round things in pixels.
const SIDES: usize = 40;
/// Light from everywhere, more from above, from the lamp, and its reflection.
const AMBIENT: f64 = 0.47;
const SKY: f64 = 0.13;
const LAMP: f64 = 0.56;
const SHINE: f64 = 0.16;
const GLOSS: i32 = 36;
/// What a shadow leaves of the ground's colour.
const SHADOW: f64 = 0.72;
/// The ground fades into the paper between these distances from the centre, in sizes of what is shown.
const FADE: [f64; 2] = [1.3, 3.2];
/// Lines of the ground in a size of what is shown; their width \[pixels\] and strength.
const GRID: f64 = 2.5;
const GRID_WIDTH: f64 = 0.9;
const GRID_STRENGTH: f64 = 0.35;
/// Sizes of what is shown within which shadows fall.
const SHADOWS: f64 = 1.5;

/// How space lies on paper.
#[derive(Clone, Debug)]
pub struct View {
    framing: Framing<Spatial>,
    camera: Camera,
    start: V,
    width: usize,
    height: usize,
    /// Half of the diagonal of what is shown \[m\].
    size: f64,
}

impl View {
    fn at(&self, time: f64) -> (Camera, V) {
        let centre = self.framing.centre(time);
        (self.camera.moved(centre - self.start), centre)
    }
    /// Distance of the lines of the ground \[m\].
    fn grid(&self) -> f64 {
        let length = self.size / GRID;
        let ten = 10f64.powf(length.log10().floor());
        [1.0, 2.0, 5.0].into_iter().map(|k| k * ten).rfind(|step| *step <= length).unwrap_or(ten)
    }
}

impl Draw for Spatial {
    type View = View;

    fn view(framing: Framing<Spatial>, width: usize, options: &Options) -> View {
        let start = framing.centre(f64::NEG_INFINITY);
        let (camera, height) = Camera::new(start, framing.half, width, options.height);
        let size = framing.half.norm();
        View { framing, camera, start, width, height, size }
    }

    fn size(view: &View) -> [usize; 2] {
        [view.width, view.height]
    }

    fn drawing(view: &View, scenery: &Scenery<'_, Spatial>, moment: &Moment<'_, Spatial>) -> Drawing {
        let (camera, centre) = view.at(moment.time);
        painter::drawing(view, &camera, centre, scenery, moment)
    }

    fn pixels(view: &View, scenery: &Scenery<'_, Spatial>, moment: &Moment<'_, Spatial>) -> Result<Canvas, RenderError> {
        let fine = if view.width > FINE { SAMPLES_FINE } else { SAMPLES };
        let (camera, centre) = view.at(moment.time);
        let camera = camera.enlarged(fine as f64);
        let stage = Stage::new(scenery, moment, &camera, Detail { sides: SIDES, balls: true }, fine as f64);
        let mut lamp = Lamp::new(centre, SHADOWS * view.size, camera.right, -camera.forward);
        stage.pieces.iter().take(stage.casting).for_each(|piece| lamp.cast(piece));
        let mut raster = Raster::new(view.width * fine, view.height * fine);
        stage.pieces.iter().for_each(|piece| raster.draw(&camera, piece));
        let light = Light { ink: scenery.ink, camera: &camera, lamp: &lamp, stage: &stage, centre, size: view.size, grid: view.grid() };
        let mut canvas = Canvas::new(view.width, view.height, scenery.ink.paper);
        let parts = (fine * fine) as u32;
        for y in 0..view.height {
            for x in 0..view.width {
                let sub = |k: usize| (x * fine + k % fine, y * fine + k / fine);
                let sample = |k: usize| &raster.samples[sub(k).1 * raster.width + sub(k).0];
                let at = CHANNELS * (y * view.width + x);
                // Light changes slowly along one surface: there one sample stands for the pixel.
                if (1..fine * fine).all(|k| sample(0).alike(sample(k))) {
                    let middle = 0.5 * fine as f64;
                    let color = light.shade((x * fine) as f64 + middle, (y * fine) as f64 + middle, sample(0));
                    canvas.rgb[at..at + CHANNELS].copy_from_slice(&bytes(color));
                    continue;
                }
                let mut sum = [0u32; CHANNELS];
                for k in 0..fine * fine {
                    let (column, row) = sub(k);
                    let color = bytes(light.shade(column as f64 + 0.5, row as f64 + 0.5, sample(k)));
                    (0..CHANNELS).for_each(|k| sum[k] += u32::from(color[k]));
                }
                (0..CHANNELS).for_each(|k| canvas.rgb[at + k] = ((sum[k] + parts / 2) / parts) as u8);
            }
        }
        Ok(canvas)
    }

    fn faces(shape: &Shape, local: &Pose<Spatial>, color: Rgb, room: &Room) -> Vec<Face> {
        mesh::spatial_faces(shape, local, color, room)
    }

    fn in_space(pose: &Pose<Spatial>) -> Pose<Spatial> {
        *pose
    }
}

/// Everything a sample's colour depends on.
struct Light<'a> {
    ink: Ink,
    camera: &'a Camera,
    lamp: &'a Lamp,
    stage: &'a Stage,
    centre: V,
    size: f64,
    grid: f64,
}

impl Light<'_> {
    fn shade(&self, x: f64, y: f64, sample: &Sample) -> Rgb {
        let ray = self.camera.ray(x, y);
        // The nearest half-space that looks at the camera, if it is before what was drawn.
        let mut nearest: Option<(f64, V, V)> = None;
        for (point, normal) in &self.stage.planes {
            let along = normal.dot(&ray);
            if along < 0.0 {
                let t = normal.dot(&(point - self.camera.eye)) / along;
                if t > self.camera.near && 1.0 / t > sample.inverse && nearest.is_none_or(|(found, _, _)| t < found) {
                    nearest = Some((t, *point, *normal));
                }
            }
        }
        if let Some((t, origin, normal)) = nearest {
            return self.ground(self.camera.eye + ray * t, t, origin, normal);
        }
        if sample.inverse == 0.0 {
            return self.ink.paper;
        }
        let point = self.camera.eye + ray / sample.inverse;
        let mut normal = V::new(f64::from(sample.normal[0]), f64::from(sample.normal[1]), f64::from(sample.normal[2]));
        if normal.dot(&ray) > 0.0 {
            normal = -normal;
        }
        let facing = normal.dot(&self.lamp.towards);
        let lit = if facing > 0.0 { self.lamp.lit(point, normal) } else { 0.0 };
        let [r, g, b] = sample.color.map(u32::from);
        surface(rgb(r << 16 | g << 8 | b), normal, -ray, self.lamp.towards, lit)
    }

    fn ground(&self, point: V, distance: f64, origin: V, normal: V) -> Rgb {
        let [from, to] = FADE.map(|f| f * self.size);
        let fade = (((point - self.centre).norm() - from) / (to - from)).clamp(0.0, 1.0);
        let fade = fade * fade * (3.0 - 2.0 * fade);
        let pixel = distance / self.camera.focal;
        let (u, v) = tangents(normal);
        let line = [u, v].iter().fold(0.0f64, |best, t| {
            let place = t.dot(&(point - origin)) / self.grid;
            // A line is wider where the ground is seen at a slant; samples take care of the rest.
            let away = (place - place.round()).abs() * self.grid;
            best.max((1.0 - away / (GRID_WIDTH * 2.0 * pixel)).max(0.0))
        });
        let lit = self.lamp.lit(point, normal);
        let bare = mix(self.ink.ground, self.ink.edge, GRID_STRENGTH * line.min(1.0));
        let dark = bare.map(|c| c * (SHADOW + (1.0 - SHADOW) * lit));
        mix(dark, self.ink.paper, fade)
    }
}

/// Two directions along a plane, for a grid that keeps to the axes on level ground.
fn tangents(normal: V) -> (V, V) {
    let first = if normal.x.abs() < 0.9 { V::x() } else { V::y() };
    let u = (first - normal * normal.dot(&first)).normalize();
    (u, normal.cross(&u))
}

/// Light on a surface.
fn surface(color: Rgb, normal: V, to_eye: V, lamp: V, lit: f64) -> Rgb {
    let facing = normal.dot(&lamp).max(0.0) * lit;
    let bright = AMBIENT + SKY * normal.z + LAMP * facing;
    let half = (lamp + to_eye.normalize()).try_normalize(0.0).unwrap_or(lamp);
    let shine = SHINE * lit * normal.dot(&half).max(0.0).powi(GLOSS);
    color.map(|c| (c * bright + shine).min(1.0))
}

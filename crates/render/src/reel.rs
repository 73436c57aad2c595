//! From a log to the file of a picture.

use crate::canvas::{Canvas, check_size};
use crate::color::{Rgb, mix};
use crate::draw::{Draw, Moment, Scenery};
use crate::drawing::{Drawing, Fill, Form};
use crate::encode::{gif, png, video};
use crate::error::RenderError;
use crate::film::Film;
use crate::framing::Framing;
use crate::options::{Kind, MOST_FRAMES, MOST_PANELS, MOST_VIDEO_FRAMES, Options};
use crate::{glb, paint, svg, usda};
use carom_dynamics::{Model, State};
use carom_math::Pose;
use carom_record::Log;
use std::io::Write;

/// Panels beside each other in a strip at most.
const COLUMNS: usize = 5;
/// Between panels \[pixels\], as a part of their width.
const GAP: f64 = 0.012;
/// Height of the clock's digits as a part of the width, and between which sizes \[pixels\].
const CLOCK: f64 = 0.024;
const CLOCK_SIZES: [f64; 2] = [8.0, 22.0];
/// Points of a trail.
const TRAIL_POINTS: usize = 60;
/// Seconds of a film that a trail reaches back.
const TRAIL_TIME: f64 = 1.5;
/// Lengths of a run \[s\] below which the clock shows three, two and one decimals.
const DECIMALS: [f64; 3] = [1.0, 20.0, 200.0];

/// Times a film is made with fewer frames because it was too large; the last time it is taken as it is.
const TRIES: usize = 4;
/// Part of the frames that would fit which are taken.
const FEWER: f64 = 0.9;

/// What was made.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Rendered {
    /// Frames of a film, panels of a strip.
    pub frames: usize,
    /// Pixels across the whole picture; 0 where there are none.
    pub width: usize,
    /// Pixels down.
    pub height: usize,
}

/// Hears of so many frames done of so many; `false` asks to stop.
pub type Progress<'a> = dyn FnMut(usize, usize) -> bool + 'a;

/// A film with its camera.
struct Studio<'a, G: Draw> {
    film: Film<'a, G>,
    scenery: Scenery<'a, G>,
    view: G::View,
    options: &'a Options,
    poses: Vec<Pose<G>>,
    trail: Vec<Vec<G::Lin>>,
}

/// Draws a log of a model and writes the picture.
///
/// # Errors
/// The log cannot be read or belongs to another model, the size is refused, the file cannot be written, or `progress` asked to stop.
pub fn render<G: Draw>(
    log: &Log,
    model: &Model<G>,
    kind: Kind,
    options: &Options,
    out: &mut dyn Write,
    progress: &mut Progress<'_>,
) -> Result<Rendered, RenderError> {
    film(Film::new(log, model)?, &log.header().name, kind, options, out, progress)
}

/// Draws the states of a run, which has a name, and writes the picture.
///
/// # Errors
/// As [`render`].
pub fn render_states<G: Draw>(
    (states, name): (&[State<G>], &str),
    model: &Model<G>,
    kind: Kind,
    options: &Options,
    out: &mut dyn Write,
    progress: &mut Progress<'_>,
) -> Result<Rendered, RenderError> {
    film(Film::of_states(states, model)?, name, kind, options, out, progress)
}

fn film<G: Draw>(
    film: Film<'_, G>,
    name: &str,
    kind: Kind,
    options: &Options,
    out: &mut dyn Write,
    progress: &mut Progress<'_>,
) -> Result<Rendered, RenderError> {
    let frames = match kind {
        Kind::Glb => Some(glb::write(&film, name, options, out, progress)?),
        Kind::Usda => Some(usda::write(&film, name, options, out, progress)?),
        _ => None,
    };
    if let Some(frames) = frames {
        return Ok(Rendered { frames, width: 0, height: 0 });
    }
    let width = options.width_for(kind);
    check_size(width, options.height.unwrap_or(width))?;
    let framing = Framing::new(&film, options.follow)?;
    let view = G::view(framing, width, options);
    let scenery = Scenery { model: film.model, ink: options.theme.ink() };
    let mut studio = Studio { film, scenery, view, options, poses: Vec::new(), trail: Vec::new() };
    match kind {
        Kind::Gif => studio.gif(out, progress),
        Kind::Svg => studio.svg(name, out, progress),
        _ if kind.needs_encoder() => studio.video(kind, out, progress),
        _ => studio.png(out, progress),
    }
}

/// Draws one state of a model as PNG, without a clock: a small picture for a list.
///
/// # Errors
/// The poses belong to another model, or the size is refused.
pub fn still<G: Draw>(model: &Model<G>, poses: &[Pose<G>], options: &Options) -> Result<Vec<u8>, RenderError> {
    let film = Film::still(model, poses)?;
    let width = options.width_for(Kind::Png);
    check_size(width, options.height.unwrap_or(width))?;
    let view = G::view(Framing::new(&film, Some(false))?, width, options);
    let options = &Options { clock: false, ..options.clone() };
    let scenery = Scenery { model, ink: options.theme.ink() };
    let mut out = Vec::new();
    Studio { film, scenery, view, options, poses: Vec::new(), trail: Vec::new() }.png(&mut out, &mut |_, _| true)?;
    Ok(out)
}

impl<G: Draw> Studio<'_, G> {
    /// Takes the poses, and the trail since `from`.
    fn go_to(&mut self, time: f64, from: f64) -> Result<(), RenderError> {
        self.trail.clear();
        if self.options.trails {
            let from = from.max(self.film.start);
            for k in 0..TRAIL_POINTS {
                self.film.poses(from + (time - from) * k as f64 / (TRAIL_POINTS - 1) as f64, &mut self.poses)?;
                self.trail.push(self.poses.iter().map(|p| p.position).collect());
            }
        }
        self.film.poses(time, &mut self.poses)
    }
    fn clock(&self, time: f64, drawing: &mut Drawing) {
        if self.options.clock {
            let decimals = DECIMALS.iter().filter(|limit| self.film.duration() < **limit).count();
            let size = (CLOCK * drawing.size[0]).clamp(CLOCK_SIZES[0], CLOCK_SIZES[1]);
            let form = Form::Text { at: [size, 2.0 * size], size, text: format!("{time:.decimals$} s") };
            drawing.add(form, Some(Fill::Flat(self.scenery.ink.line)), None);
        }
    }
    fn pixels(&mut self, time: f64, from: f64) -> Result<Canvas, RenderError> {
        self.go_to(time, from)?;
        let moment = Moment { time, poses: &self.poses, trail: &self.trail };
        let mut canvas = G::pixels(&self.view, &self.scenery, &moment)?;
        let mut overlay = Drawing::new(canvas.width, canvas.height, self.scenery.ink.paper);
        self.clock(time, &mut overlay);
        paint::paint_over(&mut canvas, &overlay)?;
        Ok(canvas)
    }

    fn gif(&mut self, out: &mut dyn Write, progress: &mut Progress<'_>) -> Result<Rendered, RenderError> {
        let [width, height] = G::size(&self.view);
        check_size(width, height)?;
        let mut rate = self.options.rate_for(Kind::Gif);
        for tries in 1..=TRIES {
            let times = self.film.frames(rate, self.options.speed, MOST_FRAMES);
            let mut bytes = Vec::new();
            let most = if tries < TRIES { self.options.most_bytes } else { usize::MAX };
            let done = self.reel(&times, most, &mut bytes, progress)?;
            if done == times.len() {
                out.write_all(&bytes)?;
                return Ok(Rendered { frames: done, width, height });
            }
            // So few that they would fit if all were like the ones so far, and a little fewer.
            rate = (times.len() - 1) as f64 / (self.film.duration() / self.options.speed) * FEWER * done as f64 / times.len() as f64;
        }
        Err(RenderError::Frame("the film does not end"))
    }

    /// A film by an encoder outside: as many frames a second as asked for, whatever they take.
    fn video(&mut self, kind: Kind, out: &mut dyn Write, progress: &mut Progress<'_>) -> Result<Rendered, RenderError> {
        let [width, height] = G::size(&self.view);
        check_size(width, height)?;
        let (rate, speed) = (self.options.rate_for(kind), self.options.speed);
        let times = self.film.frames(rate, speed, MOST_VIDEO_FRAMES);
        // True to the run's length: the frames stand evenly from its start to its end.
        let rate = if times.len() > 1 { (times.len() - 1) as f64 * speed / self.film.duration() } else { rate };
        let mut film = video::VideoWriter::new(kind, [width, height], rate, self.options.encoder.as_deref())?;
        for (k, time) in times.iter().enumerate() {
            if !progress(k, times.len()) {
                return Err(RenderError::Stopped);
            }
            film.frame(&self.pixels(*time, time - TRAIL_TIME * speed)?)?;
        }
        film.finish(out)?;
        progress(times.len(), times.len());
        Ok(Rendered { frames: times.len(), width, height })
    }

    /// Encodes the frames at these times until there are too many bytes; returns how many frames went in.
    fn reel(&mut self, times: &[f64], most: usize, bytes: &mut Vec<u8>, progress: &mut Progress<'_>) -> Result<usize, RenderError> {
        let speed = self.options.speed;
        let [width, height] = G::size(&self.view);
        let mut palette = gif::PaletteMaker::new(self.scenery.ink.paper);
        let samples = times.len().min(gif::SAMPLES);
        for k in 0..samples {
            let time = times[k * (times.len() - 1) / samples.saturating_sub(1).max(1)];
            palette.add(&self.pixels(time, time - TRAIL_TIME * speed)?);
        }
        let mut film = gif::GifWriter::new(bytes, width, height, palette.finish())?;
        for (k, time) in times.iter().enumerate() {
            if !progress(k, times.len()) {
                return Err(RenderError::Stopped);
            }
            let canvas = self.pixels(*time, time - TRAIL_TIME * speed)?;
            let shown = |t: f64| (t - self.film.start) / speed;
            film.frame(&canvas, times.get(k + 1).map(|next| [shown(*time), shown(*next)]))?;
            if film.len() > most && k > 0 {
                return Ok(k);
            }
        }
        progress(times.len(), times.len());
        film.finish()?;
        Ok(times.len())
    }

    /// Colour between panels.
    fn gap(&self) -> Rgb {
        mix(self.scenery.ink.paper, self.scenery.ink.edge, 0.5)
    }

    /// The panels of a strip, each with its place, and the size of the whole.
    fn strip(&self) -> (Vec<(f64, [usize; 2])>, [usize; 2]) {
        let times = self.film.panels(self.options.panels.min(MOST_PANELS));
        let [width, height] = G::size(&self.view);
        let rows = times.len().div_ceil(COLUMNS);
        let columns = times.len().div_ceil(rows);
        let gap = (GAP * width as f64).ceil() as usize;
        let place = |k: usize| [(k % columns) * (width + gap), (k / columns) * (height + gap)];
        let size = [columns * width + (columns - 1) * gap, rows * height + (rows - 1) * gap];
        (times.into_iter().enumerate().map(|(k, time)| (time, place(k))).collect(), size)
    }

    fn png(&mut self, out: &mut dyn Write, progress: &mut Progress<'_>) -> Result<Rendered, RenderError> {
        let (panels, [width, height]) = self.strip();
        check_size(width, height)?;
        let mut canvas = Canvas::new(width, height, self.gap());
        let mut from = self.film.start;
        for (k, (time, [left, top])) in panels.iter().enumerate() {
            if !progress(k, panels.len()) {
                return Err(RenderError::Stopped);
            }
            canvas.put(&self.pixels(*time, from)?, *left, *top);
            from = *time;
        }
        png::write(&canvas, out)?;
        progress(panels.len(), panels.len());
        Ok(Rendered { frames: panels.len(), width, height })
    }

    fn svg(&mut self, title: &str, out: &mut dyn Write, progress: &mut Progress<'_>) -> Result<Rendered, RenderError> {
        let (panels, [width, height]) = self.strip();
        check_size(width, height)?;
        let mut whole = svg::Sheet::new(width, height, self.gap());
        let mut from = self.film.start;
        for (k, (time, [left, top])) in panels.iter().enumerate() {
            if !progress(k, panels.len()) {
                return Err(RenderError::Stopped);
            }
            self.go_to(*time, from)?;
            let moment = Moment { time: *time, poses: &self.poses, trail: &self.trail };
            let mut drawing = G::drawing(&self.view, &self.scenery, &moment);
            self.clock(*time, &mut drawing);
            whole.panel(&drawing, *left, *top);
            from = *time;
        }
        out.write_all(whole.finish(title).as_bytes())?;
        progress(panels.len(), panels.len());
        Ok(Rendered { frames: panels.len(), width, height })
    }
}

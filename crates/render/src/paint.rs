//! From a drawing to pixels, antialiased.

use crate::canvas::{CHANNELS, Canvas};
use crate::color::{Rgb, bytes};
use crate::drawing::{Drawing, Fill, Form, Item, Move};
use crate::error::RenderError;
use crate::glyphs;
use tiny_skia::{Color, FillRule, LineCap, LineJoin, Paint, Path, PathBuilder, Pixmap, Stroke, Transform};

/// Bytes of a pixel of the painter.
const PAINTED: usize = 4;
/// Largest byte, 1 in the painter's scale.
const OPAQUE: f64 = 255.0;
/// Coordinates beyond this many pixels are drawn there: the painter's numbers are short.
const FAR: f64 = 1e5;
/// Width of the strokes of letters as a part of their height.
pub const PEN: f64 = 0.13;

/// Paints a drawing.
///
/// # Errors
/// The size is refused.
pub fn paint(drawing: &Drawing) -> Result<Canvas, RenderError> {
    let [width, height] = drawing.size.map(|x| x as usize);
    let refused = || RenderError::Size { pixels: [width, height], most: crate::options::MOST_PIXELS };
    let mut pixels = Pixmap::new(width as u32, height as u32).ok_or_else(refused)?;
    pixels.fill(color(drawing.paper, 1.0));
    for item in &drawing.items {
        paint_item(&mut pixels, item);
    }
    let mut canvas = Canvas::new(width, height, drawing.paper);
    // The paper is opaque, so that nothing of the painter's fourth channel is left to divide out.
    for (to, from) in canvas.rgb.chunks_exact_mut(CHANNELS).zip(pixels.data().chunks_exact(PAINTED)) {
        to.copy_from_slice(&from[..CHANNELS]);
    }
    Ok(canvas)
}

/// Paints on top of a canvas.
///
/// # Errors
/// The size is refused.
pub fn paint_over(canvas: &mut Canvas, drawing: &Drawing) -> Result<(), RenderError> {
    let refused = || RenderError::Size { pixels: [canvas.width, canvas.height], most: crate::options::MOST_PIXELS };
    let mut pixels = Pixmap::new(canvas.width as u32, canvas.height as u32).ok_or_else(refused)?;
    for (to, from) in pixels.data_mut().chunks_exact_mut(PAINTED).zip(canvas.rgb.chunks_exact(CHANNELS)) {
        to[..CHANNELS].copy_from_slice(from);
        to[CHANNELS] = OPAQUE as u8;
    }
    drawing.items.iter().for_each(|item| paint_item(&mut pixels, item));
    for (to, from) in canvas.rgb.chunks_exact_mut(CHANNELS).zip(pixels.data().chunks_exact(PAINTED)) {
        to.copy_from_slice(&from[..CHANNELS]);
    }
    Ok(())
}

fn color(rgb: Rgb, opacity: f64) -> Color {
    let [r, g, b] = bytes(rgb);
    Color::from_rgba8(r, g, b, (opacity.clamp(0.0, 1.0) * OPAQUE).round() as u8)
}

/// A coordinate as the painter takes it.
fn near(x: f64) -> f32 {
    x.clamp(-FAR, FAR) as f32
}

fn path(form: &Form) -> Option<Path> {
    let mut pen = PathBuilder::new();
    match form {
        Form::Path(moves) => {
            for m in moves {
                match m {
                    Move::To([x, y]) => pen.move_to(near(*x), near(*y)),
                    Move::Line([x, y]) => pen.line_to(near(*x), near(*y)),
                    Move::Cubic(a, b, c) => pen.cubic_to(near(a[0]), near(a[1]), near(b[0]), near(b[1]), near(c[0]), near(c[1])),
                    Move::Close => pen.close(),
                }
            }
        }
        Form::Circle { centre: [x, y], radius } => pen.push_circle(near(*x), near(*y), near(*radius)),
        Form::Text { at, size, text } => {
            for line in glyphs::lines(text, *at, *size) {
                for (k, [x, y]) in line.iter().enumerate() {
                    if k == 0 { pen.move_to(near(*x), near(*y)) } else { pen.line_to(near(*x), near(*y)) }
                }
            }
        }
    }
    pen.finish()
}

fn paint_item(pixels: &mut Pixmap, item: &Item) {
    // A path without length or beyond all numbers has nothing to show.
    let Some(path) = path(&item.form) else { return };
    let mut paint = Paint { anti_alias: true, ..Paint::default() };
    let text_size = if let Form::Text { size, .. } = item.form { Some(size) } else { None };
    if let Some(Fill::Flat(rgb) | Fill::Ball(rgb)) = item.fill {
        paint.set_color(color(rgb, item.opacity));
        match text_size {
            // Letters are strokes; what fills them is their colour.
            Some(size) => {
                let pen = Stroke { width: near(PEN * size), line_cap: LineCap::Round, line_join: LineJoin::Round, ..Stroke::default() };
                pixels.stroke_path(&path, &paint, &pen, Transform::identity(), None);
            }
            None => pixels.fill_path(&path, &paint, FillRule::Winding, Transform::identity(), None),
        }
    }
    if let Some(stroke) = item.stroke.filter(|_| text_size.is_none()) {
        paint.set_color(color(stroke.color, item.opacity));
        let pen = Stroke { width: near(stroke.width), line_cap: LineCap::Round, line_join: LineJoin::Round, ..Stroke::default() };
        pixels.stroke_path(&path, &paint, &pen, Transform::identity(), None);
    }
}

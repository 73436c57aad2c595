//! Portable network graphics.

use crate::canvas::Canvas;
use crate::error::RenderError;
use std::io::Write;

/// Writes a canvas.
///
/// # Errors
/// The file cannot be written.
pub fn write(canvas: &Canvas, out: &mut dyn Write) -> Result<(), RenderError> {
    let mut encoder = png::Encoder::new(out, canvas.width as u32, canvas.height as u32);
    encoder.set_color(png::ColorType::Rgb);
    encoder.set_depth(png::BitDepth::Eight);
    encoder.set_compression(png::Compression::High);
    let mut writer = encoder.write_header().map_err(failed)?;
    writer.write_image_data(&canvas.rgb).map_err(failed)?;
    writer.finish().map_err(failed)
}

fn failed(error: png::EncodingError) -> RenderError {
    match error {
        png::EncodingError::IoError(error) => RenderError::Io(error),
        other => RenderError::Encode(other.to_string()),
    }
}

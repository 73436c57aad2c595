//! A few colours that stand for all of a film.

use crate::canvas::{CHANNELS, Canvas};
use std::collections::BTreeMap;

/// Colours of a palette; one more index is left for "as before".
pub const COLORS: usize = 255;
/// Colours that are kept as they are because most of the film is made of them.
const EXACT: usize = 96;
/// Values of a channel.
const LEVELS: usize = 256;
/// Not looked up yet.
const UNKNOWN: u16 = u16::MAX;

/// A colour in bytes.
pub type Pixel = [u8; CHANNELS];

/// How often each colour occurs.
#[derive(Clone, Debug, Default)]
pub struct Histogram(BTreeMap<Pixel, u64>);

impl Histogram {
    /// Counts the pixels of a canvas.
    pub fn add(&mut self, canvas: &Canvas) {
        let mut run: (Pixel, u64) = ([0; CHANNELS], 0);
        for pixel in canvas.rgb.chunks_exact(CHANNELS) {
            if pixel == run.0 {
                run.1 += 1;
            } else {
                self.count(run);
                run = ([pixel[0], pixel[1], pixel[2]], 1);
            }
        }
        self.count(run);
    }
    fn count(&mut self, (pixel, times): (Pixel, u64)) {
        if times > 0 {
            *self.0.entry(pixel).or_insert(0) += times;
        }
    }
    /// At most so many colours: the commonest as they are, for the others the means of boxes cut at their medians (Heckbert 1982).
    pub fn palette(&self) -> Vec<Pixel> {
        let mut colors: Vec<(Pixel, u64)> = self.0.iter().map(|(p, n)| (*p, *n)).collect();
        colors.sort_by(|a, b| b.1.cmp(&a.1).then(a.0.cmp(&b.0)));
        if colors.len() <= COLORS {
            return colors.into_iter().map(|(p, _)| p).collect();
        }
        let rest = colors.split_off(EXACT);
        let mut out: Vec<Pixel> = colors.into_iter().map(|(p, _)| p).collect();
        let mut boxes = vec![rest];
        while boxes.len() < COLORS - EXACT {
            // The box that spreads most, weighed by what is in it.
            let cost = |b: &Vec<(Pixel, u64)>| {
                let (_, spread) = widest(b);
                spread as f64 * (b.iter().map(|(_, n)| *n as f64).sum::<f64>()).sqrt()
            };
            let Some((worst, _)) = boxes
                .iter()
                .enumerate()
                .filter(|(_, b)| b.len() > 1)
                .map(|(k, b)| (k, cost(b)))
                .max_by(|a, b| a.1.total_cmp(&b.1).then(b.0.cmp(&a.0)))
            else {
                break;
            };
            let mut low = boxes.swap_remove(worst);
            let (channel, _) = widest(&low);
            low.sort_by_key(|(p, _)| (p[channel], *p));
            let half = low.iter().map(|(_, n)| *n).sum::<u64>() / 2;
            let mut sum = 0;
            let cut = low.iter().position(|(_, n)| {
                sum += n;
                sum > half
            });
            let high = low.split_off(cut.unwrap_or(0).clamp(1, low.len() - 1));
            boxes.extend([low, high]);
        }
        out.extend(boxes.iter().map(|b| mean(b)));
        out
    }
}

fn widest(colors: &[(Pixel, u64)]) -> (usize, u8) {
    let spread = |k: usize| {
        let (low, high) = colors.iter().fold((u8::MAX, 0), |(l, h), (p, _)| (l.min(p[k]), h.max(p[k])));
        high.saturating_sub(low)
    };
    (0..CHANNELS).map(|k| (k, spread(k))).max_by_key(|(k, s)| (*s, CHANNELS - k)).unwrap_or((0, 0))
}

fn mean(colors: &[(Pixel, u64)]) -> Pixel {
    let total = colors.iter().map(|(_, n)| *n).sum::<u64>().max(1);
    [0, 1, 2].map(|k| ((colors.iter().map(|(p, n)| u64::from(p[k]) * n).sum::<u64>() + total / 2) / total) as u8)
}

/// Finds the nearest colour of a palette, each colour once.
pub struct Finder {
    palette: Vec<Pixel>,
    known: Vec<u16>,
}

impl Finder {
    /// For a palette, which is not empty.
    pub fn new(palette: Vec<Pixel>) -> Self {
        Finder { palette, known: vec![UNKNOWN; LEVELS * LEVELS * LEVELS] }
    }
    /// Index of the nearest colour.
    pub fn nearest(&mut self, pixel: Pixel) -> u8 {
        let place = pixel.iter().fold(0, |place, c| place * LEVELS + usize::from(*c));
        if self.known[place] == UNKNOWN {
            let away = |p: &Pixel| p.iter().zip(&pixel).map(|(a, b)| (i32::from(*a) - i32::from(*b)).pow(2)).sum::<i32>();
            let best = self.palette.iter().enumerate().min_by_key(|(k, p)| (away(p), *k)).map_or(0, |(k, _)| k);
            self.known[place] = best as u16;
        }
        self.known[place] as u8
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn few_colours_are_kept_as_they_are() {
        let mut canvas = Canvas::new(40, 10, [1.0; 3]);
        canvas.rgb[..3].copy_from_slice(&[1, 2, 3]);
        let mut histogram = Histogram::default();
        histogram.add(&canvas);
        assert_eq!(histogram.palette(), [[255; 3], [1, 2, 3]]);
    }

    #[test]
    fn many_colours_are_met_nearly_and_the_commonest_exactly() {
        /// Squared distance that is not seen in small areas.
        const UNSEEN: i32 = 600;
        let mut canvas = Canvas::new(64, 64 + 8, [0.5, 0.5, 0.5]);
        for y in 0..64 {
            for x in 0..64 {
                let at = 3 * (y * 64 + x);
                canvas.rgb[at..at + 3].copy_from_slice(&[4 * x as u8, 4 * y as u8, 100]);
            }
        }
        let mut histogram = Histogram::default();
        histogram.add(&canvas);
        let palette = histogram.palette();
        assert_eq!(palette.len(), COLORS);
        let mut finder = Finder::new(palette.clone());
        assert_eq!(palette[usize::from(finder.nearest([128; 3]))], [128; 3]);
        for pixel in canvas.rgb.chunks_exact(3) {
            let found = palette[usize::from(finder.nearest([pixel[0], pixel[1], pixel[2]]))];
            let away: i32 = found.iter().zip(pixel).map(|(a, b)| (i32::from(*a) - i32::from(*b)).pow(2)).sum();
            assert!(away < UNSEEN, "{pixel:?} as {found:?}");
        }
    }
}

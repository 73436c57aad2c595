//! Digits as strokes of a pen, for clocks in pixels without a font.

use crate::drawing::Point;

/// Width of a letter's box as a part of the height of a digit; the strokes stand in it from 0 to `INNER`.
const ADVANCE: f64 = 0.78;
const INNER: f64 = 0.56;
/// Width of narrow letters.
const NARROW: f64 = 0.36;

/// Strokes of a letter in a box one wide and one high, y down.
fn strokes(letter: char) -> &'static [&'static [Point]] {
    match letter {
        '0' => &[&[
            [0.5, 0.0],
            [0.85, 0.1],
            [1.0, 0.35],
            [1.0, 0.65],
            [0.85, 0.9],
            [0.5, 1.0],
            [0.15, 0.9],
            [0.0, 0.65],
            [0.0, 0.35],
            [0.15, 0.1],
            [0.5, 0.0],
        ]],
        '1' => &[&[[0.15, 0.22], [0.55, 0.0], [0.55, 1.0]]],
        '2' => &[&[[0.02, 0.26], [0.15, 0.08], [0.5, 0.0], [0.85, 0.08], [0.97, 0.28], [0.85, 0.5], [0.0, 1.0], [1.0, 1.0]]],
        '3' => &[&[
            [0.05, 0.1],
            [0.5, 0.0],
            [0.88, 0.1],
            [0.95, 0.27],
            [0.8, 0.44],
            [0.4, 0.48],
            [0.85, 0.54],
            [1.0, 0.73],
            [0.88, 0.92],
            [0.5, 1.0],
            [0.0, 0.9],
        ]],
        '4' => &[&[[0.75, 1.0], [0.75, 0.0], [0.0, 0.7], [1.0, 0.7]]],
        '5' => &[&[[0.92, 0.0], [0.14, 0.0], [0.08, 0.46], [0.5, 0.38], [0.88, 0.48], [1.0, 0.7], [0.85, 0.92], [0.45, 1.0], [0.0, 0.9]]],
        '6' => &[&[
            [0.88, 0.04],
            [0.5, 0.03],
            [0.14, 0.25],
            [0.0, 0.65],
            [0.12, 0.9],
            [0.5, 1.0],
            [0.88, 0.9],
            [1.0, 0.68],
            [0.86, 0.47],
            [0.5, 0.4],
            [0.1, 0.52],
            [0.0, 0.68],
        ]],
        '7' => &[&[[0.0, 0.0], [1.0, 0.0], [0.35, 1.0]]],
        '8' => &[&[
            [0.5, 0.47],
            [0.12, 0.35],
            [0.08, 0.2],
            [0.2, 0.06],
            [0.5, 0.0],
            [0.8, 0.06],
            [0.92, 0.2],
            [0.88, 0.35],
            [0.5, 0.47],
            [0.1, 0.6],
            [0.0, 0.76],
            [0.12, 0.93],
            [0.5, 1.0],
            [0.88, 0.93],
            [1.0, 0.76],
            [0.9, 0.6],
            [0.5, 0.47],
        ]],
        '9' => &[&[
            [1.0, 0.32],
            [0.9, 0.5],
            [0.5, 0.6],
            [0.14, 0.52],
            [0.0, 0.32],
            [0.12, 0.1],
            [0.5, 0.0],
            [0.88, 0.1],
            [1.0, 0.35],
            [0.86, 0.75],
            [0.5, 0.97],
            [0.12, 0.96],
        ]],
        '.' => &[&[[0.28, 0.97], [0.32, 0.97], [0.32, 1.0], [0.28, 1.0], [0.28, 0.97]]],
        's' => &[&[[0.9, 0.48], [0.6, 0.4], [0.2, 0.44], [0.15, 0.58], [0.5, 0.68], [0.88, 0.77], [0.85, 0.94], [0.5, 1.0], [0.08, 0.92]]],
        '-' => &[&[[0.1, 0.55], [0.9, 0.55]]],
        'e' => &[&[[0.05, 0.7], [0.95, 0.7], [0.85, 0.47], [0.5, 0.4], [0.15, 0.48], [0.05, 0.7], [0.15, 0.92], [0.5, 1.0], [0.9, 0.93]]],
        _ => &[],
    }
}

fn advance(letter: char) -> f64 {
    if matches!(letter, '.' | ' ') { NARROW } else { ADVANCE }
}

/// The strokes of a text whose digits are `size` high, from the left end of its base line.
pub fn lines(text: &str, at: Point, size: f64) -> Vec<Vec<Point>> {
    let mut out = Vec::new();
    let mut left = at[0];
    for letter in text.chars() {
        for stroke in strokes(letter) {
            out.push(stroke.iter().map(|[x, y]| [left + x * INNER * size, at[1] - (1.0 - y) * size]).collect());
        }
        left += advance(letter) * size;
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_sign_of_a_clock_has_strokes() {
        for letter in "0123456789.s-e".chars() {
            assert!(!strokes(letter).is_empty(), "{letter}");
            for [x, y] in strokes(letter).concat() {
                assert!((0.0..=1.0).contains(&x) && (0.0..=1.0).contains(&y));
            }
        }
    }
}

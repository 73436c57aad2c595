//! Series of numbers as few bytes: rounded to a quantum, predicted from the two numbers before, and what is left written short.
//!
//! A body in free flight moves by the same second difference at every shot, one at rest by none: deflate makes almost nothing of them.

/// Bits of a byte that carry the number; the highest says that more follow.
const PART_BITS: u32 = 7;
const MORE: u8 = 1 << PART_BITS;

/// Writes whole numbers, small ones in one byte.
#[derive(Debug, Default)]
pub(crate) struct Pack {
    pub bytes: Vec<u8>,
}

impl Pack {
    /// A number >= 0.
    pub fn unsigned(&mut self, mut x: u64) {
        while x >= u64::from(MORE) {
            self.bytes.push(x as u8 | MORE);
            x >>= PART_BITS;
        }
        self.bytes.push(x as u8);
    }
    /// A number of either sign: 0, -1, 1, -2, ... become 0, 1, 2, 3, ...
    pub fn signed(&mut self, x: i64) {
        self.unsigned(((x << 1) ^ (x >> (i64::BITS - 1))) as u64);
    }
    /// A series, rounded to multiples of a quantum.
    pub fn series(&mut self, values: impl Iterator<Item = f64>, quantum: f64) {
        let (mut last, mut before) = (0, 0);
        for (k, value) in values.enumerate() {
            let now = quantised(value, quantum);
            // The first number has nothing to be predicted from, the second only the first.
            let predicted = if k < 2 { last } else { 2 * last - before };
            self.signed(now - predicted);
            (before, last) = (last, now);
        }
    }
}

/// The nearest multiple of a quantum; far beyond any size that is drawn it stays there.
pub(crate) fn quantised(value: f64, quantum: f64) -> i64 {
    /// Doubled and subtracted it must stay a whole number in the page, where numbers have 53 bits.
    const MOST: f64 = (1u64 << 50) as f64;
    // What is not a number is drawn at the origin.
    let steps = (value / quantum).round();
    if steps.is_nan() { 0 } else { steps.clamp(-MOST, MOST) as i64 }
}

/// The quantum that divides the largest size of some numbers into so many levels; 1 when all are 0.
pub(crate) fn quantum(values: impl Iterator<Item = f64>, levels: f64) -> f64 {
    let largest = values.filter(|x| x.is_finite()).fold(0.0, |m: f64, x| m.max(x.abs()));
    if largest > 0.0 { largest / levels } else { 1.0 }
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;

    /// Reads what a pack wrote, as the page does.
    pub struct Unpack<'a>(pub &'a [u8]);

    impl Unpack<'_> {
        pub fn unsigned(&mut self) -> u64 {
            let (mut x, mut shift) = (0, 0);
            loop {
                let byte = self.0[0];
                self.0 = &self.0[1..];
                x |= u64::from(byte & !MORE) << shift;
                if byte < MORE {
                    return x;
                }
                shift += PART_BITS;
            }
        }
        pub fn signed(&mut self) -> i64 {
            let x = self.unsigned();
            (x >> 1) as i64 ^ -((x & 1) as i64)
        }
        pub fn series(&mut self, count: usize, quantum: f64) -> Vec<f64> {
            let mut out: Vec<i64> = Vec::new();
            for k in 0..count {
                let predicted = if k == 0 {
                    0
                } else if k == 1 {
                    out[0]
                } else {
                    2 * out[k - 1] - out[k - 2]
                };
                out.push(predicted + self.signed());
            }
            out.iter().map(|x| *x as f64 * quantum).collect()
        }
    }

    #[test]
    fn numbers_of_every_size_and_sign_come_back() {
        let mut pack = Pack::default();
        let numbers = [0, 1, -1, 63, 64, -64, -65, 1 << 20, -(1 << 40), i64::MAX, i64::MIN];
        numbers.iter().for_each(|x| pack.signed(*x));
        let mut read = Unpack(&pack.bytes);
        assert!(numbers.iter().all(|x| read.signed() == *x));
        assert!(read.0.is_empty());
    }

    #[test]
    fn a_series_comes_back_to_half_a_quantum_and_flight_is_a_byte_a_shot() {
        let fall: Vec<f64> = (0..500).map(|k| 2.0 - 9.81 * 0.5 * (k as f64 * 0.005).powi(2)).collect();
        let step = quantum(fall.iter().copied(), f64::from(1 << 18));
        let mut pack = Pack::default();
        pack.series(fall.iter().copied(), step);
        assert!(pack.bytes.len() < 510, "{} bytes", pack.bytes.len());
        let back = Unpack(&pack.bytes).series(fall.len(), step);
        assert!(fall.iter().zip(&back).all(|(a, b)| (a - b).abs() <= 0.5001 * step));
        assert_eq!(quantised(f64::NAN, 1.0), 0);
        assert!(quantised(f64::INFINITY, 1.0) > 0);
    }
}

//! The held rows of one joint at the body that it carries: A' = Q R with orthonormal Q, and what is left of the space, theory (12.26).

/// Most numbers of a row.
pub(crate) const FREEDOMS: usize = 6;

/// Part of the square of a row that must be left without the rows before it; with less they nearly repeat each other.
const LEAST_LEFT: f64 = 1e-16;

/// Numbers of a row, or of as many rows.
type Row = [f64; FREEDOMS];

/// Rows as an orthonormal basis of them and of what is square to all.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Frame {
    rows: usize,
    numbers: usize,
    /// Q by columns: first those of the rows, then the free ones.
    across: [Row; FREEDOMS],
    /// R by columns.
    upper: [Row; FREEDOMS],
    /// For each row what meets it alone: Q R^-T by columns.
    alone: [Row; FREEDOMS],
}

#[inline]
fn dot(a: &Row, b: &Row) -> f64 {
    ((a[0] * b[0] + a[1] * b[1]) + (a[2] * b[2] + a[3] * b[3])) + (a[4] * b[4] + a[5] * b[5])
}

#[inline]
fn subtract(s: f64, a: &Row, out: &mut Row) {
    for k in 0..FREEDOMS {
        out[k] -= s * a[k];
    }
}

impl Frame {
    /// Finds it for so many rows of so many numbers; `false` where they nearly repeat each other.
    #[inline]
    pub fn find(&mut self, rows: usize, numbers: usize, row: impl Fn(usize, &mut Row)) -> bool {
        (self.rows, self.numbers) = (rows, numbers);
        if rows > numbers {
            return false;
        }
        for k in 0..rows {
            let mut left = [0.0; FREEDOMS];
            row(k, &mut left);
            let whole = dot(&left, &left);
            self.upper[k] = [0.0; FREEDOMS];
            // Twice is enough.
            for _ in 0..2 {
                for j in 0..k {
                    let along = dot(&self.across[j], &left);
                    self.upper[k][j] += along;
                    let across = self.across[j];
                    subtract(along, &across, &mut left);
                }
            }
            let length = dot(&left, &left);
            if !length.is_finite() || length <= LEAST_LEFT * whole {
                return false;
            }
            let length = length.sqrt();
            self.upper[k][k] = length;
            self.across[k] = left.map(|x| x / length);
        }
        self.invert();
        for k in rows..numbers {
            // The axis of which most is left.
            let left_of = |axis: usize| 1.0 - self.across[..k].iter().map(|across| across[axis] * across[axis]).sum::<f64>();
            let mut best = (0, left_of(0));
            for axis in 1..numbers {
                let left = left_of(axis);
                if left > best.1 {
                    best = (axis, left);
                }
            }
            let mut left = [0.0; FREEDOMS];
            left[best.0] = 1.0;
            for _ in 0..2 {
                for j in 0..k {
                    let across = self.across[j];
                    subtract(dot(&across, &left), &across, &mut left);
                }
            }
            let length = dot(&left, &left).sqrt();
            self.across[k] = left.map(|x| x / length);
        }
        true
    }

    /// The motions that no row holds.
    #[inline]
    pub fn free(&self) -> &[Row] {
        &self.across[self.rows..self.numbers]
    }

    /// For each row what meets it alone.
    #[inline]
    pub fn alone(&self) -> &[Row] {
        &self.alone[..self.rows]
    }

    /// The least x with A x = b: Q R^-T b.
    #[inline(always)]
    pub fn meet(&self, b: &[f64]) -> Row {
        let mut out = [0.0; FREEDOMS];
        for (alone, b) in self.alone.iter().zip(b).take(self.rows) {
            subtract(-b, alone, &mut out);
        }
        out
    }

    /// The y with A' y = x, where x is such a sum: R^-1 Q' x.
    #[inline(always)]
    pub fn weigh(&self, x: &Row) -> Row {
        let mut out = [0.0; FREEDOMS];
        for (alone, y) in self.alone.iter().zip(&mut out).take(self.rows) {
            *y = dot(alone, x);
        }
        out
    }

    /// Q R^-T: column k is what is left of q_k / R_kk when the rows after it are met as well.
    fn invert(&mut self) {
        for k in (0..self.rows).rev() {
            let mut left = self.across[k];
            for j in k + 1..self.rows {
                let (share, alone) = (self.upper[j][k], self.alone[j]);
                subtract(share, &alone, &mut left);
            }
            let share = 1.0 / self.upper[k][k];
            self.alone[k] = left.map(|x| x * share);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rows_and_what_they_leave_make_up_the_space() {
        let number = |i: usize, k: usize| ((3 * i + 7 * k) as f64 + 0.3).sin() + if i == k { 1.5 } else { 0.0 };
        for rows in 0..=FREEDOMS {
            let given = |i: usize| -> Row { std::array::from_fn(|k| number(i, k)) };
            let mut frame = Frame::default();
            assert!(frame.find(rows, FREEDOMS, |i, out| *out = given(i)));
            assert_eq!(frame.free().len(), FREEDOMS - rows);
            for free in frame.free() {
                assert!((dot(free, free) - 1.0).abs() < 1e-14);
                assert!((0..rows).all(|i| dot(free, &given(i)).abs() < 1e-14), "{rows} rows hold nothing that is free");
            }
            let wanted: Row = std::array::from_fn(|k| if k < rows { 0.4 - k as f64 } else { 0.0 });
            let met = frame.meet(&wanted);
            assert!((0..rows).all(|i| (dot(&met, &given(i)) - wanted[i]).abs() < 1e-13));
            assert!(frame.free().iter().all(|free| dot(free, &met).abs() < 1e-13), "the least of all that do");
            let mut sum = [0.0; FREEDOMS];
            (0..rows).for_each(|i| subtract(-wanted[i], &given(i), &mut sum));
            let found = frame.weigh(&sum);
            assert!((0..FREEDOMS).all(|i| (found[i] - wanted[i]).abs() < 1e-13), "{found:?}");
        }
    }

    #[test]
    fn rows_that_repeat_each_other_are_refused() {
        let mut frame = Frame::default();
        assert!(!frame.find(2, 3, |i, out| out[..3].copy_from_slice(&[1.0 + i as f64, 2.0 + 2.0 * i as f64, 0.0])));
        assert!(!Frame::default().find(1, 3, |_, out| out[0] = f64::NAN));
        assert!(!Frame::default().find(4, 3, |_, _| {}));
    }
}

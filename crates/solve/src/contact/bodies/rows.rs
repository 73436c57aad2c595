//! The rows of a problem over bodies, and the sums over them in which a warm solve spends its time.
//!
//! Contacts in space have three rows, and most blocks are such: that number is known to the compiler. Where the processor has 256-bit fused products the
//! sums are compiled for them as well, one choice at run time, so that the same machine gives the same bits.

use crate::contact::law::WIDEST;
use crate::contact::system::Layout;
use carom_math::multifrontal::{Multifrontal, Slot};
#[cfg(target_arch = "x86_64")]
use carom_math::processor::fused;

/// One block's rows at one body.
#[derive(Clone, Copy, Debug)]
pub(super) struct Side {
    pub body: u32,
    /// Where the rows begin among the numbers.
    pub at: usize,
}

/// The blocks, their sides, and the numbers of these.
#[derive(Clone, Debug, Default)]
pub(super) struct Rows<const B: usize> {
    pub layout: Layout,
    pub sides: Vec<Side>,
    /// First side of each block, and their number.
    pub first_side: Vec<usize>,
    /// J M^-1/2 of every side, by rows.
    pub numbers: Vec<f64>,
}

/// Defines a function and its twin for wide processors, which it calls there.
macro_rules! wide {
    ($(#[$note:meta])* fn $name:ident = $twin:ident / $body:ident(&$self:ident, $($arg:ident: $kind:ty),*)) => {
        $(#[$note])*
        pub fn $name(&$self, $($arg: $kind),*) {
            #[cfg(target_arch = "x86_64")]
            if fused() {
                // The function is the safe one, compiled for features that were just found.
                #[allow(unsafe_code)]
                return unsafe { $self.$twin($($arg),*) };
            }
            $self.$body::<false>($($arg),*);
        }

        #[cfg(target_arch = "x86_64")]
        #[target_feature(enable = "avx2,fma")]
        fn $twin(&$self, $($arg: $kind),*) {
            $self.$body::<true>($($arg),*);
        }
    };
}

impl<const B: usize> Rows<B> {
    wide!(
        /// motion = J' x.
        fn gather = gather_fused / gather_by(&self, x: &[f64], motion: &mut [f64])
    );

    wide!(
        /// out = J motion + S x, with the compliance S of each row.
        fn spread = spread_fused / spread_by(&self, motion: &[f64], softness: &[f64], x: &[f64], out: &mut [f64])
    );

    wide!(
        /// x -= D J motion, and J motion + S x into `response`.
        fn answer = answer_fused / answer_by(&self, motion: &[f64], slopes: &[f64], softness: &[f64], x: &mut [f64], response: &mut [f64])
    );

    wide!(
        /// Adds J' D J of every block to a matrix that was begun.
        fn assemble = assemble_fused / assemble_by(&self, slopes: &[f64], slots: &[Slot], first_slot: &[usize], symmetric: bool, factor: &mut Multifrontal)
    );

    /// The sides of a block.
    #[inline]
    pub fn sides_of(&self, block: usize) -> &[Side] {
        &self.sides[self.first_side[block]..self.first_side[block + 1]]
    }

    #[inline(always)]
    fn gather_by<const FUSED: bool>(&self, x: &[f64], motion: &mut [f64]) {
        motion.fill(0.0);
        for block in 0..self.layout.blocks() {
            self.add_motion::<FUSED>(block, &x[self.layout.rows_of(block)], motion);
        }
    }

    #[inline(always)]
    fn spread_by<const FUSED: bool>(&self, motion: &[f64], softness: &[f64], x: &[f64], out: &mut [f64]) {
        for block in 0..self.layout.blocks() {
            let rows = self.layout.rows_of(block);
            let (soft, x, out) = (&softness[rows.clone()], &x[rows.clone()], &mut out[rows]);
            self.read_motion::<FUSED>(block, motion, out);
            if out.len() == 3 { soften(3, soft, x, out) } else { soften(out.len(), soft, x, out) }
        }
    }

    #[inline(always)]
    fn answer_by<const FUSED: bool>(&self, motion: &[f64], slopes: &[f64], softness: &[f64], x: &mut [f64], response: &mut [f64]) {
        for block in 0..self.layout.blocks() {
            let rows = self.layout.rows_of(block);
            let (slope, soft) = (&slopes[self.layout.square_of(block)], &softness[rows.clone()]);
            let (x, response) = (&mut x[rows.clone()], &mut response[rows]);
            self.read_motion::<FUSED>(block, motion, response);
            if x.len() == 3 { respond(3, slope, soft, x, response) } else { respond(x.len(), slope, soft, x, response) }
        }
    }

    #[inline(always)]
    fn assemble_by<const FUSED: bool>(
        &self,
        slopes: &[f64],
        slots: &[Slot],
        first_slot: &[usize],
        symmetric: bool,
        factor: &mut Multifrontal,
    ) {
        for block in 0..self.layout.blocks() {
            let d = self.layout.rows_of(block).len();
            let slope = &slopes[self.layout.square_of(block)];
            if slope.iter().all(|s| *s == 0.0) {
                continue;
            }
            let sides = self.sides_of(block);
            let mut slot = first_slot[block];
            for (s, side) in sides.iter().enumerate() {
                let own = self.rows_at(side, d);
                for other in &sides[s..] {
                    let rows = self.rows_at(other, d);
                    let at = slots[slot];
                    slot += 1;
                    let turned = &multiply::<B, FUSED>(slope, rows)[..d];
                    let taken = if factor.takes_rows(at) { outer::<B, FUSED>(own, turned) } else { outer::<B, FUSED>(turned, own) };
                    factor.add_lines(at, &taken);
                    if other.at != side.at && (!symmetric || side.body == other.body) {
                        let turned = &multiply::<B, FUSED>(slope, own)[..d];
                        let taken = outer::<B, FUSED>(turned, rows);
                        if side.body == other.body {
                            factor.add_lines(at, &taken);
                        } else {
                            factor.add_lines_opposite(at, &taken);
                        }
                    }
                }
            }
        }
    }

    /// The rows of a side.
    #[inline(always)]
    pub fn rows_at(&self, side: &Side, d: usize) -> &[[f64; B]] {
        self.numbers[side.at..side.at + d * B].as_chunks::<B>().0
    }

    /// motion += J' x of one block.
    #[inline(always)]
    pub fn add_motion<const FUSED: bool>(&self, block: usize, x: &[f64], motion: &mut [f64]) {
        for side in self.sides_of(block) {
            let Some(to) = motion[side.body as usize * B..].first_chunk_mut::<B>() else { continue };
            let rows = self.rows_at(side, x.len());
            if x.len() == 3 { add::<B, FUSED>(3, rows, x, to) } else { add::<B, FUSED>(x.len(), rows, x, to) }
        }
    }

    /// out = J motion of one block.
    #[inline(always)]
    pub fn read_motion<const FUSED: bool>(&self, block: usize, motion: &[f64], out: &mut [f64]) {
        let d = out.len();
        if d == 3 { self.read::<FUSED>(3, block, motion, out) } else { self.read::<FUSED>(d, block, motion, out) }
    }

    #[inline(always)]
    fn read<const FUSED: bool>(&self, d: usize, block: usize, motion: &[f64], out: &mut [f64]) {
        let mut sums = [0.0; WIDEST];
        for side in self.sides_of(block) {
            let Some(from) = motion[side.body as usize * B..].first_chunk::<B>() else { continue };
            let rows = &self.rows_at(side, d)[..d];
            for i in 0..d {
                sums[i] += dot::<B, FUSED>(&rows[i], from);
            }
        }
        out[..d].copy_from_slice(&sums[..d]);
    }
}

/// c + a b, rounded once where products are fused.
#[inline(always)]
fn plus<const FUSED: bool>(c: f64, a: f64, b: f64) -> f64 {
    if FUSED { a.mul_add(b, c) } else { c + a * b }
}

/// The sum of the products, even and odd ones apart: two of them are taken at a time.
#[inline(always)]
pub(super) fn dot<const B: usize, const FUSED: bool>(a: &[f64; B], b: &[f64; B]) -> f64 {
    let mut sums = [0.0; 2];
    for k in 0..B {
        sums[k % 2] = plus::<FUSED>(sums[k % 2], a[k], b[k]);
    }
    sums[0] + sums[1]
}

/// to += rows' x.
#[inline(always)]
fn add<const B: usize, const FUSED: bool>(d: usize, rows: &[[f64; B]], x: &[f64], to: &mut [f64; B]) {
    // The sum of a block first: blocks of one body wait for each other by one addition only.
    let mut sums = [0.0; B];
    for (row, x) in rows[..d].iter().zip(&x[..d]) {
        for k in 0..B {
            sums[k] = plus::<FUSED>(sums[k], row[k], *x);
        }
    }
    for k in 0..B {
        to[k] += sums[k];
    }
}

/// out += S x.
#[inline(always)]
fn soften(d: usize, soft: &[f64], x: &[f64], out: &mut [f64]) {
    let (soft, x, out) = (&soft[..d], &x[..d], &mut out[..d]);
    for i in 0..d {
        out[i] += soft[i] * x[i];
    }
}

/// x -= D speeds; speeds += S x.
#[inline(always)]
fn respond(d: usize, slope: &[f64], soft: &[f64], x: &mut [f64], speeds: &mut [f64]) {
    let (slope, soft, x, speeds) = (&slope[..d * d], &soft[..d], &mut x[..d], &mut speeds[..d]);
    let mut sums = [0.0; WIDEST];
    for i in 0..d {
        for j in 0..d {
            sums[i] += slope[i * d + j] * speeds[j];
        }
    }
    for i in 0..d {
        x[i] -= sums[i];
        speeds[i] += soft[i] * x[i];
    }
}

/// D rows.
#[inline(always)]
fn multiply<const B: usize, const FUSED: bool>(slope: &[f64], rows: &[[f64; B]]) -> [[f64; B]; WIDEST] {
    if rows.len() == 3 { lines::<B, FUSED>(3, slope, rows) } else { lines::<B, FUSED>(rows.len(), slope, rows) }
}

#[inline(always)]
fn lines<const B: usize, const FUSED: bool>(d: usize, slope: &[f64], rows: &[[f64; B]]) -> [[f64; B]; WIDEST] {
    let (slope, rows) = (&slope[..d * d], &rows[..d]);
    let mut out = [[0.0; B]; WIDEST];
    for i in 0..d {
        let mut line = [0.0; B];
        for j in 0..d {
            for k in 0..B {
                line[k] = plus::<FUSED>(line[k], slope[i * d + j], rows[j][k]);
            }
        }
        out[i] = line;
    }
    out
}

/// a' b by rows.
#[inline(always)]
fn outer<const B: usize, const FUSED: bool>(a: &[[f64; B]], b: &[[f64; B]]) -> [[f64; B]; B] {
    if let (Some(a), Some(b)) = (a.as_array::<3>(), b.as_array::<3>()) { products::<B, FUSED>(a, b) } else { products::<B, FUSED>(a, b) }
}

#[inline(always)]
fn products<const B: usize, const FUSED: bool>(a: &[[f64; B]], b: &[[f64; B]]) -> [[f64; B]; B] {
    let mut out = [[0.0; B]; B];
    for i in 0..B {
        for (a, b) in a.iter().zip(b) {
            for k in 0..B {
                out[i][k] = plus::<FUSED>(out[i][k], a[i], b[k]);
            }
        }
    }
    out
}

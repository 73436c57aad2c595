//! Pairwise reflections: one closing contact at a time is reversed, v' = v - 2 (n·v) M⁻¹ n, theory (5.6).

use super::{Application, Contacts, Operator, Order};

/// The pairwise operator.
#[derive(Clone, Debug, Default)]
pub struct Pairwise {
    /// Which closing contact is next.
    pub order: Order,
    /// Seed of [`Order::Random`].
    pub seed: u64,
    applications: u64,
    cursor: usize,
    closing: Vec<usize>,
}

impl Pairwise {
    /// The operator of an order; the seed serves [`Order::Random`] alone.
    pub fn new(order: Order, seed: u64) -> Self {
        Self { order, seed, ..Self::default() }
    }

    fn select(&mut self, contacts: &Contacts<'_>, approach: &[f64]) -> Option<usize> {
        let m = approach.len();
        let closes = |i: usize| approach[i] < -contacts.threshold;
        match self.order {
            // Only contacts coupled to the last one have changed, so the search may start at the least of them (the cursor).
            Order::Lexicographic => (self.cursor..m).find(|&i| closes(i)),
            Order::Cyclic => (self.cursor..m).chain(0..self.cursor).find(|&i| closes(i)),
            Order::Random => {
                self.closing.clear();
                self.closing.extend((0..m).filter(|&i| closes(i)));
                let count = self.closing.len() as u64;
                (count > 0).then(|| self.closing[(mix(self.seed, self.applications) % count) as usize])
            }
            Order::Worst => {
                let mut worst = None;
                let mut least = -contacts.threshold;
                for i in 0..m {
                    if approach[i] < least {
                        least = approach[i];
                        worst = Some(i);
                    }
                }
                worst
            }
        }
    }
}

impl Operator for Pairwise {
    fn begin(&mut self, _contacts: &Contacts<'_>) {
        self.applications = 0;
        self.cursor = 0;
    }

    fn choose(&mut self, contacts: &Contacts<'_>, approach: &[f64], application: &mut Application) {
        application.contacts.clear();
        application.impulses.clear();
        let Some(i) = self.select(contacts, approach) else { return };
        self.applications += 1;
        self.cursor = match self.order {
            Order::Lexicographic => contacts.gram.row(i).0.first().map_or(i, |&least| least.min(i)),
            _ => i + 1,
        };
        application.contacts.push(i);
        application.impulses.push(-2.0 * approach[i]);
    }
}

/// Random bits of (seed, counter): two rounds of a 64-bit finaliser, so that any draw can be repeated without its predecessors.
fn mix(seed: u64, counter: u64) -> u64 {
    /// Odd constant of the golden ratio, spreads consecutive counters over all bits.
    const STRIDE: u64 = 0x9e37_79b9_7f4a_7c15;
    finalise(finalise(seed.wrapping_add(STRIDE)).wrapping_add(counter.wrapping_mul(STRIDE)))
}

/// A bijection of 64-bit words in which every input bit reaches every output bit.
fn finalise(mut z: u64) -> u64 {
    /// Odd multipliers and shifts with good avalanche behaviour.
    const MULTIPLIERS: [u64; 2] = [0xbf58_476d_1ce4_e5b9, 0x94d0_49bb_1331_11eb];
    const SHIFTS: [u32; 3] = [30, 27, 31];
    z = (z ^ (z >> SHIFTS[0])).wrapping_mul(MULTIPLIERS[0]);
    z = (z ^ (z >> SHIFTS[1])).wrapping_mul(MULTIPLIERS[1]);
    z ^ (z >> SHIFTS[2])
}

//! Contact problems for tests: random ones and the classics, all made from the rows of real rigid bodies.

use crate::contact::problem::{Block, Cone, Problem};

/// A small deterministic generator of uniform numbers.
pub struct Random(u64);

impl Random {
    pub fn new(seed: u64) -> Self {
        let mut random = Random(seed.wrapping_mul(0x9E37_79B9_7F4A_7C15) ^ 0xD1B5_4A32_D192_ED03);
        for _ in 0..8 {
            random.next();
        }
        random
    }

    fn next(&mut self) -> u64 {
        self.0 |= u64::from(self.0 == 0);
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        self.0
    }

    /// Uniform in [low, high).
    pub fn between(&mut self, low: f64, high: f64) -> f64 {
        low + (high - low) * ((self.next() >> 11) as f64 / (1u64 << 53) as f64)
    }

    /// Uniform in 0..count.
    pub fn below(&mut self, count: usize) -> usize {
        (self.next() >> 16) as usize % count.max(1)
    }

    pub fn chance(&mut self, share: f64) -> bool {
        self.between(0.0, 1.0) < share
    }
}

/// A problem that owns its numbers, with the rows and the mass it was made from.
#[derive(Clone)]
pub struct Sample {
    pub tangents: usize,
    pub blocks: Vec<Block>,
    pub cone: Cone,
    pub freedoms: usize,
    pub inv_mass: Vec<f64>,
    pub rows: Vec<Vec<f64>>,
    pub velocity: Vec<f64>,
    pub matrix: Vec<f64>,
    pub free: Vec<f64>,
}

impl Sample {
    pub fn new(tangents: usize, inv_mass: Vec<f64>, velocity: Vec<f64>) -> Self {
        let freedoms = inv_mass.len();
        Sample { tangents, blocks: vec![], cone: Cone::Round, freedoms, inv_mass, rows: vec![], velocity, matrix: vec![], free: vec![] }
    }

    /// Velocities per body: (w, vx, vy) in the plane, (w, v) in space.
    pub fn per_body(&self) -> usize {
        if self.tangents == 1 { 3 } else { 6 }
    }

    /// Row of the velocity of point `arm` of body `index` along `direction`, times `sign`, added into `row`.
    fn add_point(&self, row: &mut [f64], index: usize, arm: [f64; 3], direction: [f64; 3], sign: f64) {
        let base = index * self.per_body();
        let turn = cross(arm, direction);
        if self.tangents == 1 {
            row[base] += sign * turn[2];
            row[base + 1] += sign * direction[0];
            row[base + 2] += sign * direction[1];
        } else {
            for k in 0..3 {
                row[base + k] += sign * turn[k];
                row[base + 3 + k] += sign * direction[k];
            }
        }
    }

    /// A contact of body a with body b (None is the world); in the plane the third components are zero.
    pub fn contact(&mut self, a: (usize, [f64; 3]), b: Option<(usize, [f64; 3])>, normal: [f64; 3], friction: f64) {
        let directions = if self.tangents == 1 {
            vec![normal, [-normal[1], normal[0], 0.0]]
        } else {
            let least = (0..3).min_by(|&i, &j| normal[i].abs().total_cmp(&normal[j].abs())).unwrap_or(0);
            let mut axis = [0.0; 3];
            axis[least] = 1.0;
            let first = unit(cross(normal, axis));
            vec![normal, first, cross(normal, first)]
        };
        for direction in directions {
            let mut row = vec![0.0; self.freedoms];
            self.add_point(&mut row, a.0, a.1, direction, 1.0);
            if let Some((b, arm)) = b {
                self.add_point(&mut row, b, arm, direction, -1.0);
            }
            self.rows.push(row);
        }
        self.blocks.push(Block::contact(friction));
    }

    /// Fills A and u from the rows.
    pub fn finish(mut self) -> Self {
        let n = self.rows.len();
        self.matrix = vec![0.0; n * n];
        for i in 0..n {
            for j in 0..n {
                self.matrix[i * n + j] = (0..self.freedoms).map(|k| self.rows[i][k] * self.inv_mass[k] * self.rows[j][k]).sum();
            }
        }
        self.free = self.rows.iter().map(|row| row.iter().zip(&self.velocity).map(|(r, v)| r * v).sum()).collect();
        self
    }

    pub fn problem(&self) -> Problem<'_> {
        Problem { tangents: self.tangents, blocks: &self.blocks, matrix: &self.matrix, free: &self.free, cone: self.cone }
    }

    /// Velocity after the impulses.
    pub fn velocity_after(&self, impulses: &[f64]) -> Vec<f64> {
        (0..self.freedoms)
            .map(|k| self.velocity[k] + self.inv_mass[k] * self.rows.iter().zip(impulses).map(|(row, l)| row[k] * l).sum::<f64>())
            .collect()
    }

    /// Kinetic energy of a velocity (movable freedoms only).
    pub fn energy(&self, velocity: &[f64]) -> f64 {
        velocity.iter().zip(&self.inv_mass).filter(|(_, m)| **m > 0.0).map(|(v, m)| v * v / m / 2.0).sum()
    }
}

pub fn cross(a: [f64; 3], b: [f64; 3]) -> [f64; 3] {
    [a[1] * b[2] - a[2] * b[1], a[2] * b[0] - a[0] * b[2], a[0] * b[1] - a[1] * b[0]]
}

pub fn unit(a: [f64; 3]) -> [f64; 3] {
    let length = (a[0] * a[0] + a[1] * a[1] + a[2] * a[2]).sqrt();
    [a[0] / length, a[1] / length, a[2] / length]
}

/// A random problem: up to `most` contacts among bodies whose masses span a ratio of 1e4, with coefficients of friction from 0 to 2,
/// duplicated and coplanar contacts, limits and motors.
pub fn random_sample(seed: u64, tangents: usize, most: usize) -> Sample {
    let mut random = Random::new(seed);
    let planar = tangents == 1;
    let count = 1 + random.below(most);
    let bodies = 1 + random.below(count.min(12));
    let mut inv_mass = vec![];
    let heavy = random.chance(0.5);
    for _ in 0..bodies {
        let mass = if heavy { 10f64.powf(random.between(-2.0, 2.0)) } else { random.between(0.5, 2.0) };
        let radius = random.between(0.3, 1.0);
        let spins = if planar { 1 } else { 3 };
        for _ in 0..spins {
            inv_mass.push(1.0 / (mass * radius * radius * random.between(0.3, 0.7)));
        }
        inv_mass.extend(std::iter::repeat_n(1.0 / mass, if planar { 2 } else { 3 }));
    }
    let velocity: Vec<f64> = inv_mass.iter().map(|_| random.between(-1.0, 1.0)).collect();
    let mut sample = Sample::new(tangents, inv_mass, velocity);
    let vector = |random: &mut Random| {
        let z = if planar { 0.0 } else { random.between(-1.0, 1.0) };
        [random.between(-1.0, 1.0), random.between(-1.0, 1.0), z]
    };
    let slippery = random.chance(0.1);
    let fixed = random.chance(0.3).then(|| random.between(0.0, 1.0));
    while sample.blocks.len() < count {
        let friction = if slippery { 0.0 } else { fixed.unwrap_or_else(|| random.between(0.0, 2.0)) };
        let a = random.below(bodies);
        let b = random.below(bodies + 1);
        let b = (b < bodies && b != a).then_some(b);
        let normal = unit(vector(&mut random));
        let (arm_a, arm_b) = (vector(&mut random), vector(&mut random));
        sample.contact((a, arm_a), b.map(|b| (b, arm_b)), normal, friction);
        // A flat patch: more contacts of the same pair and normal in one plane, among them exact copies.
        if random.chance(0.3) {
            for _ in 0..1 + random.below(3) {
                let shift = if random.chance(0.2) {
                    [0.0; 3]
                } else {
                    let step = vector(&mut random);
                    let along = step[0] * normal[0] + step[1] * normal[1] + step[2] * normal[2];
                    [step[0] - along * normal[0], step[1] - along * normal[1], step[2] - along * normal[2]]
                };
                let moved = |arm: [f64; 3]| [arm[0] + shift[0], arm[1] + shift[1], arm[2] + shift[2]];
                if sample.blocks.len() < count {
                    sample.contact((a, moved(arm_a)), b.map(|b| (b, moved(arm_b))), normal, friction);
                }
            }
        }
    }
    for _ in 0..random.below(3) {
        let freedom = random.below(sample.freedoms);
        let mut row = vec![0.0; sample.freedoms];
        row[freedom] = if random.chance(0.5) { 1.0 } else { -1.0 };
        sample.rows.push(row);
        let block = if random.chance(0.5) {
            Block::Unilateral
        } else {
            let limit = random.between(0.0, 1.0) / sample.inv_mass[freedom];
            Block::Bounded { lower: -limit, upper: limit }
        };
        sample.blocks.push(block);
    }
    sample.finish()
}

/// A standing stack of unit boxes (side 1 m, 1 kg) one step of gravity into the fall, contacts from the ground up.
pub fn stack(tangents: usize, boxes: usize, friction: f64) -> Sample {
    let planar = tangents == 1;
    let inertia = 1.0 / 6.0;
    let mut inv_mass = vec![];
    let mut velocity = vec![];
    let fall = -9.81 * 0.005;
    for _ in 0..boxes {
        if planar {
            inv_mass.extend([1.0 / inertia, 1.0, 1.0]);
            velocity.extend([0.0, 0.0, fall]);
        } else {
            inv_mass.extend([1.0 / inertia, 1.0 / inertia, 1.0 / inertia, 1.0, 1.0, 1.0]);
            velocity.extend([0.0, 0.0, 0.0, 0.0, 0.0, fall]);
        }
    }
    let mut sample = Sample::new(tangents, inv_mass, velocity);
    for k in 0..boxes {
        let corners: &[[f64; 2]] = if planar { &[[-0.5, 0.0], [0.5, 0.0]] } else { &[[-0.5, -0.5], [0.5, -0.5], [-0.5, 0.5], [0.5, 0.5]] };
        for c in corners {
            let at = |height: f64| if planar { [c[0], height, 0.0] } else { [c[0], c[1], height] };
            let normal = if planar { [0.0, 1.0, 0.0] } else { [0.0, 0.0, 1.0] };
            let below = (k > 0).then(|| (k - 1, at(0.5)));
            sample.contact((k, at(-0.5)), below, normal, friction);
        }
    }
    sample.finish()
}

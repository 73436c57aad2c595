//! Problems and invariants shared by the tests.

use crate::impact::*;

/// Counter-based random numbers: equal seeds, equal problems.
pub(crate) struct Random(pub(crate) u64);

impl Random {
    pub(crate) fn bits(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }

    /// Uniform in [low, high).
    pub(crate) fn within(&mut self, low: f64, high: f64) -> f64 {
        low + (high - low) * (self.bits() >> 11) as f64 / (1u64 << 53) as f64
    }

    pub(crate) fn below(&mut self, n: usize) -> usize {
        (self.bits() % n as u64) as usize
    }

    pub(crate) fn unit<const D: usize>(&mut self) -> [f64; D] {
        loop {
            let x: [f64; D] = std::array::from_fn(|_| self.within(-1.0, 1.0));
            let length = x.iter().map(|a| a * a).sum::<f64>().sqrt();
            if (0.1..1.0).contains(&length) {
                return x.map(|a| a / length);
            }
        }
    }
}

/// A chain of balls on a line.
pub(crate) fn cradle(masses: &[f64]) -> (MassMatrix, SparseRows) {
    let n = masses.len();
    let mut normals = SparseRows::new(n);
    for i in 0..n - 1 {
        normals.push(&[i, i + 1], &[-1.0, 1.0]).unwrap();
    }
    (MassMatrix::diagonal(masses).unwrap(), normals)
}

pub(crate) fn largest(a: &[f64]) -> f64 {
    a.iter().fold(0.0f64, |s, x| s.max(x.abs()))
}

pub(crate) fn difference(a: &[f64], b: &[f64]) -> f64 {
    assert_eq!(a.len(), b.len());
    a.iter().zip(b).fold(0.0f64, |s, (x, y)| s.max((x - y).abs()))
}

/// M (v' - v) - Nᵀ λ - Dᵀ b, relative to the largest term.
pub(crate) fn momentum_gap(mass: &MassMatrix, normals: &SparseRows, before: &[f64], impact: &Impact, tangents: Option<&SparseRows>) -> f64 {
    let mut change: Vec<f64> = impact.velocity.iter().zip(before).map(|(a, b)| a - b).collect();
    let mut size = largest(before).max(largest(&impact.velocity));
    mass.momentum(&mut change);
    size *= mass.largest_entry();
    for (i, &l) in impact.impulses.iter().enumerate() {
        normals.add(i, -l, &mut change);
    }
    if let Some(tangents) = tangents {
        for (k, &b) in impact.friction_impulses.iter().enumerate() {
            tangents.add(k, -b, &mut change);
        }
    }
    largest(&change) / size.max(f64::MIN_POSITIVE)
}

/// A triangular rack of 15 balls struck by a cue ball on its axis; also the mirror image of each ball.
pub(crate) fn pool_break() -> (MassMatrix, SparseRows, Vec<f64>, Vec<usize>) {
    let mut place = vec![[-1.0, 0.0]];
    let mut mirror = vec![0];
    for r in 0..5usize {
        let first = place.len();
        for k in 0..=r {
            place.push([r as f64 * 3f64.sqrt() / 2.0, k as f64 - r as f64 / 2.0]);
            mirror.push(first + r - k);
        }
    }
    let mut normals = SparseRows::new(32);
    for a in 0..place.len() {
        for b in a + 1..place.len() {
            let n = [place[b][0] - place[a][0], place[b][1] - place[a][1]];
            if n[0].hypot(n[1]) < 1.01 {
                normals.push(&[2 * a, 2 * a + 1, 2 * b, 2 * b + 1], &[-n[0], -n[1], n[0], n[1]]).unwrap();
            }
        }
    }
    let mut before = vec![0.0; 32];
    before[0] = 1.0;
    (MassMatrix::diagonal(&[0.17; 32]).unwrap(), normals, before, mirror)
}

/// A random impact: balls or rigid bodies, in the plane or in space, touching each other and the ground.
pub(crate) struct Scene {
    pub(crate) mass: MassMatrix,
    pub(crate) normals: SparseRows,
    pub(crate) tangents: SparseRows,
    pub(crate) velocity: Vec<f64>,
}

impl Scene {
    /// Rows are turned so that a hidden velocity opens all of them: without `planted` nothing is locked; with it, one to three opposed
    /// pairs (or rings of three) are.
    pub(crate) fn random(seed: u64, planted: bool) -> Self {
        let mut random = Random(seed.wrapping_mul(0x1234_5679) + 1);
        let space = random.below(2) == 0;
        let rigid = random.below(2) == 0;
        let dim = if space { 3 } else { 2 };
        let spins = match (rigid, space) {
            (false, _) => 0,
            (true, false) => 1,
            (true, true) => 3,
        };
        let size = dim + spins;
        let m = 10 + random.below(51);
        let bodies = 2 + m / (2 + random.below(3));
        let d = bodies * size;
        let mut blocks = Vec::new();
        for _ in 0..bodies {
            let mass = random.within(-1.5, 1.5).exp();
            let mut block = vec![0.0; size * size];
            (0..dim).for_each(|k| block[k * size + k] = mass);
            if spins == 1 {
                block[size * size - 1] = mass * random.within(0.1, 1.0);
            } else if spins == 3 {
                // Q diag Qᵀ by a sum of outer products.
                for _ in 0..4 {
                    let axis: [f64; 3] = random.unit();
                    let inertia = mass * random.within(0.05, 0.5);
                    for a in 0..3 {
                        for b in 0..3 {
                            block[(3 + a) * size + 3 + b] += inertia * axis[a] * axis[b];
                        }
                    }
                }
            }
            blocks.push(block);
        }
        let mass = MassMatrix::blocks(blocks.iter().map(|b| (b.as_slice(), size))).unwrap();
        let mut opening: Vec<f64> = (0..d).map(|_| random.within(-1.0, 1.0)).collect();
        let mut dense: Vec<(Vec<f64>, Vec<Vec<f64>>)> = Vec::new();
        for _ in 0..m {
            let a = random.below(bodies);
            let b = (a + 1 + random.below(bodies - 1)) % bodies;
            let ground = random.below(5) == 0;
            let n: [f64; 3] = if space {
                random.unit()
            } else {
                let u: [f64; 2] = random.unit();
                [u[0], u[1], 0.0]
            };
            let arms: [[f64; 3]; 2] = std::array::from_fn(|_| {
                let u: [f64; 3] = random.unit();
                if space { u } else { [u[0], u[1], 0.0] }
            });
            let along = |direction: [f64; 3]| {
                let mut row = vec![0.0; d];
                for (body, arm, sign) in [(a, arms[0], 1.0), (b, arms[1], -1.0)] {
                    if ground && sign < 0.0 {
                        continue;
                    }
                    (0..dim).for_each(|k| row[body * size + k] = sign * direction[k]);
                    let torque = cross(arm, direction);
                    match spins {
                        1 => row[body * size + 2] = sign * torque[2],
                        3 => (0..3).for_each(|k| row[body * size + 3 + k] = sign * torque[k]),
                        _ => {}
                    }
                }
                row
            };
            let t = if space {
                let helper = if n[0].abs() < 0.5 { [1.0, 0.0, 0.0] } else { [0.0, 1.0, 0.0] };
                let t1 = unit(cross(n, helper));
                vec![along(t1), along(cross(n, t1))]
            } else {
                vec![along([-n[1], n[0], 0.0])]
            };
            dense.push((along(n), t));
        }
        if planted {
            // Opposed pairs: the copy points the other way and is scaled; the hidden velocity must not move along them.
            let pairs = 1 + random.below(3);
            for k in 0..pairs {
                let factor = -random.within(0.5, 2.0);
                let mut copy = dense[k].clone();
                copy.0.iter_mut().for_each(|x| *x *= factor);
                let at = dense.len() - 1 - k;
                dense[at] = copy;
            }
            for _ in 0..2000 {
                for k in 0..pairs {
                    let row = &dense[k].0;
                    let step = dot(row, &opening) / dot(row, row);
                    opening.iter_mut().zip(row).for_each(|(o, r)| *o -= step * r);
                }
            }
        }
        let mut normals = SparseRows::new(d);
        let mut tangents = SparseRows::new(d);
        for (row, along) in &mut dense {
            let opens = dot(row, &opening);
            if opens < 0.0 && opens.abs() > 1e-9 {
                row.iter_mut().for_each(|x| *x = -*x);
            }
            normals.push_dense(row);
            along.iter().for_each(|t| tangents.push_dense(t));
        }
        let spread = if random.below(3) == 0 { 1 } else { bodies };
        let velocity = (0..d).map(|i| if i / size < spread { random.within(-1.0, 1.0) } else { 0.0 }).collect();
        Self { mass, normals, tangents, velocity }
    }

    /// Largest closing speed, relative to the speed.
    pub(crate) fn closing(&self, velocity: &[f64]) -> f64 {
        let white = self.normals.whitened(&self.mass);
        let speed = (2.0 * self.mass.energy(&self.velocity)).sqrt();
        (0..self.normals.len()).fold(0.0f64, |s, i| {
            let length = white.row(i).1.iter().map(|a| a * a).sum::<f64>().sqrt();
            s.max(-self.normals.dot(i, velocity) / (length * speed))
        })
    }
}

pub(crate) fn dot(a: &[f64], b: &[f64]) -> f64 {
    a.iter().zip(b).map(|(x, y)| x * y).sum()
}

fn cross(a: [f64; 3], b: [f64; 3]) -> [f64; 3] {
    [a[1] * b[2] - a[2] * b[1], a[2] * b[0] - a[0] * b[2], a[0] * b[1] - a[1] * b[0]]
}

fn unit(a: [f64; 3]) -> [f64; 3] {
    let length = dot(&a, &a).sqrt();
    a.map(|x| x / length)
}

/// A wall of bricks (rigid, in the plane) in running bond on the ground, `courses` high: every brick rests on two, by two contacts each.
pub(crate) fn brick_wall(courses: usize, length: usize) -> (MassMatrix, SparseRows) {
    let (half_width, half_height) = (1.0, 0.3);
    let bodies = courses * length;
    let d = 3 * bodies;
    let mut normals = SparseRows::new(d);
    let place = |r: usize, c: usize| [2.0 * c as f64 + if r.is_multiple_of(2) { 0.0 } else { 1.0 }, (2 * r + 1) as f64 * half_height];
    for r in 0..courses {
        for c in 0..length {
            let a = r * length + c;
            let here = place(r, c);
            if r == 0 {
                for arm in [-half_width, half_width] {
                    normals.push(&[3 * a + 1, 3 * a + 2], &[1.0, arm]).unwrap();
                }
                continue;
            }
            for below in 0..length {
                let b = (r - 1) * length + below;
                let there = place(r - 1, below);
                let (left, right) = ((here[0] - half_width).max(there[0] - half_width), (here[0] + half_width).min(there[0] + half_width));
                if right - left > 0.1 {
                    for x in [left, right] {
                        let columns = [3 * b + 1, 3 * b + 2, 3 * a + 1, 3 * a + 2];
                        normals.push(&columns, &[-1.0, -(x - there[0]), 1.0, x - here[0]]).unwrap();
                    }
                }
            }
        }
    }
    let inertia = (half_width * half_width + half_height * half_height) / 3.0;
    let masses: Vec<f64> = (0..bodies).flat_map(|_| [1.0, 1.0, inertia]).collect();
    (MassMatrix::diagonal(&masses).unwrap(), normals)
}

/// A pile of discs in a triangular lattice on the ground with masses that vary, `courses` high.
pub(crate) fn disc_pile(courses: usize, length: usize) -> (MassMatrix, SparseRows) {
    let mut random = Random(9);
    let d = 2 * courses * length;
    let mut normals = SparseRows::new(d);
    let half = 3f64.sqrt() / 2.0;
    for r in 0..courses {
        for c in 0..length {
            let a = r * length + c;
            if c + 1 < length {
                normals.push(&[2 * a, 2 * a + 2], &[-1.0, 1.0]).unwrap();
            }
            if r == 0 {
                normals.push(&[2 * a + 1], &[1.0]).unwrap();
                continue;
            }
            let left = if r % 2 == 0 { c as isize - 1 } else { c as isize };
            for (below, x) in [(left, 0.5), (left + 1, -0.5)] {
                if (0..length as isize).contains(&below) {
                    let b = (r - 1) * length + below as usize;
                    normals.push(&[2 * b, 2 * b + 1, 2 * a, 2 * a + 1], &[-x, -half, x, half]).unwrap();
                }
            }
        }
    }
    let mut masses = Vec::new();
    for _ in 0..courses * length {
        let mass = random.within(0.5, 2.0);
        masses.extend([mass, mass]);
    }
    (MassMatrix::diagonal(&masses).unwrap(), normals)
}

/// Balls of unit diameter in a close packing on the ground, `side` each way, three of five neighbours touching, with masses that vary: normals and two
/// tangents a contact.
pub(crate) fn ball_packing(side: usize) -> (MassMatrix, SparseRows, SparseRows) {
    let mut random = Random(5);
    let d = 6 * side * side * side;
    let (mut normals, mut tangents) = (SparseRows::new(d), SparseRows::new(d));
    let number = |[x, y, z]: [usize; 3]| (z * side + y) * side + x;
    let steps = [[1.0, 0.0, 0.0], [0.5, 0.75f64.sqrt(), 0.0], [0.5, (1.0f64 / 12.0).sqrt(), (2.0f64 / 3.0).sqrt()]];
    // Neighbours come by one step, or by one step less another.
    let neighbours: [[isize; 3]; 6] = [[1, 0, 0], [0, 1, 0], [0, 0, 1], [-1, 1, 0], [-1, 0, 1], [0, -1, 1]];
    // A row along a direction at the contact of a ball with the one below it, or with the ground; the normal points from there.
    let row = |rows: &mut SparseRows, normal: [f64; 3], direction: [f64; 3], below: Option<usize>, above: usize| {
        let torque = cross(normal.map(|n| 0.5 * n), direction);
        let (mut columns, mut values) = (Vec::new(), Vec::new());
        let mut sides: Vec<(usize, f64, f64)> = below.map(|b| (b, -1.0, 1.0)).into_iter().chain([(above, 1.0, -1.0)]).collect();
        sides.sort_by_key(|side| side.0);
        for (body, sign, reach) in sides {
            for (k, value) in direction.iter().chain(&torque.map(|t| t * reach)).enumerate() {
                if *value != 0.0 {
                    columns.push(6 * body + k);
                    values.push(sign * value);
                }
            }
        }
        rows.push(&columns, &values).unwrap();
    };
    let mut touch = |normal: [f64; 3], below: Option<usize>, above: usize| {
        let helper = if normal[0].abs() < 0.7 { [1.0, 0.0, 0.0] } else { [0.0, 1.0, 0.0] };
        let first = unit(cross(normal, helper));
        row(&mut normals, normal, normal, below, above);
        row(&mut tangents, normal, first, below, above);
        row(&mut tangents, normal, cross(normal, first), below, above);
    };
    for z in 0..side {
        for y in 0..side {
            for x in 0..side {
                if z == 0 {
                    touch([0.0, 0.0, 1.0], None, number([x, y, z]));
                }
                for step in neighbours {
                    let there = [x as isize + step[0], y as isize + step[1], z as isize + step[2]];
                    let inside = there.iter().all(|&k| (0..side as isize).contains(&k));
                    if !inside || random.within(0.0, 1.0) > 0.6 {
                        continue;
                    }
                    let normal: [f64; 3] = std::array::from_fn(|c| (0..3).map(|k| step[k] as f64 * steps[k][c]).sum());
                    touch(unit(normal), Some(number([x, y, z])), number(there.map(|k| k as usize)));
                }
            }
        }
    }
    let mut masses = Vec::new();
    for _ in 0..side * side * side {
        let mass = random.within(0.5, 2.0);
        masses.extend([mass, mass, mass, 0.1 * mass, 0.1 * mass, 0.1 * mass]);
    }
    (MassMatrix::diagonal(&masses).unwrap(), normals, tangents)
}

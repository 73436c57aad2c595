//! The adjoint of section B.2 as printed, corrected, and against differences of the solved problem.

use crate::random::Random;
use crate::report::digits;
use crate::{Chart, Failure, Report, Scale, Style};
use carom::kernels::dynamics::{DynamicsInput, DynamicsOutput, Mass, backward, dynamics};
use carom::solve::status::Status;
use nalgebra::{DMatrix, DVector};

/// Freedoms, joint rows, contacts of a scene: two bodies.
const D: usize = 6;
const E: usize = 2;
const M: usize = 2;
/// Complementary pairs: a, σ (two directions each), ζ.
const P: usize = 4 * M;

#[derive(Clone)]
struct Scene {
    mass: Vec<f64>,
    velocity: Vec<f64>,
    force: Vec<f64>,
    joints: Vec<f64>,
    contacts: Vec<f64>,
    tangents: Vec<f64>,
    friction: Vec<f64>,
    bias: Vec<f64>,
}

const STEP: f64 = 0.01;

impl Scene {
    fn random(random: &mut Random) -> Self {
        let mut row = |n: usize| (0..n).map(|_| random.between(-1.0, 1.0)).collect::<Vec<f64>>();
        let (joints, contacts, velocity) = (row(E * D), row(M * D), row(D));
        let tangents: Vec<f64> = (0..M)
            .flat_map(|_| {
                let d = row(D);
                let minus: Vec<f64> = d.iter().map(|x| -x).collect();
                [d, minus].concat()
            })
            .collect();
        Scene {
            mass: (0..D).map(|_| random.between(0.5, 2.0)).collect(),
            velocity: velocity.iter().map(|v| 2.0 * v).collect(),
            force: (0..D).map(|_| random.between(-5.0, 5.0)).collect(),
            joints,
            contacts,
            tangents,
            friction: vec![0.15, 0.2],
            bias: (0..M).map(|_| random.between(-0.3, 0.0)).collect(),
        }
    }

    fn input(&self) -> DynamicsInput<'_> {
        DynamicsInput {
            mass: Mass::Diagonal(&self.mass),
            velocity: &self.velocity,
            force: &self.force,
            step: STEP,
            joints: &self.joints,
            contacts: &self.contacts,
            tangents: &self.tangents,
            friction: &self.friction,
            restitution: &[],
            bias: &self.bias,
            tolerance: 1e-13,
        }
    }

    fn solve(&self) -> Result<DynamicsOutput, Failure> {
        Ok(dynamics(&self.input())?)
    }
}

/// Which formulas are used.
#[derive(Clone, Copy, PartialEq)]
enum Variant {
    /// Eqs. 29 and 32 as printed.
    Printed,
    /// Eq. 29 corrected, ∂ℓ/∂G as printed.
    Matrix,
    /// Both corrected.
    Corrected,
    /// Both corrected, but F is not transposed, as where the factor of the forward pass is used again.
    Forward,
    /// Both corrected, but without Aᵀ in the first row, as the scan has it.
    Scanned,
}

/// What eq. 29 solves for, and what it holds.
struct Adjoint {
    dx: DVector<f64>,
    dz: DVector<f64>,
    dy: DVector<f64>,
    x: DVector<f64>,
    z: DVector<f64>,
}

/// The vector of eq. 29.
fn solved(scene: &Scene, out: &DynamicsOutput, g: &[f64], variant: Variant) -> Option<Adjoint> {
    let x = DVector::from_row_slice(&out.velocity);
    let mut z = DVector::zeros(P);
    for i in 0..M {
        z[i] = out.contact_impulse[i];
        z[M + 2 * i] = out.friction_impulse[2 * i];
        z[M + 2 * i + 1] = out.friction_impulse[2 * i + 1];
        z[3 * M + i] = out.slip[i];
    }
    let mut gm = DMatrix::zeros(P, D);
    let mut f = DMatrix::zeros(P, P);
    let mut m = DVector::zeros(P);
    for i in 0..M {
        m[i] = scene.bias[i];
        for j in 0..D {
            gm[(i, j)] = -scene.contacts[i * D + j];
            gm[(M + 2 * i, j)] = -scene.tangents[2 * i * D + j];
            gm[(M + 2 * i + 1, j)] = -scene.tangents[(2 * i + 1) * D + j];
        }
        f[(M + 2 * i, 3 * M + i)] = -1.0;
        f[(M + 2 * i + 1, 3 * M + i)] = -1.0;
        f[(3 * M + i, i)] = -scene.friction[i];
        f[(3 * M + i, M + 2 * i)] = 1.0;
        f[(3 * M + i, M + 2 * i + 1)] = 1.0;
    }
    let a = DMatrix::from_row_slice(E, D, &scene.joints);
    let mass = DMatrix::from_diagonal(&DVector::from_row_slice(&scene.mass));
    let slack = &gm * &x + &f * &z - m;
    let dz = DMatrix::from_diagonal(&z);
    let mut k = DMatrix::zeros(D + P + E, D + P + E);
    k.view_mut((0, 0), (D, D)).copy_from(&mass);
    k.view_mut((0, D), (D, P)).copy_from(&gm.transpose());
    if variant != Variant::Scanned {
        k.view_mut((0, D + P), (D, E)).copy_from(&a.transpose());
    }
    k.view_mut((D, 0), (P, D)).copy_from(&(&dz * &gm));
    let middle = DMatrix::from_diagonal(&slack)
        + match variant {
            Variant::Printed => f.clone(),
            Variant::Forward => (&dz * &f).transpose(),
            Variant::Matrix | Variant::Corrected | Variant::Scanned => &dz * &f,
        };
    k.view_mut((D, D), (P, P)).copy_from(&middle);
    k.view_mut((D + P, 0), (E, D)).copy_from(&a);
    let mut right = DVector::zeros(D + P + E);
    right.rows_mut(0, D).copy_from_slice(g);
    // What lost a block is singular: its least-squares answer stands for it.
    let d = match variant {
        Variant::Scanned => k.transpose().svd(true, true).solve(&right, 1e-12).ok()?,
        _ => k.transpose().lu().solve(&right)?,
    };
    let part = |from: usize, count: usize| d.rows(from, count).into_owned();
    Some(Adjoint { dx: part(0, D), dz: part(D, P), dy: part(D + P, E), x, z })
}

/// Slopes of g·x by force, friction, bias, the contact rows and the mass, from eqs. 29 and 32.
fn adjoint(scene: &Scene, out: &DynamicsOutput, g: &[f64], variant: Variant) -> Option<[Vec<f64>; 5]> {
    let Adjoint { dx, dz: dzz, x, z, .. } = solved(scene, out, g, variant)?;
    let scaled = z.component_mul(&dzz);
    let force: Vec<f64> = dx.iter().map(|v| STEP * v).collect();
    let bias: Vec<f64> = (0..M).map(|i| scaled[i]).collect();
    // F holds −μ_i at (ζ_i, λ_ci): ∂ℓ/∂μ = −∂ℓ/∂F.
    let friction: Vec<f64> = (0..M).map(|i| scaled[3 * M + i] * z[i]).collect();
    let by_g = if matches!(variant, Variant::Corrected | Variant::Forward | Variant::Scanned) {
        -(&scaled * x.transpose() + &z * dx.transpose())
    } else {
        -(DMatrix::from_diagonal(&z) * (&dzz * x.transpose() + &z * dx.transpose()))
    };
    let contacts: Vec<f64> = (0..M).flat_map(|i| (0..D).map(move |j| (i, j))).map(|(i, j)| -by_g[(i, j)]).collect();
    // M also stands in q = −(M v + h f).
    let by_mass: Vec<f64> = (0..D).map(|j| -dx[j] * x[j] + dx[j] * scene.velocity[j]).collect();
    Some([force, friction, bias, contacts, by_mass])
}

/// The velocity of two sliding contacts with M and the right side b of the joints (A x = b) free to be anything: linear, for who slides where is known.
fn sliding(scene: &Scene, out: &DynamicsOutput, mass: &DMatrix<f64>, b: &[f64]) -> Option<DVector<f64>> {
    const N: usize = D + E + M;
    let mut k = DMatrix::zeros(N, N);
    let mut right = DVector::zeros(N);
    k.view_mut((0, 0), (D, D)).copy_from(mass);
    for j in 0..D {
        right[j] = scene.mass[j] * scene.velocity[j] + STEP * scene.force[j];
    }
    for e in 0..E {
        for j in 0..D {
            k[(D + e, j)] = scene.joints[e * D + j];
            k[(j, D + e)] = scene.joints[e * D + j];
        }
        right[D + e] = b[e];
    }
    for i in 0..M {
        let against = 2 * i + usize::from(out.friction_impulse[2 * i + 1] > out.friction_impulse[2 * i]);
        for j in 0..D {
            k[(D + E + i, j)] = scene.contacts[i * D + j];
            k[(j, D + E + i)] = -scene.contacts[i * D + j] - scene.friction[i] * scene.tangents[against * D + j];
        }
        right[D + E + i] = -scene.bias[i];
    }
    Some(k.lu().solve(&right)?.rows(0, D).into_owned())
}

/// A change of M and of b by a number.
type Change<'a> = &'a dyn Fn(f64, &mut DMatrix<f64>, &mut [f64; E]);

/// How far the slopes of g·x by M and by b are off differences: as printed by a symmetric change of M, as printed by one entry of M, by one entry with
/// −d_x xᵀ, and d_y by b.
fn free_slopes(scene: &Scene, out: &DynamicsOutput, g: &[f64]) -> Option<[f64; 4]> {
    const H: f64 = 1e-5;
    let Adjoint { dx, dy, x, .. } = solved(scene, out, g, Variant::Corrected)?;
    let g = DVector::from_row_slice(g);
    let mass = DMatrix::from_diagonal(&DVector::from_row_slice(&scene.mass));
    let slope = |change: Change<'_>| {
        let at = |h: f64| {
            let (mut m, mut b) = (mass.clone(), [0.0; E]);
            change(h, &mut m, &mut b);
            Some(g.dot(&sliding(scene, out, &m, &b)?))
        };
        Some((at(H)? - at(-H)?) / (2.0 * H))
    };
    let mut worst = [0.0f64; 4];
    let mut note = |which: usize, found: f64, wanted: f64| worst[which] = worst[which].max((found - wanted).abs() / (1.0 + wanted.abs()));
    for i in 0..D {
        for j in 0..i {
            let printed = -0.5 * (dx[i] * x[j] + x[i] * dx[j]);
            let both = slope(&|h, m, _| (m[(i, j)] += h, m[(j, i)] += h).0)?;
            let one = slope(&|h, m, _| m[(i, j)] += h)?;
            note(0, 2.0 * printed, both);
            note(1, printed, one);
            note(2, -dx[i] * x[j], one);
        }
    }
    for e in 0..E {
        note(3, dy[e], slope(&|h, _, b| b[e] += h)?);
    }
    Some(worst)
}

pub fn section_b2(report: &mut Report) -> Result<(), Failure> {
    const NAMES: [&str; 5] = ["f", "μ", "c", "J", "M"];
    let mut random = Random::new(22);
    let mut worst = [[0.0f64; 5]; 6];
    let mut free = [0.0f64; 4];
    let mut scenes = 0;
    for _ in 0..4000 {
        if scenes == 30 {
            break;
        }
        let scene = Scene::random(&mut random);
        let out = scene.solve()?;
        let slides = (0..M).all(|i| out.contact_impulse[i] > 0.05 && out.slip[i] > 0.05);
        if out.status != Status::Solved || !slides {
            continue;
        }
        let g: Vec<f64> = (0..D).map(|_| random.between(-1.0, 1.0)).collect();
        let variants = [Variant::Printed, Variant::Matrix, Variant::Corrected, Variant::Forward, Variant::Scanned]
            .map(|v| adjoint(&scene, &out, &g, v));
        let [Some(printed), Some(matrix), Some(corrected), Some(forward), Some(scanned)] = variants else { continue };
        let Some(found) = free_slopes(&scene, &out, &g) else { continue };
        free.iter_mut().zip(found).for_each(|(worst, one)| *worst = worst.max(one));
        let kernel = backward(&scene.input(), &out, &g)?;
        let engine = [
            kernel.force,
            kernel.friction,
            kernel.bias,
            kernel.contacts,
            match kernel.mass {
                carom::kernels::dynamics::MassChange::Diagonal(m) => m,
                _ => return Err("a diagonal mass has a diagonal slope".into()),
            },
        ];
        scenes += 1;
        let value = |scene: &Scene| -> Result<f64, Failure> { Ok(scene.solve()?.velocity.iter().zip(&g).map(|(a, b)| a * b).sum()) };
        for (what, length) in [(0, D), (1, M), (2, M), (3, M * D), (4, D)] {
            for j in 0..length {
                let h = 1e-5;
                let at = |change: f64| {
                    let mut moved = scene.clone();
                    let field = match what {
                        0 => &mut moved.force,
                        1 => &mut moved.friction,
                        2 => &mut moved.bias,
                        3 => &mut moved.contacts,
                        _ => &mut moved.mass,
                    };
                    field[j] += change;
                    value(&moved)
                };
                let wanted = (at(h)? - at(-h)?) / (2.0 * h);
                for (k, found) in [&printed, &matrix, &corrected, &engine, &forward, &scanned].into_iter().enumerate() {
                    worst[k][what] = worst[k][what].max((found[what][j] - wanted).abs() / (1.0 + wanted.abs()));
                }
            }
        }
    }
    let row = |k: usize| (0..5).map(|i| format!("{} {}", NAMES[i], digits(worst[k][i], 2))).collect::<Vec<_>>().join(", ");
    let largest = |k: usize| worst[k].iter().copied().fold(0.0, f64::max);
    report.differs(
        "eq. 29 and the matrix before it: the middle block",
        "D(Gx + Fz − m) + F",
        format!("largest error over {scenes} sliding scenes: {}", row(0)),
        "the middle block of eq. 29 is D(Gx + Fz − m) + D(z)F",
        0,
        scenes == 30 && largest(0) > 0.05,
    );
    report.differs(
        "eq. 32: ∂ℓ/∂G, with eq. 29 corrected",
        "−D(z)(d_z x' + z d_x')",
        format!(
            "J {}; ∂ℓ/∂q, ∂ℓ/∂m, ∂ℓ/∂F and ∂ℓ/∂M are right to 1e-6: {}",
            digits(worst[1][3], 2),
            [0, 1, 2, 4].iter().all(|i| worst[1][*i] < 1e-6)
        ),
        "eq. 32 must read ∂ℓ/∂G = −(D(z) d_z xᵀ + z d_xᵀ)",
        0,
        worst[1][3] > 0.05,
    );
    report.words("both corrected", "", format!("all below 1e-6: {}", largest(2) < 1e-6), largest(2) < 1e-6);
    report.words("the engine's adjoint of the same problem", "", format!("all below 1e-6: {}", largest(3) < 1e-6), largest(3) < 1e-6);
    report.words(
        "both corrected, with the factor of the forward pass",
        "not in the text; F is not symmetric, the adjoint needs F'",
        format!("largest error: {}", row(4)),
        largest(4) > 0.05,
    );
    report.differs(
        "eqs. 28 and 29, first row",
        "without Aᵀ",
        format!("largest error without it: {}; the same for eq. 25: four blocks on the left, three on the right", row(5)),
        "Aᵀ fell out of the first row of eqs. 28 and 29",
        0,
        largest(5) > 0.05,
    );
    report.words(
        "eq. 32: ∂ℓ/∂M = −(d_x x' + x d_x')/2",
        "M as a symmetric matrix",
        format!(
            "by symmetric changes of M right to 1e-6: {}; by one entry alone off by {}, where −d_x x' is right to 1e-6: {}",
            free[0] < 1e-6,
            digits(free[1], 2),
            free[2] < 1e-6
        ),
        free[0] < 1e-6 && free[1] > 0.01 && free[2] < 1e-6,
    );
    report.words(
        "eq. 32 has no ∂ℓ/∂b for joints A x = b",
        "b is 0 there",
        format!("d_y, right to 1e-6: {}; eq. 31 writes the row −d_x' as a column", free[3] < 1e-6),
        free[3] < 1e-6,
    );
    // The text assumes that the matrix can be inverted: a block that sticks has both directions active.
    let stuck = Scene {
        mass: vec![1.0, 2.0, 2.0, 1.0, 2.0, 2.0],
        velocity: vec![0.0; D],
        force: vec![0.0, 1.0, -20.0, 0.0, -1.5, -20.0],
        joints: [vec![1.0, 0.0, 0.0, 0.0, 0.0, 0.0], vec![0.0, 0.0, 0.0, 1.0, 0.0, 0.0]].concat(),
        contacts: [vec![0.0, 0.0, 1.0, 0.0, 0.0, 0.0], vec![0.0, 0.0, 0.0, 0.0, 0.0, 1.0]].concat(),
        tangents: [
            [0.0, 1.0, 0.0, 0.0, 0.0, 0.0],
            [0.0, -1.0, 0.0, 0.0, 0.0, 0.0],
            [0.0, 0.0, 0.0, 0.0, 1.0, 0.0],
            [0.0, 0.0, 0.0, 0.0, -1.0, 0.0],
        ]
        .concat(),
        friction: vec![0.5, 0.5],
        bias: vec![0.0; M],
    };
    let out = stuck.solve()?;
    let slope = backward(&stuck.input(), &out, &[1.0, 2.0, 3.0, -1.0, 0.5, 2.0])?;
    let held = slope.force.iter().fold(0.0f64, |m, x| m.max(x.abs()));
    report.words(
        "the matrix of eq. 29 can be inverted",
        "assumed",
        format!("two blocks that stick have both directions active; the engine's slopes by the force are 0: {}", held < 1e-9),
        held < 1e-9,
    );
    let series = |k: usize| (0..5).map(|i| (i as f64 + 1.0, worst[k][i].max(1e-16))).collect();
    report.chart = Chart::new(
        "Error of the derivatives by f, μ, c, J, M against differences",
        "1: f, 2: μ, 3: c, 4: J, 5: M",
        "largest error / (1 + |slope|)",
    )
    .scales(Scale::Linear, Scale::Log)
    .with("as printed", Style::Both, series(0))
    .with("eq. 29 corrected", Style::Both, series(1))
    .with("both corrected", Style::Both, series(2))
    .with("engine", Style::Both, series(3))
    .with("forward factor", Style::Both, series(4));
    Ok(())
}

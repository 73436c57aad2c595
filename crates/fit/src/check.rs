//! Data that cannot be, or can hardly be: said with the column and the row.

use crate::complaint::{Complaint, bad};
use crate::motion::{Moment, Sample, Table, part};
use crate::variable::Start;
use carom_dynamics::State;
use carom_geometry::Geometry;
use carom_math::Vector;

/// Lengths of a quaternion that differ from one by more are no rotation.
const UNIT: f64 = 1e-2;
/// A reading of the data that fits so many times better than the one given is reported.
const BETTER: f64 = 5.0;
/// Rows that are looked at for that, at most.
const ROWS: usize = 200;
/// A start so many times the size of the scene away from it is reported.
const FAR: f64 = 3.0;
/// Units that are mixed up, by what one of them is in the right one.
const UNITS: [(f64, &str); 6] = [
    (1e3, "thousandths (millimetres?)"),
    (1e2, "hundredths (centimetres?)"),
    (1e-3, "thousands (kilometres?), or the clock in thousandths of a second"),
    (180.0 / std::f64::consts::PI, "degrees"),
    (std::f64::consts::PI / 180.0, "radians where degrees were taken"),
    (-1.0, "the other sign"),
];
/// A ratio that close to one of them is that.
const NEAR: f64 = 0.1;

/// What a column is of that changes so many times as fast as its rate says: units that are mixed up, in words.
#[must_use]
pub fn mixed_up(ratio: f64) -> Option<&'static str> {
    UNITS.iter().find(|(unit, _)| (ratio / unit - 1.0).abs() < NEAR).map(|(_, words)| *words)
}

/// Names of the columns of a pose, and of a velocity.
pub fn columns<G: Geometry>() -> (&'static [&'static str], &'static [&'static str]) {
    if G::DIM == 2 {
        (&["x", "y", "angle"], &["vx", "vy", "spin"])
    } else {
        (&["x", "y", "z", "qw", "qx", "qy", "qz"], &["vx", "vy", "vz", "wx", "wy", "wz"])
    }
}

/// Arrays whose lengths do not fit.
pub fn shapes<G: Geometry>(table: &Table) -> Result<(), Complaint> {
    let (rows, bodies, joints) = (table.time.len(), table.bodies.len(), table.joints.len());
    if rows == 0 {
        return Err(bad(format!("{}: has no rows", table.name), "give at least one time"));
    }
    let arrays = [
        ("q", &table.q, bodies * G::COORDS),
        ("v", &table.v, bodies * G::DOF),
        ("joint_q", &table.joint_q, joints),
        ("joint_v", &table.joint_v, joints),
    ];
    for (name, values, width) in arrays {
        if !values.is_empty() && values.len() != rows * width {
            let found = values.len();
            return Err(bad(
                format!("{}: {name} has {found} numbers, needs {} ({rows} rows of {width})", table.name, rows * width),
                "one row per time",
            ));
        }
    }
    Ok(())
}

/// Numbers that cannot be are an error, those that can hardly be a warning.
pub fn numbers<G: Geometry>(table: &Table, bodies: &[usize]) -> Result<Vec<String>, Complaint> {
    let name = &table.name;
    for (row, time) in table.time.iter().enumerate() {
        if !time.is_finite() {
            return Err(bad(format!("{name}: time, row {row}: is not a finite number"), "times are in seconds"));
        }
        if row > 0 && *time <= table.time[row - 1] {
            let last = table.time[row - 1];
            return Err(bad(format!("{name}: time, row {row}: {time} s comes after {last} s"), "rows must be in the order of time"));
        }
    }
    let (poses, rates) = columns::<G>();
    let arrays = [("q", &table.q, poses), ("v", &table.v, rates)];
    let mut warnings = Vec::new();
    for (array, values, names) in arrays {
        let width = names.len() * table.bodies.len().max(1);
        if let Some((at, value)) = values.iter().enumerate().find(|(_, x)| x.is_infinite()) {
            let (row, column) = (at / width, at % width);
            let (body, key) = (&table.bodies[column / names.len()], names[column % names.len()]);
            return Err(bad(format!("{name}: {array}, row {row}, column {body}.{key}: is {value}"), "leave holes empty or NaN"));
        }
        for column in 0..if values.is_empty() { 0 } else { width } {
            let all = values.iter().skip(column).step_by(width);
            let holes = all.clone().filter(|x| x.is_nan()).count();
            let (body, key) = (&table.bodies[column / names.len()], names[column % names.len()]);
            // Columns that are mostly empty are meant to be.
            if holes > 0 && 2 * holes < table.time.len() {
                let row = all.clone().position(|x| x.is_nan()).unwrap_or(0);
                warnings.push(format!("{name}: {array}, column {body}.{key}: {holes} holes, the first in row {row}"));
            }
        }
    }
    if G::DIM == 3 {
        for (at, q) in table.q.chunks_exact(G::COORDS).enumerate() {
            let length = q[G::DIM..].iter().map(|x| x * x).sum::<f64>().sqrt();
            if (length - 1.0).abs() > UNIT {
                let (row, body) = (at / bodies.len(), &table.bodies[at % bodies.len()]);
                let message = format!("{name}: q, row {row}, columns {body}.qw to {body}.qz: a quaternion of length {length:.4}");
                return Err(bad(message, "quaternions are w, x, y, z and of length one"));
            }
        }
    }
    for column in 0..bodies.len() {
        warnings.extend(rates_against_poses::<G>(table, column, bodies.len()));
    }
    Ok(warnings)
}

fn middle(mut values: Vec<f64>) -> f64 {
    values.sort_by(f64::total_cmp);
    values.get(values.len() / 2).copied().unwrap_or(f64::NAN)
}

/// Whether measured velocities are those of the measured poses, and what they would be of if not.
fn rates_against_poses<G: Geometry>(table: &Table, column: usize, bodies: usize) -> Vec<String> {
    let mut out = Vec::new();
    let (name, body) = (&table.name, &table.bodies[column]);
    let (_, keys) = columns::<G>();
    let row = |values: &'_ [f64], k: usize, width: usize| {
        part(values, k * bodies + column, width).filter(|x| x.iter().all(|x| x.is_finite())).map(<[f64]>::to_vec)
    };
    let mut seen = Vec::new();
    for k in 0..table.time.len().saturating_sub(1).min(ROWS) {
        let both = (row(&table.q, k, G::COORDS), row(&table.q, k + 1, G::COORDS), row(&table.v, k, G::DOF), row(&table.v, k + 1, G::DOF));
        if let (Some(a), Some(b), Some(va), Some(vb)) = both {
            seen.push((a, b, va.iter().zip(&vb).map(|(x, y)| (x + y) / 2.0).collect::<Vec<f64>>(), table.time[k + 1] - table.time[k]));
        }
    }
    if seen.len() < 3 {
        return out;
    }
    // Positions: the ratio of what they do to what the velocities say, where those say something.
    for k in 0..G::DIM {
        let fast = 0.1 * seen.iter().map(|s| s.2[k].abs()).fold(0.0, f64::max);
        let ratios: Vec<f64> = seen.iter().filter(|s| s.2[k].abs() > fast.max(1e-6)).map(|s| (s.1[k] - s.0[k]) / s.3 / s.2[k]).collect();
        let ratio = middle(ratios);
        if let Some(words) = mixed_up(ratio) {
            out.push(format!(
                "{name}: q, column {body}.{}: changes {ratio:.4} times as fast as column {} says: {words}",
                columns::<G>().0[k],
                keys[k]
            ));
        }
    }
    let turned = |order: &dyn Fn(&[f64]) -> Vec<f64>, local: bool, unit: f64| {
        let misses = seen.iter().filter_map(|(a, b, v, time)| {
            let (ra, rb) = (G::read_rotation(&order(&a[G::DIM..]))?, G::read_rotation(&order(&b[G::DIM..]))?);
            let rate = G::log(G::compose(rb, G::inverse(ra))) * (1.0 / time);
            let said = G::Ang::from_slice(&v[G::DIM..]) * unit;
            let said = if local { G::rotate_rate(ra, said) } else { said };
            Some((rate - said).norm())
        });
        middle(misses.collect())
    };
    let rates = middle(seen.iter().map(|s| s.2[G::DIM..].iter().map(|x| x * x).sum::<f64>().sqrt()).collect());
    let given = turned(&|q| q.to_vec(), false, 1.0);
    if !(given > 0.2 * rates && rates > 1e-3) {
        return out;
    }
    if G::DIM == 2 {
        let ratios: Vec<f64> = seen.iter().filter(|s| s.2[2].abs() > 1e-6).map(|s| (s.1[2] - s.0[2]) / s.3 / s.2[2]).collect();
        let ratio = middle(ratios);
        if let Some(words) = mixed_up(ratio) {
            out.push(format!("{name}: q, column {body}.angle: turns {ratio:.4} times as fast as column spin says: {words}"));
        }
        return out;
    }
    let one = |q: &[f64]| q.to_vec();
    let readings: [(&str, f64); 4] = [
        ("rates in the frame of the body: turn columns wx to wz into world axes", turned(&one, true, 1.0)),
        ("rates in degrees: columns wx to wz want rad/s", turned(&one, false, std::f64::consts::PI / 180.0)),
        ("quaternions in the order x, y, z, w: columns qw to qz want w first", turned(&|q| vec![q[3], q[0], q[1], q[2]], false, 1.0)),
        (
            "quaternions of the inverse rotation, or of the other sign of their x, y, z",
            turned(&|q| vec![q[0], -q[1], -q[2], -q[3]], false, 1.0),
        ),
    ];
    if let Some((words, miss)) = readings.iter().min_by(|a, b| a.1.total_cmp(&b.1))
        && miss * BETTER < given
    {
        out.push(format!("{name}: {body}, rows 0 to {}: rotations and rates do not belong together; these look like {words}", seen.len()));
    }
    out
}

/// A motion that begins far from where the scene does.
pub fn far_from_the_scene<G: Geometry>(moment: &Moment<G>, state: &State<G>, start: &Start<G>, name: &str) -> Option<String> {
    if moment.step > 0 {
        return None;
    }
    let model = start.world.model();
    let moving = |b: &usize| model.bodies[*b].kind == carom_dynamics::BodyKind::Dynamic;
    let reach = (0..model.bodies.len()).filter(moving).map(|b| state.poses[b].position.norm()).fold(0.1, f64::max);
    moment.samples.iter().find_map(|sample| match *sample {
        Sample::Position(body, k, value) if (state.poses[body].position[k] - value).abs() > FAR * reach => {
            let (column, there) = (columns::<G>().0[k], state.poses[body].position[k]);
            let who = &model.bodies[body].name;
            Some(format!(
                "{name}: q, row 0, column {who}.{column}: {value}, but the scene starts at {there}: another scene, or other units?"
            ))
        }
        _ => None,
    })
}

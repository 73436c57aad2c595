//! The laws of one contact, with and without joints.

use super::*;
use carom_math::bordered::{Form, InsertedFactor};
use carom_math::ldl::Order;
use nalgebra::{DMatrix, DVector};

fn trials(small: usize, large: usize) -> usize {
    if std::env::var("CAROM_FULL").is_ok_and(|value| value == "1") { large } else { small }
}

/// A deterministic stream of numbers in [-1, 1).
fn stream(seed: u64) -> impl FnMut() -> f64 {
    let mut state = seed.wrapping_mul(0x9E37_79B9_7F4A_7C15) | 1;
    move || {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        (state >> 11) as f64 / (1u64 << 52) as f64 - 1.0
    }
}

/// Rows of `joints` joints of 1-3 rows over a chain of bodies of `dof` velocities, and the inverse masses of these.
fn chain(joints: usize, dof: usize, next: &mut impl FnMut() -> f64) -> (DMatrix<f64>, DMatrix<f64>) {
    let total = dof * (joints + 1);
    let mut inv_mass = DMatrix::zeros(total, total);
    for b in 0..=joints {
        let root = DMatrix::from_fn(dof, dof, |_, _| next());
        inv_mass.view_mut((dof * b, dof * b), (dof, dof)).copy_from(&(&root * root.transpose() + DMatrix::identity(dof, dof) * 0.2));
    }
    let joint_of: Vec<usize> = (0..joints).flat_map(|i| vec![i; 1 + i % 3]).collect();
    let jacobian = DMatrix::from_fn(joint_of.len(), total, |r, c| {
        let value = next();
        if (joint_of[r]..joint_of[r] + 2).contains(&(c / dof)) { value } else { 0.0 }
    });
    (jacobian, inv_mass)
}

/// The laws of one contact, theory (12.20): the returned impulse obeys them, whatever road found it.
fn check_laws(k: &DMatrix<f64>, free: &[f64], target: f64, mu: f64) -> (ContactImpulse, f64) {
    let d = free.len();
    let unheld: Vec<f64> = k.diagonal().iter().copied().collect();
    let found = solve_contact(k.as_slice(), &unheld, free, target, mu).unwrap();
    let l = DVector::from_row_slice(&found.impulse[..d]);
    let after = DVector::from_row_slice(free) + k * &l;
    let speed = DVector::from_row_slice(free).amax().max(target.abs());
    let (ln, un) = (l[0], after[0] - target);
    let (lt, ut) = (l.rows(1, d - 1).norm(), after.rows(1, d - 1).norm());
    let mut error = (-un).max(0.0) / speed;
    assert!(ln >= 0.0 && lt <= mu * ln * (1.0 + 1e-11));
    if found.case != Case::Open {
        error = error.max(un.abs() / speed);
    }
    match found.case {
        Case::Open => assert_eq!(lt, 0.0),
        Case::Stick => error = error.max(ut / speed),
        Case::Slide => {
            error = error.max(if mu > 0.0 { (lt - mu * ln).abs() / (mu * ln) } else { lt });
            // Friction stands against the sliding.
            error = error.max(if lt > 0.0 { (after.rows(1, d - 1) + l.rows(1, d - 1) * (ut / lt)).norm() / speed } else { 0.0 });
        }
        Case::Locked => panic!("nothing is locked"),
    }
    assert!(found.residual <= (error + 1e-12) * speed * 2.0 + 1e-12 * speed);
    (found, error)
}

#[test]
fn every_contact_obeys_its_laws() {
    let mut next = stream(17);
    let mut seen = std::collections::BTreeMap::new();
    let mut worst = 0.0f64;
    for trial in 0..trials(20_000, 2_000_000) {
        let d = 1 + trial % 3;
        let root = DMatrix::from_fn(d, d, |_, _| next());
        // From well rounded to long and thin: strong coupling of normal and tangents makes friction jam.
        let k = &root * root.transpose() + DMatrix::identity(d, d) * 10f64.powf(2.0 * next() - 2.0);
        let free: Vec<f64> = (0..d).map(|i| if i == 0 { 0.4 * next() - 0.3 } else { next() }).collect();
        let mu = if trial % 7 == 0 { 0.0 } else { 2.0 * (next() + 1.0) };
        let (found, error) = check_laws(&k, &free, if trial % 2 == 0 { 0.0 } else { 0.3 * next() }, mu);
        *seen.entry(format!("{:?} {:?}{}", found.case, found.road, if found.jammed { " jammed" } else { "" })).or_insert(0) += 1;
        assert!(error < 1e-9, "{error:e}: {found:?}, K = {k}, free = {free:?}, mu = {mu}");
        assert!(d == 3 || !found.jammed, "in the plane a contact that would jam sticks");
        worst = worst.max(error);
    }
    println!("{seen:?}, worst error {worst:.1e}");
    for wanted in ["Open Direct", "Stick Direct", "Slide Direct", "Slide FixedPoint", "Slide Bracket", "Slide Bracket jammed"] {
        assert!(seen.contains_key(wanted), "{seen:?}");
    }
}

#[test]
fn jammed_and_locked_contacts_are_told_apart() {
    // A rod in the manner of Painlevé: mu K_nt > K_nn, so that the sliding column pushes the tip into the ground and is refused.
    let (k, mu) = ([1.0, 1.5, 1.5, 2.5], 0.8);
    let mut border = Border::new(Form::Ldl);
    let nothing = InsertedFactor::from_dense(0, &[], Order::Natural).unwrap();
    border.insert(nothing.factor(), &[], &[], &[], &[k[0] - mu * k[1]], 1).unwrap();
    assert_eq!(border.require_positive(), Err(BorderError::NegativeCorner { row: 0 }));
    // In the plane sticking is then always within the cone, theory (12.25).
    let found = solve_contact(&k, &[1.0, 2.5], &[-1.0, 1.2], 0.0, mu).unwrap();
    assert_eq!((found.case, found.road), (Case::Stick, Road::Direct));
    assert!(found.residual < 1e-12 && found.impulse[1].abs() <= mu * found.impulse[0]);
    // A normal that the joints lock is dropped, a tangent that they lock gets no friction.
    let locked = solve_contact(&[1e-12, 0.0, 0.0, 1.0], &[1.0, 1.0], &[-1.0, 0.5], 0.0, 0.5).unwrap();
    assert_eq!((locked.case, locked.impulse), (Case::Locked, [0.0; 3]));
    let held = solve_contact(&[1.0, 0.0, 0.0, 1e-14], &[1.0, 1.0], &[-1.0, 0.25], 0.0, 0.5).unwrap();
    assert_eq!((held.case, held.impulse, held.velocity), (Case::Stick, [1.0, 0.0, 0.0], [0.0, 0.25, 0.0]));
    assert_eq!(solve_contact(&[1.0], &[1.0], &[f64::NAN], 0.0, 0.5).err(), Some(BorderError::NotFinite));
    assert!(solve_contact(&[], &[], &[], 0.0, 0.5).is_err());
    assert!(solve_contact(&[1.0; 16], &[1.0; 4], &[1.0; 4], 0.0, 0.5).is_err());
}

#[test]
fn a_contact_solved_with_joints_leaves_both_satisfied_and_equals_the_unsymmetric_insertion() {
    let mut next = stream(33);
    let mut border = Border::new(Form::Ldl);
    let (mut slid, mut worst) = (0, 0.0f64);
    for trial in 0..trials(200, 5000) {
        let (joints, dof, d) = (2 + trial % 7, 6, 2 + trial % 2);
        let (jacobian, inv_mass) = chain(joints, dof, &mut next);
        let (total, n) = (dof * (joints + 1), jacobian.nrows());
        let body = trial % (joints + 1);
        let rows = DMatrix::from_fn(d, total, |_, c| if c / dof == body { next() } else { 0.0 });
        let dense = &jacobian * &inv_mass * jacobian.transpose();
        let dense = (&dense + dense.transpose()) * 0.5;
        let factor = InsertedFactor::from_dense(n, dense.as_slice(), Order::MinimumDegree).unwrap();
        let nodes: Vec<usize> = (0..n).collect();
        let packed = (&rows * &inv_mass * jacobian.transpose()).as_slice().to_vec();
        let corner = &rows * &inv_mass * rows.transpose();
        let unheld: Vec<f64> = corner.diagonal().iter().copied().collect();
        // Velocities that do not obey the joints yet.
        let v = DVector::from_fn(total, |_, _| next());
        let mut x1: Vec<f64> = (-&jacobian * &v).iter().copied().collect();
        let b1 = x1.clone();
        let velocity: Vec<f64> = (&rows * &v).iter().copied().collect();
        let mu = next() + 1.0;
        border.project(factor.factor(), &nodes, &packed, &packed, corner.as_slice(), d).unwrap();
        let found = solve_with_joints(factor.factor(), &border, &mut x1, &unheld, &velocity, 0.0, mu).unwrap();
        let impulse = DVector::from_row_slice(&found.impulse[..d]);
        let after = &v + &inv_mass * (jacobian.transpose() * DVector::from_row_slice(&x1) + rows.transpose() * &impulse);
        let scale = 1.0 + DVector::from_row_slice(&x1).amax() + impulse.amax();
        worst = worst.max((&jacobian * &after).amax() / scale);
        for (i, value) in (&rows * &after).iter().enumerate() {
            worst = worst.max((value - found.velocity[i]).abs() / scale);
        }
        if found.case == Case::Slide {
            // The other road: one row, the normal, and one column, tilted by friction, inserted as they are.
            slid += 1;
            let tilt = &impulse / impulse[0];
            let column = &jacobian * &inv_mass * rows.transpose() * &tilt;
            let row = &jacobian * &inv_mass * rows.row(0).transpose();
            let tilted = (corner.row(0) * &tilt)[0];
            let system = factor.insert(column.as_slice(), row.as_slice(), &[tilted], Form::Cholesky).unwrap();
            let other = system.solve(&b1, &[-velocity[0]]).unwrap();
            worst = worst.max((other.x2[0] - impulse[0]).abs() / scale);
            worst = worst.max((DVector::from_vec(other.x1) - DVector::from_row_slice(&x1)).amax() / scale);
        }
    }
    println!("{slid} slid, worst {worst:.1e}");
    assert!(slid > 20);
    assert!(worst < 1e-11, "{worst:e}");
}

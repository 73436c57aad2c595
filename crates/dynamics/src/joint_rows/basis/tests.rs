//! Rows along the motions of a tree against what every answer must obey, and against the road through the factor of the joints.

use crate::assembly::Assembly;
use crate::constraints::Row;
use crate::coordinates::tests::{Dice, kinds, mechanism, trees};
use crate::island::parts::{Members, System};
use crate::island::{Island, LocalBody};
use crate::line::Line;
use crate::reduced::reduce;
use crate::world::World;
use carom_geometry::Geometry;
use carom_math::{Planar, Spatial, Twist, Vector, Wrench};

/// Rows between bodies picked anyhow.
const ROWS: usize = 9;

/// Relative.
const CLOSE: f64 = 1e-10;

/// A step of the same mechanism with rotors on every second joint that may have one, and rows in place of its own.
fn prepared<G: Geometry>(world: &World<G>) -> World<G> {
    let mut model = world.model().clone();
    model.joints.iter_mut().filter(|joint| joint.has_coordinate()).step_by(2).for_each(|joint| joint.armature = 0.4);
    let mut world = World::new(model, world.state().clone()).unwrap();
    world.step().unwrap();
    let Island { members: Members { bodies, .. }, system: System { assembly, .. }, .. } = &mut world.islands.list[0];
    let mut dice = Dice(7);
    assembly.lines.clear();
    for k in 0..ROWS {
        let mut wrench = || Wrench { lin: dice.vector(), ang: dice.vector() };
        let row = Row { a: wrench(), b: wrench() };
        assembly.lines.push(Line::new([3 * k % bodies.len(), (5 * k + 2) % bodies.len()], row, bodies));
    }
    world
}

/// What answers for the joints: the tree or their factor.
fn take<G: Geometry>(assembly: &mut Assembly<G>, bodies: &[LocalBody<G>], by_basis: bool) {
    let Assembly { equalities, factor, columns, .. } = assembly;
    columns.basis.refuses = !by_basis;
    columns.by_basis = columns.basis.suits(equalities, bodies, ROWS) && columns.basis.find(equalities, bodies);
    assert_eq!(columns.by_basis, by_basis);
    if !by_basis {
        factor.refactor(equalities, false);
    }
}

/// Velocities and impulses of joints that meet targets, by one of the two roads: whole, and once more by the way of the rounds of a move with rows pushed.
fn held<G: Geometry>(world: &mut World<G>, by_basis: bool) -> [(Vec<f64>, Vec<f64>); 2] {
    let Island { members: Members { bodies, .. }, system: System { assembly, .. }, .. } = &mut world.islands.list[0];
    take(assembly, bodies, by_basis);
    reduce(assembly, bodies, 1e-9, false);
    let mut dice = Dice(11);
    let mut target: Vec<f64> = (0..assembly.equalities.len()).map(|_| dice.vector::<G::Lin>()[0]).collect();
    let mut free: Vec<Twist<G>> = bodies.iter().map(|_| Twist { lin: dice.vector(), ang: dice.vector() }).collect();
    free[0] = Twist::zero();
    assembly.equalities.rotors.iter_mut().for_each(|rotor| rotor.rate = 0.3);
    let (mut twists, mut reaction) = (free.clone(), Vec::new());
    assembly.hold_joints(&target, &mut reaction, &mut twists);
    let whole = (numbers(&twists), reaction.clone());

    let (selected, impulses) = selection();
    let mut scratch = Vec::new();
    twists.copy_from_slice(&free);
    assembly.hold_unsettled(&target, false, &mut reaction, &mut twists);
    let change: Vec<f64> = target.iter().map(|x| 0.1 - 0.2 * x).collect();
    target.iter_mut().zip(&change).for_each(|(target, change)| *target += change);
    assembly.change_joints(&target, &mut change.clone(), &mut reaction, &mut twists);
    assembly.push_unsettled(&target, (&selected, &impulses), &mut reaction, &mut scratch, &mut twists);
    let rotors: Vec<f64> = assembly.equalities.rotors.iter().map(|rotor| reaction[rotor.row]).collect();
    assembly.settle(&target, (&selected, &impulses), &mut reaction, &twists);
    let settled: Vec<f64> = assembly.equalities.rotors.iter().map(|rotor| reaction[rotor.row]).collect();
    assert!(apart(&rotors, &settled) < CLOSE, "rotors are told before the rest");
    [whole, (numbers(&twists), reaction)]
}

/// Matrix, impulses of joints and change of velocity by one of the two roads.
fn answered<G: Geometry>(world: &mut World<G>, by_basis: bool) -> (Vec<f64>, Vec<f64>, Vec<Twist<G>>) {
    let Island { members: Members { bodies, .. }, system: System { assembly, .. }, .. } = &mut world.islands.list[0];
    take(assembly, bodies, by_basis);
    reduce(assembly, bodies, 1e-9, false);
    let mut reaction = vec![0.0; assembly.equalities.len()];
    let mut twists = vec![Twist::zero(); bodies.len()];
    let (selected, impulses) = selection();
    assembly.push(&selected, &impulses, &mut reaction, &mut Vec::new(), &mut twists);
    (assembly.matrix.clone(), reaction, twists)
}

fn selection() -> (Vec<usize>, Vec<f64>) {
    let selected: Vec<usize> = (0..ROWS).filter(|row| row % 3 != 1).collect();
    let impulses = selected.iter().map(|row| 0.7 - 0.2 * *row as f64).collect();
    (selected, impulses)
}

fn size(numbers: impl Iterator<Item = f64>) -> f64 {
    numbers.fold(0.0, |most, x| most.max(x.abs()))
}

fn numbers<G: Geometry>(twists: &[Twist<G>]) -> Vec<f64> {
    twists.iter().flat_map(|twist| twist.lin.as_slice().iter().chain(twist.ang.as_slice()).copied().collect::<Vec<_>>()).collect()
}

fn apart(a: &[f64], b: &[f64]) -> f64 {
    assert_eq!(a.len(), b.len());
    size(a.iter().zip(b).map(|(a, b)| a - b)) / size(b.iter().copied()).max(1e-3)
}

fn check<G: Geometry>(world: &World<G>) {
    let mut world = prepared(world);
    let (matrix, reaction, twists) = answered(&mut world, true);
    let other = answered(&mut world, false);
    assert!(apart(&matrix, &other.0) < CLOSE, "{:e}", apart(&matrix, &other.0));
    assert!(apart(&reaction, &other.1) < CLOSE, "{:e}", apart(&reaction, &other.1));
    assert!(apart(&numbers(&twists), &numbers(&other.2)) < CLOSE);
    for (along, through) in held(&mut world, true).iter().zip(&held(&mut world, false)) {
        assert!(apart(&along.0, &through.0) < CLOSE, "{:e}", apart(&along.0, &through.0));
        assert!(apart(&along.1, &through.1) < CLOSE, "{:e}", apart(&along.1, &through.1));
    }
    // What determines both: the joints hold, rotors turn with them, and momentum is what was given.
    let island = &world.islands.list[0];
    let (assembly, bodies) = (&island.system.assembly, &island.members.bodies);
    let rows = &assembly.equalities;
    let mut speeds = vec![0.0; rows.len()];
    rows.add_speeds(1.0, &twists, &mut speeds);
    rows.rotors.iter().for_each(|rotor| speeds[rotor.row] += rotor.inverse * reaction[rotor.row]);
    assert!(!rows.rotors.is_empty() && size(speeds.iter().copied()) < CLOSE * size(numbers(&twists).into_iter()));
    let mut given = vec![Twist::zero(); bodies.len()];
    let (selected, impulses) = selection();
    selected.iter().zip(&impulses).for_each(|(line, impulse)| assembly.lines[*line].push(*impulse, &mut given));
    rows.push(&reaction, &mut given);
    assert!(apart(&numbers(&given), &numbers(&twists)) < CLOSE);
}

#[test]
fn the_motions_of_a_tree_say_what_the_factor_of_its_joints_says() {
    trees::<Planar>(&kinds::<Planar>()).iter().for_each(check);
    trees::<Spatial>(&kinds::<Spatial>()).iter().for_each(check);
}

#[test]
fn what_is_no_tree_is_refused() {
    let mut world = prepared(&mechanism::<Spatial>(&kinds::<Spatial>(), true, true, 3));
    let Island { members: Members { bodies, .. }, system: System { assembly, .. }, .. } = &mut world.islands.list[0];
    assert!(!assembly.columns.basis.suits(&assembly.equalities, bodies, ROWS), "loops are left to the factor");
    let mut world = prepared(&mechanism::<Spatial>(&kinds::<Spatial>(), true, false, 3));
    let Island { members: Members { bodies, .. }, system: System { assembly, .. }, .. } = &mut world.islands.list[0];
    let last = bodies.len() - 1;
    bodies[last].inv_mass = Vector::zero();
    assert!(!assembly.columns.basis.suits(&assembly.equalities, bodies, ROWS), "a body that is locked does not answer every push");
}

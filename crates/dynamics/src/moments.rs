//! Rolling and torsional friction of a contact: rows for the moments beside those of its forces, and their law, theory (4.37)-(4.39).

use crate::assembly::{Assembly, Group};
use crate::island::{IslandReport, LocalBody};
use crate::line::Line;
use crate::solve::Solve;
use carom_geometry::Geometry;
use carom_math::{Space, Vector};
use carom_solve::contact::chain::ContactSolver;
use carom_solve::contact::law::{Law, Rolling};
use carom_solve::contact::problem::{Block, Cone};
use carom_solve::status::{Outcome, Status};

/// Arms of rolling and of torsional friction \[m\].
pub(crate) type Arms = [f64; 2];

/// Moment rows of a contact with these arms.
pub(crate) fn rows<G: Geometry>(arms: Arms) -> usize {
    if arms == [0.0; 2] { 0 } else { G::ANG }
}

/// The axes of the moments of a contact: in the plane the only one, in space the tangents and last the normal.
pub(crate) fn axes<S: Space>(normal: S::Lin, tangents: [S::Lin; 2]) -> [S::Ang; 3] {
    if S::ANG == 1 {
        let mut only = S::Ang::zero();
        only[0] = 1.0;
        return [only; 3];
    }
    [tangents[0], tangents[1], normal].map(|axis| S::Ang::from_slice(axis.as_slice()))
}

/// Appends the moment rows of a contact whose normal row is given: relative rates about its axes, times a length by which they answer an impulse about as
/// the normal row does. The solve then meets numbers of one size, whatever the arms.
pub(crate) fn push_lines<G: Geometry>(normal: Line<G>, direction: G::Lin, masses: &[LocalBody<G>], lines: &mut Vec<Line<G>>) {
    let own = |axis: G::Ang| Line::new(normal.bodies, crate::constraints::Row::turning(axis), masses);
    let axes = axes::<G>(direction, G::tangents(direction));
    let answer = axes[..G::ANG].iter().map(|&axis| own(axis).couple(&own(axis))).sum::<f64>() / G::ANG as f64;
    let length = if answer > 0.0 { (normal.couple(&normal) / answer).sqrt() } else { 1.0 };
    let length = if length > 0.0 { length } else { 1.0 };
    lines.extend(axes[..G::ANG].iter().map(|&axis| own(axis * length)));
}

/// The length of [`push_lines`] of a group of contact rows: a moment is its impulse times this.
pub(crate) fn length<G: Geometry>(assembly: &Assembly<G>, group: &Group) -> f64 {
    assembly.lines[group.first + 1 + G::TANGENTS].row.a.ang.norm()
}

/// The law of a block with these arms over the length of its rows.
pub(crate) fn law(block: &Block, arms: Option<&Arms>, cone: Cone, tangents: usize) -> Law {
    match (block.friction(), arms) {
        (Some(friction), Some(&[rolling, torsional])) => {
            let edges = if let (Cone::Polyhedral(edges), 2) = (cone, tangents) { edges } else { 0 };
            Law::Rolling(Rolling { friction, edges, tangents, rolling, torsional })
        }
        _ => Law::of(block, cone, tangents),
    }
}

/// The problem of all selected rows at once, where some are moments, with the fallback where friction jams.
pub(crate) fn resolve<G: Geometry>(solve: &mut Solve, solver: &mut ContactSolver, cone: Cone, report: &mut IslandReport) -> Outcome {
    let before = solver.factorisations();
    let mut outcome = attempt::<G>(solve, solver, cone);
    report.solves += 1;
    if outcome.status == Status::Failed {
        solve.slacken();
        outcome = attempt::<G>(solve, solver, cone);
        solve.jammed = true;
        report.inaccurate = true;
        report.solves += 1;
    }
    report.factorisations += (solver.factorisations() - before) as usize;
    solve.known = false;
    outcome
}

fn attempt<G: Geometry>(solve: &mut Solve, solver: &mut ContactSolver, cone: Cone) -> Outcome {
    let Solve { blocks, arms, laws, matrix, free, warm, impulses, .. } = solve;
    laws.clear();
    laws.extend(blocks.iter().zip(arms.iter()).map(|(block, arms)| law(block, arms.as_ref(), cone, G::TANGENTS)));
    solver.solve_laws(laws, matrix, free, warm, impulses)
}

//! Impacts of many contacts that no longer rebound: normals and friction together, over bodies; theory (2.4).

use crate::assembly::Assembly;
use crate::impact::ImpactScratch;
use crate::island::Island;
use crate::sparse_rows::SPEED_WANTED;
use carom_geometry::Geometry;
use carom_solve::contact::bodies::Bodies;
use carom_solve::contact::law::Law;
use carom_solve::contact::problem::{Block, Cone};
use carom_solve::contact::task::Task;
use carom_solve::status::{RESIDUAL_AIM, RESIDUAL_WANTED};

/// Contacts above which an impact that no longer rebounds is solved so.
pub(crate) const MANY: usize = 64;

/// Miss of a law [m/s] at which no further method is tried; above 1e-8 it is flagged, and above this the law of other impacts answers.
const SPEED_ENOUGH: f64 = 1e-6;

/// The problem with its room.
#[derive(Debug, Default)]
pub(crate) struct Coupled {
    plane: Bodies<3>,
    space: Bodies<6>,
    laws: Vec<Law>,
    free: Vec<f64>,
    impulses: Vec<f64>,
}

/// Impulses of all rows, normals first, after which no contact closes and friction obeys Coulomb's law; false, with none, where they were not found.
pub(crate) fn settle<G: Geometry>(island: &mut Island<G>, work: &mut ImpactScratch, cone: Cone) -> bool {
    let mut coupled = std::mem::take(&mut work.coupled);
    let (m, width) = (work.members.len(), 1 + G::TANGENTS);
    coupled.laws.clear();
    coupled.laws.extend(work.friction.iter().map(|&friction| Law::of(&Block::contact(friction), cone, G::TANGENTS)));
    coupled.free.clear();
    for contact in 0..m {
        coupled.free.push(work.approach[contact]);
        coupled.free.extend_from_slice(&work.approach[m + contact * G::TANGENTS..][..G::TANGENTS]);
    }
    coupled.impulses.clear();
    coupled.impulses.resize(m * width, 0.0);
    let solver = &mut island.system.solver;
    let before = solver.factorisations();
    let mut task = Task::new(&coupled.laws, &coupled.free, RESIDUAL_AIM);
    let wanted = RESIDUAL_WANTED.max(SPEED_WANTED / task.scale);
    (task.enough, task.serves) = (wanted.max(SPEED_ENOUGH / task.scale), wanted);
    let (assembly, impulses) = (&island.system.assembly, &mut coupled.impulses);
    let outcome = if G::DIM == 2 {
        fill::<G, 3>(&mut coupled.plane, assembly, work);
        solver.solve_sparse(&mut coupled.plane, &task, &[], wanted, false, impulses)
    } else {
        fill::<G, 6>(&mut coupled.space, assembly, work);
        solver.solve_sparse(&mut coupled.space, &task, &[], wanted, false, impulses)
    };
    let report = &mut island.books.report;
    report.factorisations += (solver.factorisations() - before) as usize;
    let found = outcome.residual <= task.enough;
    if found {
        report.impact_iterations += outcome.iterations;
        report.inaccurate |= !outcome.is_solved();
        for contact in 0..m {
            work.impulses[contact] = coupled.impulses[contact * width];
            work.impulses[m + contact * G::TANGENTS..][..G::TANGENTS]
                .copy_from_slice(&coupled.impulses[contact * width + 1..][..G::TANGENTS]);
        }
    }
    work.coupled = coupled;
    found
}

/// The rows of the contacts over bodies; their roots are at hand.
fn fill<G: Geometry, const B: usize>(rows: &mut Bodies<B>, assembly: &Assembly<G>, work: &ImpactScratch) {
    let m = work.members.len();
    rows.begin(work.roots.len());
    for contact in 0..m {
        rows.add_block(1 + G::TANGENTS, 0.0);
        let line = |k: usize| &assembly.lines[work.lines[if k == 0 { contact } else { m + contact * G::TANGENTS + k - 1 }]];
        for side in 0..2 {
            let body = line(0).bodies[side];
            if !work.roots[body].is_zero() {
                rows.add_side(body, |k| work.roots[body].scale(if side == 0 { &line(k).row.a } else { &line(k).row.b }));
            }
        }
    }
    rows.finish();
}

//! Contacts that strike at the same instant. Where they do not push each other each strike moves in time by itself, and a tape takes them down one
//! after another, theory (17.40); where they do, another order might have another outcome, and the strike is reported as a switch.

use super::arrival::arrive;
use super::record::{IslandRecord, Strike};
use crate::impact::{ImpactScratch, root, strike, striking, take_speeds};
use crate::impact_rows::gather;
use crate::integrate::Length;
use crate::island::{Context, Island};
use crate::options::ImpactLaw;
use carom_geometry::Geometry;
use carom_solve::impact::Record;

/// Rows whose entry in the matrix is below this fraction of their own do not push each other: rounding of entries that cancel.
const UNCOUPLED: f64 = 1e-12;

/// Impulses within this fraction of the largest are the same: the laws end at about this residual.
const SAME_IMPULSE: f64 = 1e-9;

/// What the derivative of a strike needs to know beforehand.
pub(super) fn open_strike<G: Geometry>(island: &Island<G>, work: &ImpactScratch, law: ImpactLaw, elastic: bool) -> Strike<G> {
    Strike {
        before: island.motion.twists.clone(),
        contacts: work.members.iter().map(|&k| (island.touch.near[k].key, island.touch.near[k].bodies)).collect(),
        gram: work.gram.clone(),
        approach: work.approach.clone(),
        friction: work.friction.clone(),
        restitution: work.restitution.clone(),
        elastic,
        impulses: Vec::new(),
        law,
        sequence: Vec::new(),
        active: Record::new(),
        capped: false,
        locked: work.lines.iter().map(|&line| island.system.assembly.locked_rows[line]).collect(),
        arrival: None,
        tied: false,
    }
}

/// What the derivative of a strike needs to know of its outcome.
pub(super) fn close_strike<G: Geometry>(opened: &mut Strike<G>, work: &ImpactScratch, law: ImpactLaw) {
    opened.impulses.clone_from(&work.impulses);
    opened.sequence.clone_from(&work.sequence);
    opened.active.clone_from(&work.active);
    opened.capped = work.capped;
    if law == ImpactLaw::Newton && work.capped {
        // It was solved without restitution, which is no longer that of the materials.
        opened.restitution.fill(0.0);
        opened.elastic = false;
    }
}

/// A strike that is about to change the velocities: as one, or where several contacts closed that do not push each other, as one after another, each of
/// which moves in time by itself, theory (17.40).
pub(super) fn strikes<G: Geometry>(
    record: &IslandRecord<G>,
    island: &mut Island<G>,
    ctx: &Context<G>,
    work: &ImpactScratch,
    law: ImpactLaw,
    mut whole: Strike<G>,
    first_round: bool,
) -> Vec<Strike<G>> {
    let closing: Vec<bool> = work.members.iter().map(|&k| first_round && striking(island, ctx, k).is_some()).collect();
    let count = closing.iter().filter(|&&c| c).count();
    let parts = if count > 1 { apart(record, island, ctx, work, law, &whole, &closing) } else { None };
    parts.unwrap_or_else(|| {
        whole.tied = count > 1;
        if first_round && !announced(record, island, &work.members) {
            whole.arrival = arrive(island, ctx, |k| work.members.contains(&k));
        }
        vec![whole]
    })
}

/// Whether the present instant is the one at which these contacts strike: they come first, and one of them ended the move before or was noted.
fn announced<G: Geometry>(record: &IslandRecord<G>, island: &Island<G>, members: &[usize]) -> bool {
    let [.., substep] = &record.substeps[..] else { return true };
    let key = match (&substep.arrival, &record.substeps[..]) {
        (Some(arrival), _) => arrival.key,
        (None, [.., before, _]) => match before.rule {
            Length::Event(key, _) => key,
            _ => return true,
        },
        _ => return true,
    };
    substep.strikes.is_empty() && members.iter().any(|&k| island.touch.near[k].key == key)
}

/// A strike as strikes of contacts that do not push each other, one after another; nothing where some of those that close do, or where the law makes
/// something else of them together.
fn apart<G: Geometry>(
    record: &IslandRecord<G>,
    island: &mut Island<G>,
    ctx: &Context<G>,
    work: &ImpactScratch,
    law: ImpactLaw,
    whole: &Strike<G>,
    closing: &[bool],
) -> Option<Vec<Strike<G>>> {
    let (m, n) = (work.members.len(), work.lines.len());
    let contact = |row: usize| if row < m { row } else { (row - m) / G::TANGENTS };
    let mut parent: Vec<usize> = (0..m).collect();
    let rough = |row: usize| row < m || work.friction[contact(row)] > 0.0;
    for i in 0..n {
        let (columns, values) = work.gram.row(i);
        for (&j, value) in columns.iter().zip(values).take_while(|(j, _)| **j < i) {
            let scale = (work.gram.entry(i, i) * work.gram.entry(j, j)).sqrt();
            if value.abs() > UNCOUPLED * scale && rough(i) && rough(j) {
                let (a, b) = (root(&mut parent, contact(i)), root(&mut parent, contact(j)));
                parent[a.max(b)] = a.min(b);
            }
        }
    }
    let class: Vec<usize> = (0..m).map(|i| root(&mut parent, i)).collect();
    let mut order: Vec<usize> = (0..m).filter(|&i| closing[i]).map(|i| class[i]).collect();
    if order.iter().enumerate().any(|(k, c)| order[..k].contains(c)) {
        return None;
    }
    let members = |class_of: usize| -> Vec<usize> { (0..m).filter(|&i| class[i] == class_of).collect() };
    // The one whose instant this is comes first.
    order.sort_by_key(|&c| !announced(record, island, &members(c).iter().map(|&i| work.members[i]).collect::<Vec<_>>()));
    let (twists, report) = (island.motion.twists.clone(), island.books.report);
    let mut parts: Vec<ImpactScratch> = Vec::new();
    for &c in &order {
        let own = members(c);
        let mut part = ImpactScratch::default();
        part.members.extend(own.iter().map(|&i| work.members[i]));
        gather(island, &mut part);
        if !whole.elastic {
            part.restitution.fill(0.0);
        }
        parts.push(part);
    }
    let mut out = Vec::new();
    for (mut part, &c) in parts.into_iter().zip(&order) {
        let own = members(c);
        take_speeds(island, &mut part);
        let mut opened = open_strike(island, &part, law, whole.elastic);
        let solved = strike(island, ctx, &mut part, law).is_ok();
        let together = own.iter().copied().chain(own.iter().flat_map(|&i| (0..G::TANGENTS).map(move |k| m + i * G::TANGENTS + k)));
        let largest = whole.impulses.iter().fold(0.0f64, |l, x| l.max(x.abs()));
        let same = part.impulses.iter().zip(together).all(|(x, row)| (x - whole.impulses[row]).abs() <= SAME_IMPULSE * largest);
        if !solved || !same {
            (island.motion.twists, island.books.report) = (twists, report);
            return None;
        }
        close_strike(&mut opened, &part, law);
        if !out.is_empty() || !announced(record, island, &part.members) {
            opened.arrival = arrive(island, ctx, |k| part.members.contains(&k));
        }
        let ImpactScratch { lines, impulses, reaction, scratch, .. } = &mut part;
        reaction.resize(island.system.assembly.equalities.len(), 0.0);
        island.system.assembly.push(lines, impulses, reaction, scratch, &mut island.motion.twists);
        out.push(opened);
    }
    (island.motion.twists, island.books.report) = (twists, report);
    Some(out)
}

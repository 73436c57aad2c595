//! The last move that was solved, from which another length of it begins: a search for an event tries several.

use super::Solve;
use crate::assembly::Assembly;
use carom_geometry::Geometry;

/// A move that was solved, for the next one with the same rows.
#[derive(Debug, Default)]
pub(crate) struct Tried {
    /// The assembly it was solved with.
    version: u64,
    lines: Vec<usize>,
    impulses: Vec<f64>,
    /// By how much its targets were corrected.
    corrections: Vec<f64>,
    /// Its targets before any correction.
    first_target: Vec<f64>,
    duration: f64,
}

impl Tried {
    /// The next move begins from its own targets.
    pub fn forget(&mut self) {
        self.lines.clear();
        self.duration = 0.0;
    }
}

impl Solve {
    /// Begins the selected move where the last one with the same rows ended: impulses grow with the length of a move, and so do the corrections of its
    /// targets, which its curvature asks for.
    pub fn begin_where_tried<G: Geometry>(&mut self, assembly: &Assembly<G>) {
        let tried = &mut self.tried;
        if tried.version == assembly.version && tried.lines == self.lines && tried.duration > 0.0 && self.duration > 0.0 {
            self.other.clear();
            let ratio = self.duration / tried.duration;
            for (position, &row) in self.first.iter().enumerate() {
                let end = self.first.get(position + 1).copied().unwrap_or(self.lines.len());
                let pushes = tried.impulses[row] > 0.0;
                let contact = self.blocks[position].friction().is_some();
                for row in row..end {
                    self.warm[row] = ratio * tried.impulses[row];
                    if pushes && contact {
                        tried.first_target[row] = self.target[row];
                        self.target[row] += ratio * tried.corrections[row];
                    } else {
                        tried.first_target[row] = self.target[row];
                    }
                }
            }
        } else {
            tried.version = assembly.version;
            tried.lines.clone_from(&self.lines);
            tried.first_target.clone_from(&self.target);
            tried.duration = 0.0;
        }
    }

    /// Keeps the move at hand for the next one with the same rows.
    pub fn note_tried(&mut self) {
        let tried = &mut self.tried;
        if tried.lines != self.lines {
            return;
        }
        tried.duration = self.duration;
        tried.impulses.clone_from(&self.impulses);
        tried.corrections.clear();
        tried.corrections.extend(self.target.iter().zip(&tried.first_target).map(|(now, first)| now - first));
    }
}

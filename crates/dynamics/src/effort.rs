//! What a step did, in words: for people who wait for the next one.

use crate::island::IslandReport;

impl IslandReport {
    /// The work of the step as a short list, such as `412 contacts, 3 substeps, 12 impacts of 340 collisions, 5 solves of 1200 iterations`;
    /// what did not occur is left out.
    pub fn effort(&self) -> String {
        let count = |n: usize, one: &str| format!("{n} {one}{}", if n == 1 { "" } else { "s" });
        let inside = |n: usize, one: &str, of: usize, what: &str| match n {
            0 => None,
            _ => Some(format!("{} of {}", count(n, one), count(of, what))),
        };
        let parts = [
            Some(count(self.contacts, "contact")),
            (self.substeps > 1).then(|| count(self.substeps, "substep")),
            inside(self.impacts, "impact", self.impact_iterations, "collision"),
            inside(self.solves, "solve", self.iterations, "iteration"),
            (self.corrections > 0).then(|| count(self.corrections, "correction")),
        ];
        parts.into_iter().flatten().collect::<Vec<_>>().join(", ")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_what_occurred_is_told() {
        assert_eq!(IslandReport { contacts: 1, substeps: 1, ..IslandReport::default() }.effort(), "1 contact");
        let much = IslandReport {
            contacts: 412,
            substeps: 3,
            impacts: 12,
            impact_iterations: 340,
            solves: 1,
            iterations: 1200,
            corrections: 2,
            ..IslandReport::default()
        };
        assert_eq!(much.effort(), "412 contacts, 3 substeps, 12 impacts of 340 collisions, 1 solve of 1200 iterations, 2 corrections");
    }
}

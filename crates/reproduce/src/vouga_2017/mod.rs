//! Vouga et al. 2017: many contacts at one instant, and when iterations on them end.

mod desiderata;
mod dissipation;
mod lineality;
mod plain;
mod proofs;
mod termination;

use crate::Entry;

/// What the source's entries are.
pub const ENTRIES: &[Entry] = &[
    Entry {
        name: "vouga-2017/section-2",
        about: "Section 2 and algorithm 1: the five properties of an impact operator, and the reflection (1).",
        quick: true,
        run: termination::section_2,
    },
    Entry {
        name: "vouga-2017/section-3",
        about: "Section 3: Newton's cradle in one dimension is a bubble sort.",
        quick: true,
        run: termination::section_3,
    },
    Entry {
        name: "vouga-2017/figure-1",
        about: "Figure 1: the ball geyser, without and with implicit equalities found.",
        quick: true,
        run: lineality::figure_1,
    },
    Entry {
        name: "vouga-2017/figure-2",
        about: "Figure 2: one ball, two balls between walls, and a strike that leads there.",
        quick: true,
        run: lineality::figure_2,
    },
    Entry {
        name: "vouga-2017/section-4",
        about: "Section 4: what makes an implicit equality; the normals of the text.",
        quick: true,
        run: lineality::section_4,
    },
    Entry {
        name: "vouga-2017/algorithm-2",
        about: "Algorithm 2: implicit equalities projected out, as printed and in the metric of gradients.",
        quick: true,
        run: lineality::algorithm_2,
    },
    Entry {
        name: "vouga-2017/figure-3",
        about: "Figure 3: certificates and iterations of the wedge.",
        quick: true,
        run: termination::figure_3,
    },
    Entry {
        name: "vouga-2017/figure-4",
        about: "Figures 4 to 6, lemma 5.1, theorems 5.3 and 5.4: velocities approach hyperplanes, and never end along two constraints.",
        quick: true,
        run: proofs::figure_4,
    },
    Entry {
        name: "vouga-2017/figure-7",
        about: "Figure 7: without (ONE) a ball in a corner cycles for ever.",
        quick: true,
        run: desiderata::figure_7,
    },
    Entry {
        name: "vouga-2017/section-5.3",
        about: "Section 5.3: without (VIO) or (MOD) an operator never ends.",
        quick: true,
        run: desiderata::section_5_3,
    },
    Entry {
        name: "vouga-2017/figure-8",
        about: "Figure 8: inelastic collapse of a cradle of five, as printed.",
        quick: true,
        run: dissipation::figure_8,
    },
    Entry {
        name: "vouga-2017/section-6.1",
        about: "Section 6.1: collapse for restitution above 0, and longer rows.",
        quick: true,
        run: dissipation::section_6_1,
    },
    Entry {
        name: "vouga-2017/section-6.2",
        about: "Sections 6.2 and 6.3: restitution as an interpolation; friction afterwards.",
        quick: true,
        run: dissipation::section_6_2,
    },
    Entry {
        name: "vouga-2017/algorithm-3",
        about: "Section 7, algorithms 3 and 4: tolerance and renormalisation.",
        quick: true,
        run: proofs::algorithm_3,
    },
    Entry {
        name: "vouga-2017/section-7",
        about: "Section 7: the approximate lineality space, as defined and as meant.",
        quick: true,
        run: proofs::section_7,
    },
    Entry { name: "vouga-2017/supplement", about: "Lemma 5.2 and the supplement: the inequalities.", quick: true, run: proofs::supplement },
    Entry {
        name: "vouga-2017/section-8",
        about: "Section 8: how many iterations, and whether implicit equalities survive a change of geometry.",
        quick: true,
        run: termination::section_8,
    },
];

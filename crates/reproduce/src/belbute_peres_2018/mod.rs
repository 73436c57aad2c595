//! de Avila Belbute-Peres et al. 2018, the supplement: a planar engine by one complementarity problem a step, and its derivative.

mod constraints;
mod derivatives;
mod dynamics;
mod stabilisation;

use crate::Entry;

/// What the source's entries are.
pub const ENTRIES: &[Entry] = &[
    Entry {
        name: "belbute-peres-2018/section-a.1",
        about: "Section A.1: the step, and the halving of dt until nothing overlaps.",
        quick: true,
        run: stabilisation::section_a1,
    },
    Entry {
        name: "belbute-peres-2018/section-a.4",
        about: "Sections A.2 and A.4, equations 7 to 17: bodies, hinge, contact and friction rows.",
        quick: true,
        run: constraints::section_a4,
    },
    Entry {
        name: "belbute-peres-2018/equation-23",
        about: "Section A.5, equations 18 to 23: the dynamics problem on cases with known answers.",
        quick: true,
        run: dynamics::equation_23,
    },
    Entry {
        name: "belbute-peres-2018/section-a.5",
        about: "Section A.5: whether a solution is guaranteed.",
        quick: true,
        run: dynamics::section_a5,
    },
    Entry {
        name: "belbute-peres-2018/section-a.6",
        about: "Section A.6: contacts of circles and of a circle with a hull.",
        quick: true,
        run: constraints::section_a6,
    },
    Entry {
        name: "belbute-peres-2018/section-a.7",
        about: "Section A.7: post-stabilisation of a pendulum, 10 s: none, as printed, halved, and by position.",
        quick: true,
        run: stabilisation::section_a7,
    },
    Entry {
        name: "belbute-peres-2018/section-b.1",
        about: "Section B.1, equations 24 to 27: iterations of the interior point.",
        quick: true,
        run: dynamics::section_b1,
    },
    Entry {
        name: "belbute-peres-2018/section-b.2",
        about: "Section B.2, equations 28 to 32: the derivatives, as printed and corrected, against differences.",
        quick: true,
        run: derivatives::section_b2,
    },
];

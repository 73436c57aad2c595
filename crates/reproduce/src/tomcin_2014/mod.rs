//! Tomcin, Sibbing and Kobbelt 2014, the appendices: an integrator, the splitting of bodies with many constraints, the insertion of contacts.

mod engine;
mod gimbals;
mod insertion;
mod splitting;
mod verlet;

use crate::Entry;

/// What the source's entries are.
pub const ENTRIES: &[Entry] = &[
    Entry {
        name: "tomcin-2014/appendix-a",
        about: "Appendix A, equations 9 to 13: velocity Verlet and its three-step form.",
        quick: true,
        run: verlet::appendix_a,
    },
    Entry {
        name: "tomcin-2014/gyroscopic-term",
        about: "Appendix A, equation 13: the gyroscopic term with ω, as printed, or with ω₊, as the text says.",
        quick: true,
        run: verlet::gyroscopic_term,
    },
    Entry {
        name: "tomcin-2014/larger-steps",
        about: "Appendix A: \"up to 6 times larger simulation step sizes\", on a driven gyroscope in gimbals and a steered trike.",
        quick: false,
        run: gimbals::larger_steps,
    },
    Entry {
        name: "tomcin-2014/bandwidth",
        about: "Appendix B: the bandwidth of a split body's matrix, and its fill.",
        quick: true,
        run: splitting::bandwidth,
    },
    Entry {
        name: "tomcin-2014/equation-14",
        about: "Appendix B, equation 14: entries of the matrix, and the function that is minimised.",
        quick: true,
        run: splitting::equation_14,
    },
    Entry {
        name: "tomcin-2014/heuristic",
        about: "Appendix B: the splitting table, against a search over all balanced splits.",
        quick: true,
        run: splitting::heuristic,
    },
    Entry {
        name: "tomcin-2014/islands",
        about: "Appendix B on islands: a hub with many joints, whole and split, gives the same velocities.",
        quick: true,
        run: insertion::islands,
    },
    Entry {
        name: "tomcin-2014/appendix-c",
        about: "Appendix C, equations 15 to 20: rows inserted into a factor, both forms, unsymmetric columns, permuted.",
        quick: true,
        run: insertion::appendix_c,
    },
    Entry {
        name: "tomcin-2014/beside-the-engine",
        about: "Appendices B and C as printed beside what the engine does, on the same islands: the same velocities.",
        quick: true,
        run: engine::beside,
    },
];

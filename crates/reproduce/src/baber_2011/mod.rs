//! Baber 2011: one contact point with friction, in space by integration and in the plane in closed form.

mod algorithm;
mod example;
mod plane;
mod rays;

use crate::Entry;
use nalgebra::{Matrix3, Vector3};

/// What the source's entries are.
pub const ENTRIES: &[Entry] = &[
    Entry {
        name: "baber-2011/figure-1",
        about: "Figure 1: eventually positive, and positive once and for all, are two things.",
        quick: true,
        run: example::figure_1,
    },
    Entry {
        name: "baber-2011/section-1.2",
        about: "Section 1.2: the numbers of the example with two compressions.",
        quick: true,
        run: example::section_1_2,
    },
    Entry {
        name: "baber-2011/figure-2",
        about: "Figure 2: u_z over p_z in the example, with its four phases.",
        quick: true,
        run: example::figure_2,
    },
    Entry {
        name: "baber-2011/section-3.4",
        about: "Section 3.4: what ends a collision; Newton's rule, Poisson's rule and the energy law.",
        quick: true,
        run: example::section_3_4,
    },
    Entry {
        name: "baber-2011/section-3.2",
        about: "Sections 3.1 to 3.3 and appendices A, B: the rotation, the collision matrix and the momentum balance.",
        quick: true,
        run: rays::section_3_2,
    },
    Entry {
        name: "baber-2011/figure-4",
        about: "Figure 4: sixteen trajectories of (u_x, u_y) and the rays of constant sliding.",
        quick: true,
        run: rays::figure_4,
    },
    Entry {
        name: "baber-2011/section-3.8",
        about: "Sections 3.8 to 3.10: the diverging ray from a quartic, and from the monotone equation; it is unique.",
        quick: true,
        run: rays::section_3_8,
    },
    Entry {
        name: "baber-2011/section-3.11",
        about: "Section 3.11 and appendix C: every collision ends, and directions turn monotonically towards a ray.",
        quick: true,
        run: rays::section_3_11,
    },
    Entry {
        name: "baber-2011/section-4",
        about: "Section 4: the algorithm with Euler's fixed step, its order, and its end test.",
        quick: true,
        run: algorithm::section_4,
    },
    Entry {
        name: "baber-2011/restitution",
        about: "Section 3.4: work summed over all phases makes the outcome jump in e.",
        quick: true,
        run: algorithm::restitution,
    },
    Entry {
        name: "baber-2011/section-5.2",
        about: "Section 5.2: the planar algorithm, branch by branch.",
        quick: true,
        run: plane::section_5_2,
    },
];

/// The example's collision matrix [1/kg].
fn matrix() -> Matrix3<f64> {
    Matrix3::new(20.0, -23.0, 4.0, -23.0, 31.0, -7.0, 4.0, -7.0, 4.0)
}

/// The example's separation velocity [m/s].
fn start() -> Vector3<f64> {
    Vector3::new(630.0, -780.0, -0.22)
}

/// The matrix of figure 4 [1/kg].
fn ray_matrix() -> Matrix3<f64> {
    Matrix3::new(20.0, 0.0, 1.0, 0.0, 4.0, 6.0, 1.0, 6.0, 10.0)
}

/// The example's coefficient of friction.
const MU: f64 = 0.5;
/// The example's coefficient of restitution.
const E: f64 = 0.9;
/// That of figure 4.
const RAY_MU: f64 = 0.7;

fn rows(k: &Matrix3<f64>) -> [[f64; 3]; 3] {
    [0, 1, 2].map(|i| [0, 1, 2].map(|j| k[(i, j)]))
}

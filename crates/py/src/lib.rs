//! The native part of the Python package: thin, no physics. Arguments arrive as flat arrays that `python/carom` has checked and shaped;
//! results leave as arrays that own their memory. The interpreter is released while the engine works.

// Documentation of functions is what Python shows: brackets stand as they are.
#![allow(rustdoc::broken_intra_doc_links)]

mod arrays;
mod builder;
mod collide_kernel;
mod contact_kernel;
mod crew;
mod derivatives;
mod engine;
mod error;
mod film;
mod fitting;
mod kernels;
mod losses;
mod outline;
mod rollouts;
mod run;
mod senses;
mod validating;
mod words;
mod worlds;

use pyo3::prelude::*;

/// The native part of `carom`.
#[pymodule]
mod _carom {
    #[pymodule_export]
    use crate::builder::Builder;
    #[pymodule_export]
    use crate::collide_kernel::{Collisions, collide};
    #[pymodule_export]
    use crate::contact_kernel::{ContactSolution, contact};
    #[pymodule_export]
    use crate::crew::forked;
    #[pymodule_export]
    use crate::derivatives::{jacobian, linearise, rollout_jacobians, rollout_linearise};
    #[pymodule_export]
    use crate::error::{Error, ModelError, SceneError, SolveError, StepError};
    #[pymodule_export]
    use crate::fitting::{fit, read_motion};
    #[pymodule_export]
    use crate::kernels::{Dynamics, InsertedFactor, InsertedSystem, dynamics, impacts, lineality, split};
    #[pymodule_export]
    use crate::losses::{loss_pairs, loss_slope};
    #[pymodule_export]
    use crate::rollouts::{Gradients, Rollouts};
    #[pymodule_export]
    use crate::senses::{add, contact_force, distance, events, points, ray, remove};
    #[pymodule_export]
    use crate::validating::{cube_tosses, validate};
    #[pymodule_export]
    use crate::words::{
        apply, centre_of_mass, forward_dynamics, inverse_dynamics, inverse_kinematics, joint_bias, joint_effort, joint_facts, joint_force,
        joint_matrix, joint_names, joint_state, point_jacobian, rows_called, set_joints,
    };
    #[pymodule_export]
    use crate::worlds::{Worlds, scenes};
    #[pymodule_export]
    #[allow(non_upper_case_globals)]
    const __version__: &str = env!("CARGO_PKG_VERSION");
}

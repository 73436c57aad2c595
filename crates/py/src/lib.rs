//! The native part of the Python package: thin, no physics. Arguments arrive as flat arrays that `python/carom` has checked and shaped;
//! results leave as arrays that own their memory. The interpreter is released while the engine works.

mod arrays;
mod collide_kernel;
mod contact_kernel;
mod crew;
mod engine;
mod error;
mod kernels;
mod outline;
mod rollouts;
mod worlds;

use pyo3::prelude::*;

/// The native part of `carom`.
#[pymodule]
mod _carom {
    #[pymodule_export]
    use crate::collide_kernel::{Collisions, collide};
    #[pymodule_export]
    use crate::contact_kernel::{ContactSolution, contact};
    #[pymodule_export]
    use crate::crew::forked;
    #[pymodule_export]
    use crate::error::{Error, ModelError, SceneError, SolveError, StepError};
    #[pymodule_export]
    use crate::kernels::{Dynamics, InsertedFactor, InsertedSystem, dynamics, impacts, lineality, split};
    #[pymodule_export]
    use crate::rollouts::{Gradients, Rollouts};
    #[pymodule_export]
    use crate::worlds::{Worlds, scenes};
    #[pymodule_export]
    #[allow(non_upper_case_globals)]
    const __version__: &str = env!("CARGO_PKG_VERSION");
}

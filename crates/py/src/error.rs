//! The exceptions of the package; the messages are those of the engine.

use carom_dynamics::gradient::{GradientError, NameError};
use carom_dynamics::{ModelError as BadModel, StepError as BadStep};
use carom_kernels::contact::ContactError;
use carom_kernels::dynamics::DynamicsError;
use carom_math::bordered::BorderError;
use carom_math::splitting::TooManyRows;
use carom_scene::SceneError as BadScene;
use carom_solve::collision::CollisionError;
use carom_solve::impact::ImpactError;
use pyo3::create_exception;
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;

create_exception!(carom, Error, PyValueError, "What every error of the package is.");
create_exception!(carom, SceneError, Error, "A scene that cannot be read: file, line, column, key, what was found and what is allowed.");
create_exception!(carom, ModelError, Error, "A model, a state or a parameter that cannot be.");
create_exception!(carom, StepError, Error, "A step or a rollout that cannot be taken; the state is left as it was before it.");
create_exception!(carom, SolveError, Error, "An argument of a kernel or of a gradient that no method can work with.");

/// A fault of the engine as the exception of its kind.
pub trait Raise {
    /// The exception.
    fn raise(self) -> PyErr;
}

macro_rules! raises {
    ($($fault:ty => $exception:ident),* $(,)?) => {
        $(impl Raise for $fault {
            fn raise(self) -> PyErr {
                $exception::new_err(self.to_string())
            }
        })*
    };
}

raises! {
    BadScene => SceneError,
    BadModel => ModelError,
    NameError => ModelError,
    BadStep => StepError,
    GradientError => SolveError,
    CollisionError => SolveError,
    ContactError => SolveError,
    ImpactError => SolveError,
    DynamicsError => SolveError,
    BorderError => SolveError,
    TooManyRows => SolveError,
}

//! How a model of another format is read.

use clap::{Args, ValueEnum};
use std::path::PathBuf;

/// How a URDF, MJCF or SDF model is read.
#[derive(Args, Clone, Debug, Default, PartialEq)]
#[command(next_help_heading = "Models (URDF, MJCF, SDF)")]
pub struct ImportArgs {
    /// Refuse what is not supported instead of listing it
    #[arg(long)]
    pub strict: bool,
    /// How the root of the model stands in the world [default: as the model says]
    #[arg(long, value_name = "BASE", value_enum)]
    pub base: Option<BaseChoice>,
    /// Of an MJCF model: start from this keyframe, by name or number
    #[arg(long, value_name = "KEY")]
    pub keyframe: Option<String>,
    /// Put a ground at z = 0 under the model, and a model with a free root down on it
    #[arg(long)]
    pub ground: bool,
    /// Start with the lowest point of the model so high above z = 0 [m]
    #[arg(long, value_name = "HEIGHT", allow_hyphen_values = true, value_parser = height)]
    pub drop: Option<f64>,
    /// Hold every hinge and slide where it starts instead of giving it a control
    #[arg(long)]
    pub hold: bool,
    /// What the meshes of a URDF or SDF model touch with [default: hull]
    #[arg(long, value_name = "HOW", value_enum)]
    pub meshes: Option<MeshesChoice>,
    /// Keep the convex parts of meshes in this folder, such as that of the log
    #[arg(long, value_name = "FOLDER")]
    pub mesh_cache: Option<PathBuf>,
}

impl ImportArgs {
    /// The first option that was given, as it is typed; `None` where all are left out.
    pub fn first(&self) -> Option<&'static str> {
        [
            ("--strict", self.strict),
            ("--base", self.base.is_some()),
            ("--keyframe", self.keyframe.is_some()),
            ("--ground", self.ground),
            ("--drop", self.drop.is_some()),
            ("--hold", self.hold),
            ("--meshes", self.meshes.is_some()),
            ("--mesh-cache", self.mesh_cache.is_some()),
        ]
        .into_iter()
        .find_map(|(word, given)| given.then_some(word))
    }
}

/// How the root of a model stands in the world.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum BaseChoice {
    /// held
    Fixed,
    /// free to move
    Free,
}

/// What meshes touch with.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum MeshesChoice {
    /// their convex hulls
    Hull,
    /// convex parts of those that are hollow
    Parts,
}

fn height(text: &str) -> Result<f64, String> {
    text.parse::<f64>().ok().filter(|x| x.is_finite()).ok_or_else(|| "needs a height in metres".to_string())
}

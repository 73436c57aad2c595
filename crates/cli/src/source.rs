//! Where a scene comes from: a file, the embedded classics, standard input.

use crate::args::{BaseChoice, ImportArgs, MeshesChoice};
use crate::failure::{Failure, Fault};
use carom::Scene;
use carom::import::{self, Base, Format};
use carom::scene::error::nearest;
use carom::scene::{SceneError, from_toml_all, scene, scenes};
use std::io::{Read, Write};
use std::path::Path;

/// Notes of an import that are printed; `check --json` has all.
const MOST_NOTES: usize = 12;
/// Files of a folder that are named.
const MOST_FOUND: usize = 8;
/// The word for standard input.
const STDIN: &str = "-";

/// A scene and what to call it.
#[derive(Debug)]
pub struct Source {
    /// For messages: the path as typed, or the embedded name.
    pub place: String,
    /// For result files: the stem of the path, or the embedded name.
    pub stem: String,
    /// The scene.
    pub scene: Scene,
    /// What an imported model has and the scene has not.
    pub notes: Vec<String>,
}

/// A word that names nothing, with the nearest that does.
pub fn unknown<'a>(message: String, word: &str, known: impl IntoIterator<Item = &'a str> + Clone, listing: &str) -> Failure {
    let help = match nearest(word, known) {
        Some(near) => format!("did you mean \"{near}\"? {listing}"),
        None => listing.to_string(),
    };
    Failure::bad_input(Fault::new(message).help(help))
}

/// Finds and reads a scene: a file that exists, else an embedded name.
pub fn find(word: &str) -> Result<Source, Failure> {
    find_with(word, &ImportArgs::default())
}

/// The same, with what a URDF, MJCF or SDF model is to become.
pub fn find_with(word: &str, arguments: &ImportArgs) -> Result<Source, Failure> {
    let path = Path::new(word);
    let model_file = path.is_file() && Format::of(path).is_some();
    if let Some(option) = arguments.first().filter(|_| !model_file && (word == STDIN || path.is_file() || scene(word).is_some())) {
        let help = "a scene says itself how its bodies stand; `include` puts models into scenes";
        return Err(Failure::bad_input(Fault::new(format!("{word}: {option} goes with URDF, MJCF and SDF models")).help(help)));
    }
    if word == STDIN {
        return standard_input();
    }
    if path.is_file() {
        let stem = path.file_stem().map_or_else(|| "scene".to_string(), |s| s.to_string_lossy().into_owned());
        if model_file {
            return model(path, arguments).map(|(scene, notes)| Source { place: word.to_string(), stem, scene, notes });
        }
        if let Some(kind) = foreign(path) {
            let help = "read are .toml (scenes), .urdf, .xml, .mjcf and .sdf (models); `carom convert` turns models into scenes";
            return Err(Failure::bad_input(Fault::new(format!("{word}: {kind}, which is not read as a scene")).help(help)));
        }
        // Only texts that can be read are underlined, each fault in the file it is in.
        let import = import::load_scene(path).map_err(|errors| Failure::model_text(&errors))?;
        let notes = told(path, &import.notes);
        return Ok(Source { place: word.to_string(), stem, scene: import.scene, notes });
    }
    let name = word.strip_suffix(".toml").unwrap_or(word);
    if let Some(found) = scene(word) {
        let scene = from_toml_all(found.text, found.name).map_err(|errors| Failure::scene(&errors, found.text))?;
        return Ok(Source { place: word.to_string(), stem: word.to_string(), scene, notes: Vec::new() });
    }
    if path.is_dir() {
        return Err(Failure::bad_input(Fault::new(format!("{word}: is a folder, not a scene file")).help(within(path))));
    }
    let what = "neither a file nor an embedded scene";
    let stem = Path::new(name).file_name().map_or(name.to_string(), |n| n.to_string_lossy().into_owned());
    Err(unknown(format!("{word}: {what}"), &stem, scenes().iter().map(|s| s.name), "`carom scenes` lists the embedded ones"))
}

/// The scenes and models in a folder, in words.
fn within(folder: &Path) -> String {
    let mut found: Vec<String> = std::fs::read_dir(folder)
        .into_iter()
        .flatten()
        .flatten()
        .map(|entry| entry.path())
        .filter(|path| path.is_file() && (path.extension().is_some_and(|e| e == "toml") || Format::of(path).is_some()))
        .map(|path| path.display().to_string())
        .collect();
    // A folder is listed in any order.
    found.sort();
    match found.len() {
        0 => "there is no scene or model in it; `carom scenes` lists the embedded ones".to_string(),
        n if n > MOST_FOUND => format!("in it are {}, ...", found[..MOST_FOUND].join(", ")),
        _ => format!("in it: {}", found.join(", ")),
    }
}

/// What a file of another program is, by its ending, in words; `None` for endings that are ours or nobody's.
pub fn foreign(path: &Path) -> Option<&'static str> {
    let ending = path.extension()?.to_str()?.to_ascii_lowercase();
    Some(match ending.as_str() {
        "usd" | "usdc" => "a binary USD stage",
        "usda" => "a USD stage",
        "usdz" => "a packed USD stage",
        "xacro" => "a xacro template (run xacro to make a URDF model of it)",
        "gltf" | "glb" => "a glTF scene",
        "fbx" | "blend" | "dae" | "3ds" | "abc" => "a scene of a drawing program",
        "obj" | "stl" | "ply" | "off" => "a mesh (the shape of a body: shape = { mesh = \"FILE\" })",
        "step" | "stp" | "iges" | "igs" => "a CAD model",
        "caromlog" => "the log of a run (`carom run --resume FILE`, `carom convert FILE OUT`)",
        "csv" | "npz" | "parquet" | "mcap" | "bag" | "db3" | "rrd" => "a table or log of a motion",
        "html" | "htm" => "a page",
        "mp4" | "webm" | "avi" | "mov" | "mkv" | "gif" => "a film",
        "png" | "svg" | "jpg" | "jpeg" | "webp" | "pdf" => "a picture",
        "json" | "yaml" | "yml" => "no TOML",
        _ => return None,
    })
}

/// Reads a URDF, MJCF or SDF model; what it cannot hold is listed on standard error.
fn model(path: &Path, arguments: &ImportArgs) -> Result<(Scene, Vec<String>), Failure> {
    let base = match arguments.base {
        None => Base::Auto,
        Some(BaseChoice::Fixed) => Base::Fixed,
        Some(BaseChoice::Free) => Base::Free,
    };
    let ImportArgs { strict, ground, drop, hold, .. } = *arguments;
    let keyframe = arguments.keyframe.clone();
    let meshes = if arguments.meshes == Some(MeshesChoice::Parts) { import::Meshes::Parts } else { import::Meshes::Hull };
    let mesh_cache = arguments.mesh_cache.clone();
    let options = import::Options { strict, base, keyframe, ground, drop, hold, meshes, mesh_cache, ..import::Options::default() };
    let import = import::load(path, &options).map_err(|errors| Failure::model_text(&errors))?;
    let notes = told(path, &import.notes);
    Ok((import.scene, notes))
}

/// Lists what was left out of models on standard error.
fn told(path: &Path, notes: &[SceneError]) -> Vec<String> {
    let notes: Vec<String> = notes.iter().map(ToString::to_string).collect();
    for note in notes.iter().take(MOST_NOTES) {
        // A note that nobody hears changes nothing.
        let _ = writeln!(std::io::stderr(), "note: {note}");
    }
    if notes.len() > MOST_NOTES {
        let _ =
            writeln!(std::io::stderr(), "note: and {} more (`carom check {} --json` lists them)", notes.len() - MOST_NOTES, path.display());
    }
    notes
}

fn standard_input() -> Result<Source, Failure> {
    let mut text = String::new();
    if let Err(error) = std::io::stdin().read_to_string(&mut text) {
        return Err(Failure::bad_input(Fault::new(format!("standard input: {error}"))));
    }
    let place = "standard input".to_string();
    let scene = from_toml_all(&text, "stdin").map_err(|errors| Failure::scene(&errors, &text))?;
    Ok(Source { place, stem: "stdin".to_string(), scene, notes: Vec::new() })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_nearest_name_is_found_and_nonsense_is_not_guessed() {
        let names = || scenes().iter().map(|s| s.name);
        assert_eq!(nearest("pool_brake", names()), Some("pool_break"));
        assert_eq!(nearest("Newton_Cradel", names()), Some("newton_cradle"));
        assert_eq!(nearest("xyzzy", names()), None);
    }

    #[test]
    fn a_folder_tells_what_is_in_it() {
        let folder = std::env::temp_dir().join(format!("carom-folder-{}", std::process::id()));
        std::fs::create_dir_all(&folder).unwrap();
        assert!(within(&folder).contains("no scene"));
        for name in ["b.toml", "a.urdf", "c.csv"] {
            std::fs::write(folder.join(name), "").unwrap();
        }
        let told = within(&folder);
        assert!(told.find("a.urdf").unwrap() < told.find("b.toml").unwrap() && !told.contains("c.csv"), "{told}");
        std::fs::remove_dir_all(&folder).unwrap();
    }
}

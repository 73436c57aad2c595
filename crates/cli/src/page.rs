//! `.html`: a run as a page of its own.

use crate::failure::{Failure, Fault};
use carom::Scene;
use carom::dynamics::World;
use carom::geometry::Geometry;
use carom::record::{AtomicFile, Log};
use carom::scene::{SceneOf, from_toml_all};
use carom_web::{About, Recorder};
use std::io::Write;
use std::path::{Path, PathBuf};

/// Whether a file is to be a page.
pub fn is_page(path: &Path) -> bool {
    path.extension().is_some_and(|e| e.eq_ignore_ascii_case("html") || e.eq_ignore_ascii_case("htm"))
}

/// Writes a page; it appears whole or not at all.
pub fn write(mut file: AtomicFile, page: &str) -> Result<PathBuf, Failure> {
    if let Err(error) = file.write_all(page.as_bytes()) {
        return Err(Failure::Failed(vec![Fault::new(format!("{}: cannot write: {error}", file.path().display()))]));
    }
    Ok(file.commit()?)
}

/// A recorder that has seen the first `past` of so many steps of a scene: they are taken again, to the same bits.
pub fn recorder<G: Geometry>(world: &World<G>, about: &About<'_>, past: u64, steps: u64) -> Result<Recorder, Failure> {
    let mut recorder = Recorder::new(world, about, steps);
    let mut again = world.copy();
    for _ in 0..past {
        again.step().map_err(|error| Failure::step(&error))?;
        recorder.record(&again);
    }
    Ok(recorder)
}

/// The run of a log as a page; contacts and ledger are computed again, since a log has none.
pub fn of_log(log: &Log, output: &Path) -> Result<PathBuf, Failure> {
    let header = log.header();
    if header.scene.is_empty() {
        let fault = Fault::new(format!("{}: holds no scene, and a page draws its shapes", log.path().display()));
        return Err(Failure::bad_input(fault));
    }
    let file = AtomicFile::create(output)?;
    let scene = from_toml_all(&header.scene, &header.name).map_err(|errors| Failure::scene(&errors, &header.scene))?;
    let steps = log.len().saturating_sub(1);
    let page = match scene {
        Scene::Planar(scene) => replayed(scene, &header.name, steps)?,
        Scene::Spatial(scene) => replayed(scene, &header.name, steps)?,
    };
    write(file, &page)
}

fn replayed<G: Geometry>(scene: SceneOf<G>, name: &str, steps: u64) -> Result<String, Failure> {
    let about = About { name, description: &scene.description, duration: scene.duration };
    let world = World::new(scene.model, scene.state).map_err(|error| Failure::model(name, &error))?;
    Ok(recorder(&world, &about, steps, steps)?.html())
}

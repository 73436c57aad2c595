//! Measured motions as tables that `carom fit` reads, with the scene that is to repeat them.

use crate::toss::{RATE, Tosses};
use crate::{Trouble, cube, elbow};
use carom::dynamics::State;
use carom::math::{Space, Spatial};
use std::path::Path;

/// Writes the scene of a set (`cube.toml`) and its tosses from their starts on (`tosses/*.csv`) into a folder, for `carom fit`; of a set in a folder of data
/// where it is not part of the package. Velocities stand in the first row of a table alone. Says how many tosses there are.
///
/// # Errors
/// A set without tosses, data that cannot be read, or a folder that cannot be written.
pub fn export(set: &str, data: Option<&Path>, folder: &Path) -> Result<usize, Trouble> {
    match set {
        "cube" => {
            let tosses = Tosses::load(data)?.all;
            let motions = tosses.iter().map(|toss| (toss.id, toss.states()));
            write(folder, set, &cube::Setup::auto(0.3, 0.3).scene(), &[("cube", 0)], motions)
        }
        // The friction of the hinge is there to be found.
        "elbow" => write(folder, set, &elbow::scene("friction = 0\n"), &elbow::BLOCKS, elbow::motions(data)?.into_iter()),
        _ => Err(Trouble::Failed(format!("{set}: has no motions to fit; cube and elbow have"))),
    }
}

/// The scene and one table per motion; `bodies` are those that were seen, with their places in the states.
fn write(
    folder: &Path,
    set: &str,
    scene: &str,
    bodies: &[(&str, usize)],
    motions: impl Iterator<Item = (i64, Vec<State<Spatial>>)>,
) -> Result<usize, Trouble> {
    let fault = |path: &Path, error: &std::io::Error| Trouble::Failed(format!("{}: {error}", path.display()));
    let inside = folder.join("tosses");
    std::fs::create_dir_all(&inside).map_err(|e| fault(&inside, &e))?;
    let file = folder.join(format!("{set}.toml"));
    std::fs::write(&file, scene).map_err(|e| fault(&file, &e))?;
    let mut count = 0;
    for (id, states) in motions {
        let mut text = String::from("time,body,x,y,z,qw,qx,qy,qz,vx,vy,vz,wx,wy,wz\n");
        for (k, state) in states.iter().enumerate() {
            for (name, body) in bodies {
                let (mut q, mut v) = ([0.0; Spatial::COORDS], [0.0; Spatial::DOF]);
                state.write_pose(*body, &mut q);
                state.write_twist(*body, &mut v);
                let join = |x: &[f64]| x.iter().map(|x| format!("{x:?}")).collect::<Vec<_>>().join(",");
                let rates = if k == 0 { join(&v) } else { ",".repeat(Spatial::DOF - 1) };
                text += &format!("{:?},{name},{},{rates}\n", k as f64 / RATE, join(&q));
            }
        }
        let path = inside.join(format!("toss_{id:03}.csv"));
        std::fs::write(&path, text).map_err(|e| fault(&path, &e))?;
        count += 1;
    }
    Ok(count)
}

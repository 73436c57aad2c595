//! One toss, measured and simulated, as a strip of pictures.

use crate::toss::{Toss, WIDTH};
use crate::{Picture, Trouble};
use carom::dynamics::State;
use carom::math::Spatial;
use carom::scene::{Scene, from_toml};
use carom_render::{Kind, Options, render_states};

/// Panels of the strip.
const PANELS: usize = 5;
/// Width of a panel \[pixels\].
const PANEL: usize = 220;

/// Draws states that start at a frame of a toss beside what was measured.
pub fn strip(toss: &Toss, frame: usize, states: &[State<Spatial>], body: usize) -> Result<Picture, Trouble> {
    let failed = |error: String| Trouble::Failed(error);
    let cube = |name: &str, color: &str| {
        format!(
            "[[body]]\nname = \"{name}\"\nkind = \"kinematic\"\ncolor = \"{color}\"\nshape = {{ box = [{WIDTH}, {WIDTH}, {WIDTH}] }}\nposition = [0, 0, 1]\n"
        )
    };
    let text = format!(
        "dimension = 3\n[[body]]\nname = \"table\"\nkind = \"static\"\nshape = {{ half_space = [0, 0, 1] }}\n{}{}",
        cube("measured", "#d1622b"),
        cube("simulated", "#1f5a96"),
    );
    let Scene::Spatial(scene) = from_toml(&text, "strip").map_err(|e| failed(e.to_string()))? else {
        return Err(failed("the scene of the strip is not spatial".to_string()));
    };
    let both: Vec<State<Spatial>> = states
        .iter()
        .zip(&toss.poses[frame..])
        .map(|(simulated, measured)| {
            let mut state = scene.state.clone();
            state.time = simulated.time;
            (state.poses[1], state.poses[2]) = (*measured, simulated.poses[body]);
            state
        })
        .collect();
    let options = Options { width: Some(PANEL), panels: PANELS, follow: Some(false), ..Options::default() };
    let mut svg = Vec::new();
    render_states((&both, "toss"), &scene.model, Kind::Svg, &options, &mut svg, &mut |_, _| true).map_err(|e| failed(e.to_string()))?;
    let title = format!("Toss {}, whose error is the median: measured (orange) and simulated (blue)", toss.id);
    Ok(Picture { stem: "cube-strip".to_string(), title, svg: String::from_utf8_lossy(&svg).into_owned() })
}

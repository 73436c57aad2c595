//! The classics, one idea in one file each, embedded so that every build can run them.

use std::sync::LazyLock;

/// A scene that comes with the engine.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Embedded {
    /// Name, as in `carom run NAME`.
    pub name: &'static str,
    /// The scene text.
    pub text: &'static str,
    /// One line for people: the scene's description.
    pub summary: &'static str,
}

/// Names and texts, sorted by name.
const FILES: &[(&str, &str)] = &[
    ("arch", include_str!("../scenes/arch.toml")),
    ("ball_between_walls", include_str!("../scenes/ball_between_walls.toml")),
    ("ball_drop", include_str!("../scenes/ball_drop.toml")),
    ("bank_shot", include_str!("../scenes/bank_shot.toml")),
    ("bouncing_spheres_3d", include_str!("../scenes/bouncing_spheres_3d.toml")),
    ("bowling", include_str!("../scenes/bowling.toml")),
    ("box_pile", include_str!("../scenes/box_pile.toml")),
    ("box_stack_3d", include_str!("../scenes/box_stack_3d.toml")),
    ("brick_wall", include_str!("../scenes/brick_wall.toml")),
    ("card_house", include_str!("../scenes/card_house.toml")),
    ("chain_10", include_str!("../scenes/chain_10.toml")),
    ("chain_100", include_str!("../scenes/chain_100.toml")),
    ("chain_1000", include_str!("../scenes/chain_1000.toml")),
    ("chain_10000", include_str!("../scenes/chain_10000.toml")),
    ("clock", include_str!("../scenes/clock.toml")),
    ("closed_chain", include_str!("../scenes/closed_chain.toml")),
    ("corner", include_str!("../scenes/corner.toml")),
    ("cradle_50", include_str!("../scenes/cradle_50.toml")),
    ("cradle_unequal", include_str!("../scenes/cradle_unequal.toml")),
    ("crane", include_str!("../scenes/crane.toml")),
    ("domino_row", include_str!("../scenes/domino_row.toml")),
    ("domino_spiral", include_str!("../scenes/domino_spiral.toml")),
    ("double_pendulum", include_str!("../scenes/double_pendulum.toml")),
    ("dzhanibekov", include_str!("../scenes/dzhanibekov.toml")),
    ("four_bar", include_str!("../scenes/four_bar.toml")),
    ("galton_board", include_str!("../scenes/galton_board.toml")),
    ("geyser", include_str!("../scenes/geyser.toml")),
    ("granular_chain", include_str!("../scenes/granular_chain.toml")),
    ("grasp", include_str!("../scenes/grasp.toml")),
    ("hourglass", include_str!("../scenes/hourglass.toml")),
    ("hub_200", include_str!("../scenes/hub_200.toml")),
    ("inelastic_collapse", include_str!("../scenes/inelastic_collapse.toml")),
    ("jansen_leg", include_str!("../scenes/jansen_leg.toml")),
    ("locked_plug", include_str!("../scenes/locked_plug.toml")),
    ("marble_run", include_str!("../scenes/marble_run.toml")),
    ("mimic_gripper", include_str!("../scenes/mimic_gripper.toml")),
    ("motor_crank", include_str!("../scenes/motor_crank.toml")),
    ("net", include_str!("../scenes/net.toml")),
    ("newton_cradle", include_str!("../scenes/newton_cradle.toml")),
    ("pile_1000", include_str!("../scenes/pile_1000.toml")),
    ("pile_in_bin", include_str!("../scenes/pile_in_bin.toml")),
    ("pool_break", include_str!("../scenes/pool_break.toml")),
    ("pool_break_real", include_str!("../scenes/pool_break_real.toml")),
    ("pyramid", include_str!("../scenes/pyramid.toml")),
    ("quadruped", include_str!("../scenes/quadruped.toml")),
    ("ragdoll", include_str!("../scenes/ragdoll.toml")),
    ("ragdolls", include_str!("../scenes/ragdolls.toml")),
    ("rod_strikes_table", include_str!("../scenes/rod_strikes_table.toml")),
    ("rope_bridge", include_str!("../scenes/rope_bridge.toml")),
    ("rope_swing", include_str!("../scenes/rope_swing.toml")),
    ("rough_ground", include_str!("../scenes/rough_ground.toml")),
    ("seesaw", include_str!("../scenes/seesaw.toml")),
    ("slider_crank", include_str!("../scenes/slider_crank.toml")),
    ("slip_angle_above", include_str!("../scenes/slip_angle_above.toml")),
    ("slip_angle_at", include_str!("../scenes/slip_angle_at.toml")),
    ("slip_angle_below", include_str!("../scenes/slip_angle_below.toml")),
    ("spinning_top", include_str!("../scenes/spinning_top.toml")),
    ("spring_pendulum", include_str!("../scenes/spring_pendulum.toml")),
    ("stack_ten", include_str!("../scenes/stack_ten.toml")),
    ("strandbeest", include_str!("../scenes/strandbeest.toml")),
    ("superball", include_str!("../scenes/superball.toml")),
    ("ten_legs", include_str!("../scenes/ten_legs.toml")),
    ("terrain_3d", include_str!("../scenes/terrain_3d.toml")),
    ("tilting_table", include_str!("../scenes/tilting_table.toml")),
    ("tree", include_str!("../scenes/tree.toml")),
    ("trike", include_str!("../scenes/trike.toml")),
    ("triple_pendulum", include_str!("../scenes/triple_pendulum.toml")),
    ("two_balls_between_walls", include_str!("../scenes/two_balls_between_walls.toml")),
    ("two_compressions", include_str!("../scenes/two_compressions.toml")),
    ("wedge", include_str!("../scenes/wedge.toml")),
    ("wrecking_ball", include_str!("../scenes/wrecking_ball.toml")),
];

/// The embedded scenes, sorted by name.
pub fn scenes() -> &'static [Embedded] {
    static SCENES: LazyLock<Vec<Embedded>> =
        LazyLock::new(|| FILES.iter().map(|&(name, text)| Embedded { name, text, summary: summary(text) }).collect());
    &SCENES
}

/// The embedded scene of a name.
pub fn scene(name: &str) -> Option<&'static Embedded> {
    scenes().iter().find(|s| s.name == name)
}

/// The description of a scene text without reading all of it; empty when it has none.
fn summary(text: &'static str) -> &'static str {
    text.lines().find_map(|line| line.strip_prefix("description = \"")?.strip_suffix('"')).unwrap_or("")
}

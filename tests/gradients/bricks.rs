//! Bricks that stand on two others each: more rows than twice the freedoms, whose derivative goes over the bodies.

use carom_tests::differences::check_text;
use std::fmt::Write as _;

/// Length and height of a brick \[m\].
const BRICK: [f64; 2] = [0.4, 0.2];
/// How the wall stands about the vertical \[rad\], and how fast all of it goes \[m/s\].
const TURN: f64 = 0.4;
const VELOCITY: [f64; 2] = [1.3, 0.6];

/// A wall of so many bricks in its lowest row, each row one fewer, turned about the vertical, that slides over the ground under a slanted pull.
fn sliding_wall(base: usize) -> String {
    let mut text = String::from(
        "dimension = 3\nstep = 0.005\ngravity = [0.4, -0.3, -9.7]\n[materials.smooth]\nfriction = 0.1\n[materials.rough]\nfriction = 0.9\n\
         [[body]]\nname = \"ground\"\nkind = \"static\"\nshape = { half_space = [0, 0, 1] }\nmaterial = \"smooth\"\n",
    );
    let (sin, cos) = TURN.sin_cos();
    for row in 0..base {
        for column in 0..base - row {
            let along = BRICK[0] * (column as f64 + 0.5 * row as f64);
            let position = [along * cos, along * sin, BRICK[1] * (row as f64 + 0.5)];
            let _ = writeln!(
                text,
                "[[body]]\nname = \"b{row}_{column}\"\nshape = {{ box = [{}, 0.2, {}] }}\nmass = {}\nposition = {position:?}\nvelocity = [{}, {}, 0]\n\
                 rotation = [{}, 0, 0, {}]\nmaterial = \"rough\"",
                BRICK[0],
                BRICK[1],
                4 + row + column,
                VELOCITY[0],
                VELOCITY[1],
                (0.5 * TURN).cos(),
                (0.5 * TURN).sin(),
            );
        }
    }
    text
}

#[test]
fn bricks_that_slide_together() {
    // 36 contacts, 108 rows on 36 freedoms: twelve of the contacts slide, the rest stick.
    let findings = check_text(&sliding_wall(3), 2, 6, 1);
    println!("{findings:#?}");
    // What moves gaps has a derivative to one side alone, and here to another side at every contact.
    let kinks = ["pose", "placement", "shape"];
    for found in findings.agreements.iter().filter(|found| !kinks.contains(&found.sort)) {
        assert!(found.error < 1e-6, "{}: {:.1e} of {:.1e}", found.sort, found.error, found.size);
    }
    assert!(findings.agreements.iter().any(|found| found.sort == "velocity" && found.size > 0.1));
}

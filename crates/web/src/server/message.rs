//! What page and simulation say to each other.

use carom_scene::SceneErrors;
use serde::Deserialize;
use serde_json::{Value, json};

/// What a page asks for, as JSON: `{"do": "run", "on": true}`.
#[derive(Clone, Debug, Deserialize, PartialEq)]
#[serde(tag = "do", rename_all = "snake_case")]
pub enum Wish {
    /// Show an embedded scene.
    Open {
        /// Its name.
        name: String,
    },
    /// Show the scene of a text.
    Edit {
        /// The text.
        text: String,
    },
    /// Say what is wrong with a text.
    Check {
        /// The text.
        text: String,
        /// Comes back with the answer.
        id: u64,
    },
    /// Run or pause.
    Run {
        /// Which.
        on: bool,
    },
    /// Take one step.
    Step,
    /// Back to the start.
    Reset,
    /// Simulated seconds per second.
    Speed {
        /// Above 0.
        factor: f64,
    },
    /// Take hold of a body.
    Grab {
        /// Which.
        body: usize,
        /// Where, body frame \[m\].
        at: Vec<f64>,
    },
    /// Pull what is held.
    Pull {
        /// Towards, world \[m\].
        to: Vec<f64>,
    },
    /// Let go.
    Release,
    /// Send the boxes of the broadphase or not.
    Boxes {
        /// Which.
        on: bool,
    },
    /// So many shots have been drawn since the last word.
    Seen {
        /// How many.
        count: usize,
    },
    /// Set a parameter.
    Set {
        /// Its name: `gravity`, `mass`, `friction`, `restitution`, or a motor's `joint_motor_velocity`, `joint_motor_position`.
        key: String,
        /// Of which body, joint or axis; of all when absent.
        index: Option<usize>,
        /// The number.
        value: f64,
    },
    /// Set a control.
    Control {
        /// Which, in the engine's order.
        index: usize,
        /// Torque \[N m\], force \[N\], or factor of a force.
        value: f64,
    },
    /// The scene as text, with what was set.
    Write,
    /// Everything the next step depends on, for a link.
    State,
    /// Show a scene with parameters and a state of an earlier link.
    Restore {
        /// Name of the scene.
        name: String,
        /// Its text; that of the embedded scene of this name when absent.
        text: Option<String>,
        /// What was set: key, index, number.
        set: Vec<(String, Option<usize>, f64)>,
        /// Controls.
        controls: Vec<f64>,
        /// The state, in hexadecimal digits.
        state: String,
    },
    /// The gradient of a loss.
    Slope {
        /// As text.
        loss: String,
        /// Simulated time from the start \[s\].
        time: f64,
    },
}

/// What is sent to a page.
#[derive(Clone, Debug)]
pub enum Report {
    /// JSON with a key `is`.
    Text(String),
    /// The world after a step; little-endian: generation (4 bytes), step (4), time (8), counts of contacts and of boxes (4 each), books (8 each),
    /// then poses, velocities, contacts (a, b, point, normal, impulse) and boxes (least and greatest corner) in 4 bytes a number.
    Shot(Vec<u8>),
}

impl Report {
    /// From JSON.
    pub fn json(value: &Value) -> Self {
        Report::Text(value.to_string())
    }
    /// Everything that is wrong with a text; nothing when it is right.
    pub fn errors(id: u64, errors: Option<&SceneErrors>) -> Self {
        let errors: Vec<Value> = errors
            .into_iter()
            .flat_map(|errors| errors.iter())
            .map(|error| {
                let mut hint = String::new();
                if let Some(nearest) = &error.nearest {
                    hint = format!("did you mean \"{nearest}\"?");
                } else if !error.allowed.is_empty() {
                    hint = format!("allowed: {}", error.allowed.join(", "));
                }
                let key = if error.key.is_empty() { String::new() } else { format!(", {}", error.key) };
                json!({
                    "line": error.line, "column": error.column, "start": error.span.start, "end": error.span.end,
                    "message": format!("{}{key}: {}", error.part, error.problem), "hint": hint,
                })
            })
            .collect();
        Report::json(&json!({ "is": "errors", "id": id, "errors": errors }))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn wishes_are_read_and_nonsense_is_not() {
        let read = |text: &str| serde_json::from_str::<Wish>(text);
        assert_eq!(read(r#"{"do":"run","on":true}"#).unwrap(), Wish::Run { on: true });
        assert_eq!(read(r#"{"do":"step"}"#).unwrap(), Wish::Step);
        assert_eq!(read(r#"{"do":"grab","body":3,"at":[0,1]}"#).unwrap(), Wish::Grab { body: 3, at: vec![0.0, 1.0] });
        for text in
            ["", "{}", r#"{"do":"fly"}"#, r#"{"do":"run"}"#, r#"{"do":"grab","body":-1,"at":[]}"#, r#"{"do":"speed","factor":"fast"}"#]
        {
            assert!(read(text).is_err(), "{text}");
        }
    }

    #[test]
    fn errors_carry_their_place_and_a_hint() {
        let errors = carom_scene::from_toml_all("dimension = 2\ngravty = [0, -1]", "x").unwrap_err();
        let Report::Text(text) = Report::errors(7, Some(&errors)) else { panic!("text") };
        let value: Value = serde_json::from_str(&text).unwrap();
        assert_eq!((&value["id"], &value["errors"][0]["line"]), (&json!(7), &json!(2)));
        assert!(value["errors"][0]["hint"].as_str().unwrap().contains("gravity"));
    }
}

//! What a gradient is taken by and a fit may change: `mass[ball]`, `gravity.y`, `joint_anchor[hinge]`, `q[ball].x`, `v[cue]`, `controls`.

use crate::complaint::{Complaint, bad, nearest, unknown};
use carom_dynamics::gradient::{Direction, Gradient, Names, Parameters, Quantity, Row};
use carom_dynamics::{BodyKind, Coefficients, JointSpec, Model, ModelError, PairRule, State, World};
use carom_geometry::Geometry;
use carom_math::Twist;

/// Names of the tangent of a pose in the plane and in space: turns are world rotation vectors.
const PLANAR_Q: &[&str] = &["x", "y", "angle"];
const SPATIAL_Q: &[&str] = &["x", "y", "z", "rx", "ry", "rz"];
/// Names of the components of a velocity.
const PLANAR_V: &[&str] = &["x", "y", "spin"];
const SPATIAL_V: &[&str] = &["x", "y", "z", "wx", "wy", "wz"];

/// Which number a variable is.
#[derive(Clone, Debug, PartialEq)]
enum Place {
    /// An entry of an array of parameters.
    Parameter(String, usize),
    /// A component of a body's pose at the start, as a tangent.
    Pose(usize, usize),
    /// A component of a body's velocity at the start.
    Twist(usize, usize),
    /// A control, the same at every step.
    Control(usize),
}

/// One number that a run depends on.
#[derive(Clone, Debug, PartialEq)]
pub struct Variable {
    /// As it is written: `mass[ball]`.
    pub label: String,
    /// What it is in the scene.
    pub value: f64,
    place: Place,
}

/// A scene at its start with its parameters by name.
#[derive(Debug)]
pub struct Start<G: Geometry> {
    /// The world.
    pub world: World<G>,
    /// Names of its parameters.
    pub names: Names<G>,
    /// Where they stand in the flat vector.
    pub layout: Parameters,
    /// Controls, held over the whole run.
    pub controls: Vec<f64>,
}

/// Parts of a list at its commas, those in brackets left alone.
pub fn split(list: &str) -> Vec<&str> {
    let mut out = Vec::new();
    let (mut depth, mut start) = (0i32, 0);
    for (at, letter) in list.char_indices() {
        match letter {
            '[' => depth += 1,
            ']' => depth -= 1,
            ',' if depth <= 0 => {
                out.push(list[start..at].trim());
                start = at + 1;
            }
            _ => {}
        }
    }
    out.push(list[start..].trim());
    out.retain(|part| !part.is_empty());
    out
}

/// `name[row].component`.
struct Written<'a> {
    name: &'a str,
    row: Option<&'a str>,
    component: Option<&'a str>,
}

fn take_apart(text: &str) -> Result<Written<'_>, Complaint> {
    let shape =
        || bad(format!("\"{text}\" is not written like a parameter"), "write mass, mass[ball], joint_anchor[hinge].x, q[ball].x or v[cue]");
    let Some((name, rest)) = text.split_once('[') else {
        return Ok(match text.split_once('.') {
            Some((name, component)) => Written { name, row: None, component: Some(component) },
            None => Written { name: text, row: None, component: None },
        });
    };
    let (row, rest) = rest.rsplit_once(']').ok_or_else(shape)?;
    let component = match rest {
        "" => None,
        rest => Some(rest.strip_prefix('.').ok_or_else(shape)?),
    };
    Ok(Written { name, row: Some(row.trim().trim_matches('"')), component })
}

/// Coefficients of a pair of bodies.
const PAIRS: [&str; 2] = ["pair_friction", "pair_restitution"];

/// Whether a word means a row; a pair is also called by its bodies with a comma between, in either order.
fn is_called<G: Geometry>(row: &Row, model: &Model<G>, word: &str) -> bool {
    if row.is_called(model, word) {
        return true;
    }
    let (Row::Pair(p), Some((a, b))) = (row, word.split_once([',', '+'])) else { return false };
    let names = model.pairs[*p].bodies.map(|b| model.bodies[b].name.as_str());
    let word = [a, b].map(|name| name.trim().trim_matches('"'));
    names == word || names == [word[1], word[0]]
}

/// Names of the controls, in order: the joints with a controlled motor, then the controlled forces by their place.
pub fn control_names<G: Geometry>(model: &Model<G>) -> Vec<String> {
    let joints = model.joints.iter().filter(|j| j.is_controlled()).map(|j| j.name.clone());
    let forces = model.forces.iter().enumerate().filter(|(_, f)| f.control).map(|(i, _)| format!("force{i}"));
    joints.chain(forces).collect()
}

impl<G: Geometry> Start<G> {
    /// The start of a scene.
    ///
    /// # Errors
    /// A model or state that makes no world.
    pub fn new(model: Model<G>, joints: &[JointSpec<G>], state: State<G>) -> Result<Self, ModelError> {
        let names = Names::new(&model, joints, &state)?;
        Ok(Self::of(World::new(model, state)?, names))
    }

    /// The start of a world that stands already, with the names of its parameters.
    pub fn of(world: World<G>, names: Names<G>) -> Self {
        let (layout, controls) = (Parameters::of(world.model()), vec![0.0; world.model().control_count()]);
        Start { world, names, layout, controls }
    }

    /// The start in which the pairs that texts name (`pair_friction[a, b]`) have coefficients of their own; without a rule of the scene they begin at the
    /// mean of the two bodies, which is what acts.
    ///
    /// # Errors
    /// A name that no body has, or a pair that makes no world.
    pub fn with_pairs<'t>(self, texts: impl IntoIterator<Item = &'t str>) -> Result<Self, Complaint> {
        let mut model = self.world.model().clone();
        for text in texts {
            let written = take_apart(text)?;
            let (Some(row), true) = (written.row, PAIRS.contains(&written.name)) else { continue };
            let Some((a, b)) = row.split_once([',', '+']) else { continue };
            let find = |name: &str| {
                let names = model.bodies.iter().map(|b| b.name.as_str());
                let name = name.trim().trim_matches('"');
                model.body(name).ok_or_else(|| unknown(format!("{text}: no body \"{name}\""), name, names, "write pair_friction[a, b]"))
            };
            let bodies = [find(a)?, find(b)?];
            let mean = |of: fn(&carom_dynamics::Body<G>) -> f64| (of(&model.bodies[bodies[0]]) + of(&model.bodies[bodies[1]])) / 2.0;
            let (friction, restitution) = (mean(|b| b.surface.friction), mean(|b| b.surface.restitution));
            let known = model.pairs.iter().position(|p| p.bodies == bodies || p.bodies == [bodies[1], bodies[0]]);
            let rule = match known {
                Some(place) => &mut model.pairs[place],
                None => {
                    model.pairs.push(PairRule { bodies, coefficients: Coefficients::default(), impact: None, collide: None });
                    let last = model.pairs.len() - 1;
                    &mut model.pairs[last]
                }
            };
            if written.name == PAIRS[0] {
                rule.coefficients.friction.get_or_insert(friction);
            } else {
                rule.coefficients.restitution.get_or_insert(restitution);
            }
        }
        if model.pairs == self.world.model().pairs {
            return Ok(self);
        }
        let world =
            self.world.altered(model, self.world.state().clone()).map_err(|error| bad(error.to_string(), "a pair of two bodies"))?;
        Ok(Start { controls: self.controls, ..Self::of(world, self.names) })
    }

    /// The variables that a text names; several where it leaves out the row or the component.
    ///
    /// # Errors
    /// A name that nothing has; the nearest one is named.
    pub fn resolve(&self, text: &str) -> Result<Vec<Variable>, Complaint> {
        let written = take_apart(text)?;
        let found = match written.name {
            "q" => self.bodies(&written, if G::DIM == 2 { PLANAR_Q } else { SPATIAL_Q })?,
            "v" => self.bodies(&written, if G::DIM == 2 { PLANAR_V } else { SPATIAL_V })?,
            "controls" => self.controls(&written)?,
            _ => self.parameters(&written)?,
        };
        if found.is_empty() {
            return Err(bad(format!("\"{text}\" names nothing that can be changed"), "static bodies have no mass, inertia or centre"));
        }
        Ok(found)
    }

    fn parameters(&self, written: &Written<'_>) -> Result<Vec<Variable>, Complaint> {
        let model = self.world.model();
        let key = written.name;
        let quantity = self.names.get(model, &self.layout, key).map_err(|_| {
            let mut known = self.names.keys(model);
            known.extend(["q", "v", "controls"].map(str::to_string));
            let listing = format!("parameters: {}", known.join(", "));
            if PAIRS.contains(&key) {
                return bad(format!("{key}: the scene has no pair with a coefficient of its own"), format!("name the bodies: {key}[a, b]"));
            }
            unknown(format!("no parameter \"{key}\" in this scene"), key, known.iter().map(String::as_str), &listing)
        })?;
        if let Some(row) = written.row
            && !quantity.rows.iter().any(|r| is_called(r, model, row))
        {
            let labels: Vec<String> = quantity.rows.iter().map(|r| r.label(model)).collect();
            let help = match nearest(row, labels.iter().map(String::as_str)) {
                Some(near) => format!("did you mean {key}[{near}]?"),
                None if labels.iter().all(String::is_empty) => format!("write {key} alone"),
                None => format!("it has {}", labels.join(", ")),
            };
            return Err(bad(format!("{key} has no row \"{row}\""), help));
        }
        if let Some(component) = written.component
            && !quantity.components.contains(&component)
        {
            let help = if quantity.components == [""] {
                format!("{key} is one number per row")
            } else {
                format!("it has {}", quantity.components.join(", "))
            };
            return Err(bad(format!("{key} has no component \"{component}\""), help));
        }
        let wanted = |entry: usize| {
            let (row, component) = quantity.place(entry);
            written.row.is_none_or(|r| is_called(&row, model, r))
                && written.component.is_none_or(|c| c == component)
                && quantity.values[entry].is_finite()
                && !quantity.terms(entry).is_empty()
        };
        let entries = (0..quantity.len()).filter(|entry| wanted(*entry));
        Ok(entries.map(|entry| self.parameter(key, &quantity, entry)).collect())
    }

    fn parameter(&self, key: &str, quantity: &Quantity, entry: usize) -> Variable {
        let (row, component) = quantity.place(entry);
        let row = row.label(self.world.model());
        let row = if row.is_empty() { String::new() } else { format!("[{row}]") };
        let component = if component.is_empty() { String::new() } else { format!(".{component}") };
        let place = Place::Parameter(key.to_string(), entry);
        Variable { label: format!("{key}{row}{component}"), value: quantity.values[entry], place }
    }

    fn bodies(&self, written: &Written<'_>, components: &[&str]) -> Result<Vec<Variable>, Complaint> {
        let (name, state) = (written.name, self.world.state());
        let bodies: Vec<usize> = match written.row {
            Some(row) => match self.world.model().body(row) {
                Some(body) => vec![body],
                None => {
                    let names = self.world.model().bodies.iter().map(|b| b.name.as_str());
                    return Err(unknown(format!("no body \"{row}\""), row, names, "the bodies of the scene"));
                }
            },
            None => (0..state.poses.len()).filter(|b| self.world.model().bodies[*b].kind != BodyKind::Static).collect(),
        };
        // Velocities are also called as a loss calls them.
        let wanted = written.component.map(|c| if name == "v" { c.strip_prefix('v').unwrap_or(c) } else { c });
        if let (Some(component), Some(written)) = (wanted, written.component)
            && !components.contains(&component)
        {
            return Err(bad(format!("{name} has no component \"{written}\""), format!("it has {}", components.join(", "))));
        }
        let mut out = Vec::new();
        for body in bodies {
            for (k, component) in components.iter().enumerate().filter(|(_, c)| wanted.is_none_or(|w| w == **c)) {
                let label = format!("{name}[{}].{component}", self.world.model().bodies[body].name);
                let place = if name == "q" { Place::Pose(body, k) } else { Place::Twist(body, k) };
                out.push(Variable { label, value: state_value(state, &place), place });
            }
        }
        Ok(out)
    }

    fn controls(&self, written: &Written<'_>) -> Result<Vec<Variable>, Complaint> {
        let names = control_names(self.world.model());
        if names.is_empty() {
            return Err(bad("the scene has no controls".to_string(), "give a motor or a force `control = true`"));
        }
        if let Some(row) = written.row
            && !names.iter().any(|n| n == row)
        {
            return Err(unknown(
                format!("no control \"{row}\""),
                row,
                names.iter().map(String::as_str),
                &format!("controls: {}", names.join(", ")),
            ));
        }
        let wanted = names.iter().enumerate().filter(|(_, n)| written.row.is_none_or(|r| r == n.as_str()));
        Ok(wanted.map(|(i, n)| Variable { label: format!("controls[{n}]"), value: self.controls[i], place: Place::Control(i) }).collect())
    }

    /// The start with variables at other values; says what is wrong with them.
    pub fn with(&self, variables: &[Variable], values: &[f64]) -> Result<Self, String> {
        let (mut model, mut state) = (self.world.model().clone(), self.world.state().clone());
        let (mut names, mut controls) = (self.names.clone(), self.controls.clone());
        let mut done: Vec<&str> = Vec::new();
        for (variable, value) in variables.iter().zip(values) {
            match &variable.place {
                Place::Parameter(key, _) if done.contains(&key.as_str()) => {}
                Place::Parameter(key, _) => {
                    // All entries of one array are set together.
                    let mut array = names.get(&model, &self.layout, key).map_err(|e| e.to_string())?.values;
                    for (other, value) in variables.iter().zip(values) {
                        if let Place::Parameter(k, entry) = &other.place
                            && k == key
                        {
                            array[*entry] = *value;
                        }
                    }
                    model = names.set(&model, key, &array).map_err(|e| e.to_string())?;
                    done.push(key);
                }
                Place::Control(i) => controls[*i] = *value,
                place => set_state(&mut state, place, *value),
            }
        }
        let world = self.world.altered(model, state).map_err(|e| e.to_string())?;
        Ok(Start { controls, ..Self::of(world, names) })
    }

    /// The direction in which a variable grows by one; controls over `steps` steps.
    pub fn direction(&self, variable: &Variable, steps: usize) -> Direction {
        let size = self.world.model().bodies.len() * G::DOF;
        let unit = |len: usize, at: usize| {
            let mut out = vec![0.0; len];
            out[at] = 1.0;
            out
        };
        match &variable.place {
            Place::Pose(body, k) => Direction { poses: unit(size, body * G::DOF + k), ..Direction::default() },
            Place::Twist(body, k) => Direction { twists: unit(size, body * G::DOF + k), ..Direction::default() },
            Place::Control(i) => {
                let one = unit(self.controls.len(), *i);
                Direction { controls: one.iter().copied().cycle().take(steps * one.len()).collect(), ..Direction::default() }
            }
            Place::Parameter(key, entry) => {
                let mut parameters = vec![0.0; self.layout.len];
                if let Ok(quantity) = self.names.get(self.world.model(), &self.layout, key) {
                    quantity.terms(*entry).iter().for_each(|(slot, weight)| parameters[*slot] += weight);
                }
                Direction { parameters, ..Direction::default() }
            }
        }
    }

    /// The derivative with respect to a variable, out of a whole gradient.
    pub fn derivative(&self, variable: &Variable, gradient: &Gradient) -> f64 {
        match &variable.place {
            Place::Pose(body, k) => gradient.poses[body * G::DOF + k],
            Place::Twist(body, k) => gradient.twists[body * G::DOF + k],
            Place::Control(i) => gradient.controls.iter().skip(*i).step_by(self.controls.len().max(1)).sum(),
            Place::Parameter(key, entry) => match self.names.get(self.world.model(), &self.layout, key) {
                Ok(quantity) => quantity.terms(*entry).iter().map(|(slot, weight)| weight * gradient.parameters[*slot]).sum(),
                Err(_) => 0.0,
            },
        }
    }

    /// The controls of a run of so many steps.
    pub fn control_run(&self, steps: usize) -> Vec<f64> {
        self.controls.iter().copied().cycle().take(steps * self.controls.len()).collect()
    }
}

impl Variable {
    /// The same at another value.
    pub fn at(&self, value: f64) -> Self {
        Variable { value, ..self.clone() }
    }
    /// Whether it is a number of the state at the start.
    pub fn is_state(&self) -> bool {
        matches!(self.place, Place::Pose(..) | Place::Twist(..))
    }
    /// Whether it is a turn of a body in space, which does not add up like a number.
    pub fn is_turn<G: Geometry>(&self) -> bool {
        matches!(self.place, Place::Pose(_, k) if G::DIM > 2 && k >= G::DIM)
    }
    /// What it may be at all: coefficients and sizes are not negative, restitution at most one.
    pub fn range(&self) -> [f64; 2] {
        /// Masses and steps stay above this part of what they are: at zero there is no motion.
        const LEAST: f64 = 1e-6;
        let Place::Parameter(key, _) = &self.place else { return [f64::NEG_INFINITY, f64::INFINITY] };
        match key.as_str() {
            "mass" | "inertia" | "step" | "shape_ball" | "shape_box" | "shape_cylinder" | "shape_cone" | "joint_length" => {
                [LEAST * self.value, f64::INFINITY]
            }
            "joint_rest"
            | "joint_stiffness"
            | "joint_damping"
            | "joint_friction"
            | "joint_motor_stiffness"
            | "joint_motor_damping"
            | "joint_motor_max" => [0.0, f64::INFINITY],
            key => carom_dynamics::model::bounds(key).unwrap_or([f64::NEG_INFINITY, f64::INFINITY]),
        }
    }
}

/// The value of a component of the start; a turn in space counts from where the scene puts it.
fn state_value<G: Geometry>(state: &State<G>, place: &Place) -> f64 {
    match *place {
        Place::Pose(body, k) if k < G::DIM => state.poses[body].position[k],
        Place::Pose(body, _) if G::DIM == 2 => G::log(state.poses[body].rotation)[0],
        Place::Twist(body, k) if k < G::DIM => state.twists[body].lin[k],
        Place::Twist(body, k) => state.twists[body].ang[k - G::DIM],
        _ => 0.0,
    }
}

fn set_state<G: Geometry>(state: &mut State<G>, place: &Place, value: f64) {
    match *place {
        Place::Pose(body, k) if k < G::DIM => state.poses[body].position[k] = value,
        Place::Pose(body, k) => {
            let mut turn = Twist::<G>::zero();
            turn.ang[k - G::DIM] = value - state_value(state, place);
            state.poses[body] = state.poses[body].advanced(turn, 1.0);
        }
        Place::Twist(body, k) if k < G::DIM => state.twists[body].lin[k] = value,
        Place::Twist(body, k) => state.twists[body].ang[k - G::DIM] = value,
        _ => {}
    }
}

#[cfg(test)]
mod tests;

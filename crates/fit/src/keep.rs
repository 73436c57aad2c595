//! Finished searches in a file, so that a fit goes on where it was stopped.

use crate::complaint::{Complaint, bad};
use crate::motion::Motion;
use crate::problem::Point;
use crate::search::{Found, Status};
use carom_dynamics::State;
use carom_geometry::Geometry;
use carom_math::{Pose, Twist, Vector};
use serde_json::{Value, json};
use std::path::{Path, PathBuf};

/// The file, and what is in it.
#[derive(Debug, Default)]
pub struct Kept {
    path: Option<PathBuf>,
    key: String,
    searches: Vec<Value>,
}

/// Poses and velocities of a state as numbers.
pub fn flat<G: Geometry>(state: &State<G>) -> (Vec<f64>, Vec<f64>) {
    let n = state.poses.len();
    let (mut q, mut v) = (vec![0.0; n * G::COORDS], vec![0.0; n * G::DOF]);
    for body in 0..n {
        state.write_pose(body, &mut q[body * G::COORDS..(body + 1) * G::COORDS]);
        state.write_twist(body, &mut v[body * G::DOF..(body + 1) * G::DOF]);
    }
    (q, v)
}

fn state<G: Geometry>(like: &State<G>, q: &[f64], v: &[f64]) -> Option<State<G>> {
    let mut out = like.clone();
    if q.len() != out.poses.len() * G::COORDS || v.len() != out.poses.len() * G::DOF {
        return None;
    }
    for (body, (q, v)) in q.chunks_exact(G::COORDS).zip(v.chunks_exact(G::DOF)).enumerate() {
        out.poses[body] = Pose { position: G::Lin::from_slice(q), rotation: G::read_rotation(&q[G::DIM..])? };
        out.twists[body] = Twist { lin: G::Lin::from_slice(v), ang: G::Ang::from_slice(&v[G::DIM..]) };
    }
    Some(out)
}

fn numbers(value: &Value) -> Option<Vec<f64>> {
    value.as_array()?.iter().map(Value::as_f64).collect()
}

impl Kept {
    /// What a file holds about the same question; nothing where there is no file yet.
    pub fn open(path: Option<&Path>, key: &str) -> Result<Self, Complaint> {
        let mut out = Kept { path: path.map(Path::to_path_buf), key: key.to_string(), searches: Vec::new() };
        let Some(path) = path.filter(|p| p.exists()) else { return Ok(out) };
        let fault = |what: String| bad(format!("{}: {what}", path.display()), "name another file, or remove it");
        let text = std::fs::read_to_string(path).map_err(|e| fault(e.to_string()))?;
        let found: Value = serde_json::from_str(&text).map_err(|e| fault(e.to_string()))?;
        if found["carom_fit"].as_str() != Some(key) {
            return Err(fault("holds searches of another fit".to_string()));
        }
        out.searches = found["searches"].as_array().cloned().unwrap_or_default();
        Ok(out)
    }

    /// A search that is done.
    pub fn take<G: Geometry>(&mut self, number: usize, motions: &[Motion<G>], shared: usize) -> Option<Found<G>> {
        let found = self.searches.iter().find(|s| s["number"].as_u64() == Some(number as u64))?;
        let name = found["status"].as_str()?;
        let status = Status::ALL.iter().find(|s| s.1 == name)?.0;
        let point = Point {
            shared: numbers(&found["shared"]).filter(|s| s.len() == shared)?,
            own: found["own"].as_array()?.iter().map(numbers).collect::<Option<Vec<_>>>().filter(|o| o.len() == motions.len())?,
            states: found["states"]
                .as_array()?
                .iter()
                .zip(motions)
                .map(|(s, m)| Some(vec![state(&m.start, &numbers(&s["q"])?, &numbers(&s["v"])?)?]))
                .collect::<Option<Vec<_>>>()?,
        };
        Some(Found { point, cost: found["cost"].as_f64()?, iterations: found["iterations"].as_u64()? as usize, status })
    }

    /// Keeps one that has ended. The file is replaced whole, so that it is never half of one.
    pub fn put<G: Geometry>(&mut self, number: usize, found: &Found<G>) -> Result<(), Complaint> {
        let Some(path) = self.path.clone() else { return Ok(()) };
        if self.searches.iter().any(|s| s["number"].as_u64() == Some(number as u64)) {
            return Ok(());
        }
        let name = Status::ALL.iter().find(|s| s.0 == found.status).map_or("", |s| s.1);
        let states: Vec<Value> = found
            .point
            .states
            .iter()
            .map(|s| {
                let (q, v) = flat(&s[0]);
                json!({ "q": q, "v": v })
            })
            .collect();
        self.searches.push(json!({
            "number": number, "shared": found.point.shared, "own": found.point.own, "states": states, "cost": found.cost,
            "iterations": found.iterations, "status": name,
        }));
        let text = json!({ "carom_fit": self.key, "searches": self.searches }).to_string();
        let part = path.with_extension("part");
        let fault = |e: std::io::Error| bad(format!("{}: {e}", path.display()), "name a file that can be written");
        std::fs::write(&part, text).map_err(fault)?;
        std::fs::rename(&part, &path).map_err(fault)
    }
}

//! Poses of SDF: each is given in some frame, and frames are given in others.

use crate::element::{Element, numbers};
use crate::text::Fault;
use nalgebra::{Isometry3, Translation3, UnitQuaternion, Vector3};
use std::collections::BTreeMap;

/// The frame of the model itself.
const MODEL: &str = "__model__";

/// Numbers of the text of an element.
pub fn read_numbers(element: &Element, least: usize, most: usize) -> Result<Vec<f64>, Fault> {
    numbers(&element.text, least, most).map_err(|problem| element.fault("", format!("{problem} (found {})", element.text.escape_debug())))
}

/// The pose an element gives, and the frame it is given in.
pub fn pose(element: &Element) -> Result<(Isometry3<f64>, Option<String>), Fault> {
    let Some(pose) = element.child("pose") else { return Ok((Isometry3::identity(), None)) };
    let from = pose.value("relative_to").or(pose.value("frame")).filter(|f| !f.is_empty()).map(str::to_string);
    if pose.text.is_empty() {
        return Ok((Isometry3::identity(), from));
    }
    if pose.value("rotation_format").is_some_and(|f| f == "quat_xyzw") {
        let x = read_numbers(pose, 7, 7)?;
        let q = nalgebra::Quaternion::new(x[6], x[3], x[4], x[5]);
        let turn = UnitQuaternion::try_new(q, f64::MIN_POSITIVE).ok_or_else(|| pose.fault("", "a quaternion of zeros"))?;
        return Ok((Isometry3::from_parts(Translation3::new(x[0], x[1], x[2]), turn), from));
    }
    let mut x = read_numbers(pose, 6, 6)?;
    if pose.value("degrees").is_some_and(|d| d == "true" || d == "1") {
        x[3..].iter_mut().for_each(|angle| *angle = angle.to_radians());
    }
    let turn = UnitQuaternion::from_euler_angles(x[3], x[4], x[5]);
    Ok((Isometry3::from_parts(Translation3::new(x[0], x[1], x[2]), turn), from))
}

/// A vector of the text of an element.
pub fn vector(element: &Element) -> Result<Vector3<f64>, Fault> {
    read_numbers(element, 3, 3).map(|x| Vector3::new(x[0], x[1], x[2]))
}

/// A frame as written: its element, its pose, and the frame that is given in where the pose says none.
struct Written<'e> {
    element: &'e Element,
    pose: Isometry3<f64>,
    from: String,
}

/// The frames of a model, by name, in the frame of the model.
pub struct Frames<'e> {
    written: BTreeMap<String, Written<'e>>,
    known: BTreeMap<String, Isometry3<f64>>,
}

impl<'e> Frames<'e> {
    /// Of the links, joints and frames of a model, and of the models within it.
    pub fn of(model: &'e Element) -> Result<Self, Fault> {
        let mut written = BTreeMap::new();
        let mut known = BTreeMap::new();
        known.insert(MODEL.to_string(), Isometry3::identity());
        for element in &model.children {
            let home = match element.tag.as_str() {
                "link" | "model" => MODEL.to_string(),
                "frame" => element.value("attached_to").filter(|f| !f.is_empty()).unwrap_or(MODEL).to_string(),
                "joint" => element.child("child").map_or_else(|| MODEL.to_string(), |c| c.text.clone()),
                _ => continue,
            };
            let (pose, from) = pose(element)?;
            let name = element.name("name")?;
            let entry = Written { element, pose, from: from.unwrap_or(home) };
            // Links before joints of the same name: bodies are what poses mean.
            if element.tag == "link" || !written.contains_key(&name) {
                written.insert(name, entry);
            }
        }
        Ok(Frames { written, known })
    }

    /// A frame in that of the model.
    pub fn get(&mut self, name: &str, asked: &Element) -> Result<Isometry3<f64>, Fault> {
        let mut chain: Vec<String> = Vec::new();
        let mut next = name.to_string();
        let base = loop {
            if let Some(known) = self.known.get(&next) {
                break *known;
            }
            let Some(frame) = self.written.get(&next) else {
                // The links of a model within are `inner::link`; the frame of `inner` stands for what is not written here.
                if let Some((inner, _)) = next.split_once("::").filter(|(inner, _)| self.written.contains_key(*inner)) {
                    next = inner.to_string();
                    continue;
                }
                let fault = asked.fault("", format!("no frame is called \"{}\"", next.escape_debug()));
                return Err(fault.instead(&next, self.written.keys().map(String::as_str)));
            };
            if chain.contains(&next) {
                return Err(frame.element.fault("", format!("its pose is given in itself: {}", chain.join(" -> "))));
            }
            chain.push(next.clone());
            next.clone_from(&frame.from);
        };
        let mut at = base;
        for name in chain.into_iter().rev() {
            if let Some(frame) = self.written.get(&name) {
                at *= frame.pose;
            }
            self.known.insert(name, at);
        }
        Ok(at)
    }

    /// The pose of an element in the frame of the model; `home` is the frame of a pose that names none.
    pub fn place(&mut self, element: &Element, home: &str) -> Result<Isometry3<f64>, Fault> {
        let (pose, from) = pose(element)?;
        Ok(self.get(from.as_deref().unwrap_or(home), element)? * pose)
    }
}

//! URDF, MJCF and SDF models as scenes: the same bodies, joints, shapes and masses, checked like any scene file.
//!
//! What the engine has no word for is left out and listed by name with its line, or refused when `strict`. `docs/imports.md` says what
//! becomes of every element.
//!
//! ```
//! use carom_import::{Options, from_urdf};
//! let text = r#"<robot name="pendulum">
//!   <link name="base"/>
//!   <link name="rod">
//!     <inertial><origin xyz="0 0 -0.5"/><mass value="1"/>
//!       <inertia ixx="0.08" iyy="0.08" izz="0.01" ixy="0" ixz="0" iyz="0"/></inertial>
//!   </link>
//!   <joint name="pivot" type="continuous"><parent link="base"/><child link="rod"/><axis xyz="0 1 0"/></joint>
//! </robot>"#;
//! let import = from_urdf(text, "pendulum.urdf", &Options::default())?;
//! assert!(import.notes.is_empty());
//! let carom_scene::Scene::Spatial(scene) = import.scene else { unreachable!("models are spatial") };
//! assert_eq!(scene.model.joints[0].name, "pivot");
//! # Ok::<(), carom_scene::SceneErrors>(())
//! ```
//!
//! Two hinges in a row, as MJCF writes them on one body, keep their limits, springs and motors: the body between them gets a share of its
//! neighbours' mass that changes no motion (`split.rs`).

mod assemble;
mod chain;
mod element;
mod emit;
mod included;
mod mass;
mod mesh;
mod mjcf;
mod parts;
mod robot;
mod sdf;
mod split;
mod stand;
mod text;
mod tree;
mod urdf;

use carom_scene::error::Details;
use carom_scene::{Scene, SceneError, SceneErrors};
use element::Element;
pub use included::{Included, from_toml_beside, load_scene};
pub use parts::Meshes;
use robot::{Notes, Robot};
use std::path::{Path, PathBuf};
use text::{Fault, Texts};

/// Lines of repetitions spelled out in a note.
const MAX_LINES: usize = 8;

/// Stiffness of a servo that holds a joint, for each kilogram of the model [N m/(rad kg) or N/(m kg)]: its own weight at an arm of a metre bends it by a hundredth.
const HOLD_STIFFNESS: f64 = 1000.0;
/// Time in which such a servo comes home \[s\]: its damping over its stiffness.
const HOLD_TIME: f64 = 0.05;

/// How the root of a model stands in the world.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Base {
    /// As the model says: in URDF a root link without mass, or called `world`, is fixed and any other is free; in MJCF a `freejoint` is free.
    #[default]
    Auto,
    /// The root of a URDF model is fixed; bodies of an MJCF model that float in the world, by a free joint or by several slides, are held.
    Fixed,
    /// The root of a URDF model is free.
    Free,
}

/// What the position and velocity actuators of an MJCF model become.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Actuators {
    /// Servos: the control is the target, as a coordinate of the scene, 0 at the start.
    #[default]
    Servo,
    /// A control of torque or force beside a spring and a damper.
    Force,
}

/// What to make of a model.
#[derive(Clone, Debug, PartialEq)]
pub struct Options {
    /// Refuse what is not supported instead of listing it.
    pub strict: bool,
    /// How the root stands in the world.
    pub base: Base,
    /// Whether the joints of a URDF model with an effort above 0 are driven by controls, and the actuators of an MJCF model kept.
    pub controls: bool,
    /// What the position and velocity actuators of an MJCF model are.
    pub actuators: Actuators,
    /// Whether hinges and slides without an actuator of their own are held where they start, by servos.
    pub hold: bool,
    /// Whether anything touches.
    pub contacts: bool,
    /// Whether joints have limits.
    pub limits: bool,
    /// Whether links of a URDF model touch each other.
    pub self_contact: bool,
    /// The keyframe of an MJCF model to start from, by name or number.
    pub keyframe: Option<String>,
    /// Start coordinates by joint name \[rad or m\], in the model's own coordinates.
    pub pose: Vec<(String, f64)>,
    /// Put a ground at z = 0 under the model; one with a free root is set down on it unless `drop` says otherwise.
    pub ground: bool,
    /// Height of the model's lowest point above z = 0 at the start \[m\]; where the model says itself if nothing is given.
    pub drop: Option<f64>,
    /// Folders in which `package://` names of a URDF model are looked for, after those above the file.
    pub packages: Vec<PathBuf>,
    /// What the meshes of a URDF or SDF model touch with.
    pub meshes: Meshes,
    /// A folder in which convex parts of meshes are kept.
    pub mesh_cache: Option<PathBuf>,
}

impl Default for Options {
    fn default() -> Self {
        Options {
            strict: false,
            base: Base::Auto,
            controls: true,
            actuators: Actuators::Servo,
            hold: false,
            contacts: true,
            limits: true,
            self_contact: false,
            keyframe: None,
            pose: Vec::new(),
            ground: false,
            drop: None,
            packages: Vec::new(),
            meshes: Meshes::Hull,
            mesh_cache: None,
        }
    }
}

/// A model as a scene, and what was left out.
#[derive(Clone, Debug, PartialEq)]
pub struct Import {
    /// The scene, always spatial.
    pub scene: Scene,
    /// What is not supported, by name and line, in the order in which it was met.
    pub notes: Vec<SceneError>,
}

/// The formats.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Format {
    /// Unified Robot Description Format, root element `robot`.
    Urdf,
    /// MuJoCo's XML format, root element `mujoco`.
    Mjcf,
    /// Simulation Description Format, root element `sdf`.
    Sdf,
}

impl Format {
    /// The format of a file by its ending: `.urdf`, `.xml` and `.mjcf`, or `.sdf`; `None` for any other.
    pub fn of(path: &Path) -> Option<Format> {
        let ending = path.extension()?.to_string_lossy().to_lowercase();
        match ending.as_str() {
            "urdf" => Some(Format::Urdf),
            "xml" | "mjcf" => Some(Format::Mjcf),
            "sdf" => Some(Format::Sdf),
            _ => None,
        }
    }
}

/// Loads a model; URDF, MJCF or SDF by its root element. Included files and meshes are found beside it.
///
/// # Errors
/// What is wrong, with file, line and column; with `strict` also everything that is not supported.
pub fn load(path: impl AsRef<Path>, options: &Options) -> Result<Import, SceneErrors> {
    let path = path.as_ref();
    let mut texts = Texts::default();
    let root = element::load(&mut texts, path);
    let folder = path.parent().unwrap_or(Path::new("."));
    finish(texts, root, Some(folder), path.file_stem().map_or("model".into(), |s| s.to_string_lossy()).as_ref(), options, None)
}

/// Loads a model of a format.
///
/// # Errors
/// As [`load`], and when the file is of the other format.
pub fn load_as(path: impl AsRef<Path>, format: Format, options: &Options) -> Result<Import, SceneErrors> {
    let path = path.as_ref();
    let mut texts = Texts::default();
    let root = element::load(&mut texts, path);
    let folder = path.parent().unwrap_or(Path::new("."));
    finish(texts, root, Some(folder), path.file_stem().map_or("model".into(), |s| s.to_string_lossy()).as_ref(), options, Some(format))
}

/// Reads a URDF model from text, without touching any file; `name` stands for the file in messages.
///
/// # Errors
/// As [`load`]; a mesh file cannot be named.
pub fn from_urdf(text: &str, name: &str, options: &Options) -> Result<Import, SceneErrors> {
    from_text(text, name, options, Format::Urdf)
}

/// Reads an MJCF model from text, without touching any file; `name` stands for the file in messages.
///
/// # Errors
/// As [`load`]; mesh files and includes cannot be named.
pub fn from_mjcf(text: &str, name: &str, options: &Options) -> Result<Import, SceneErrors> {
    from_text(text, name, options, Format::Mjcf)
}

/// Reads an SDF model or world from text, without touching any file; `name` stands for the file in messages.
///
/// # Errors
/// As [`load`]; mesh files and includes cannot be named.
pub fn from_sdf(text: &str, name: &str, options: &Options) -> Result<Import, SceneErrors> {
    from_text(text, name, options, Format::Sdf)
}

fn from_text(text: &str, name: &str, options: &Options, format: Format) -> Result<Import, SceneErrors> {
    let mut texts = Texts::default();
    let start = texts.add(name, None, text.to_string());
    let root = element::parse(&mut texts, start, None);
    let stem = Path::new(name).file_stem().map_or("model".into(), |s| s.to_string_lossy());
    finish(texts, root, None, &stem, options, Some(format))
}

fn finish(
    mut texts: Texts,
    root: Result<Element, Fault>,
    folder: Option<&Path>,
    stem: &str,
    options: &Options,
    format: Option<Format>,
) -> Result<Import, SceneErrors> {
    let mut notes = Notes::default();
    let mut moving = None;
    let tree = root.and_then(|mut root| {
        if root.tag == "sdf" {
            sdf::expand(&mut texts, &mut root, folder, &options.packages)?;
        }
        let mut robot = read(&root, folder, stem, options, format, &mut notes)?;
        if !options.limits {
            robot.links.iter_mut().flat_map(|l| &mut l.joints).for_each(|j| j.limits = None);
            robot.ties.retain(|tie| !matches!(tie.kind, robot::TieKind::Rope { .. }));
        }
        gear(&mut robot, options, &mut notes)?;
        if options.hold {
            hold(&mut robot);
        }
        // Links that become part of others keep their names as points.
        let fast = robot.links.iter().enumerate().filter(|(_, link)| link.joints.is_empty() && link.parent.is_some());
        let frames: Vec<_> = fast
            .map(|(i, link)| robot::NamedFrame {
                name: link.name.clone(),
                span: link.span.clone(),
                link: Some(i),
                frame: nalgebra::Isometry3::identity(),
            })
            .collect();
        robot.frames.extend(frames);
        let fate = tree::reduce(&mut robot, &mut notes)?;
        grounded(&mut robot, &mut notes);
        let assembly = assemble::assemble(&robot, &fate, &mut notes)?;
        moving = Some(stand::Moving::of(&robot, root.tag == "mujoco"));
        emit::emit(&robot, &assembly, options, &mut notes)
    });
    let mut tree = match tree {
        Ok(tree) => tree,
        Err(fault) => return Err(texts.error(fault).into()),
    };
    let mut scene = carom_scene::from_tree(&tree, &texts.all(), stem);
    if let (Ok(built), Some(moving)) = (&scene, moving)
        && stand::place(&mut tree, built, &moving, options, &mut notes)
    {
        scene = carom_scene::from_tree(&tree, &texts.all(), stem);
    }
    let notes = place(&texts, notes);
    if options.strict
        && let Some(errors) = SceneErrors::new(notes.clone())
    {
        return Err(errors);
    }
    match scene {
        Ok(scene) => Ok(Import { scene, notes: notes.into_iter().map(|note| beside(note, folder)).collect() }),
        Err(errors) => {
            let errors: Vec<SceneError> = errors.iter().map(|e| texts.relocate(e)).collect();
            Err(SceneErrors::new(errors).unwrap_or_else(|| texts.error(Fault::new(0..0, "model", "", "cannot be read")).into()))
        }
    }
}

/// Checks the joints that follow others, and starts them where they follow to unless they are told where to start.
fn gear(robot: &mut Robot, options: &Options, notes: &mut Notes) -> Result<(), Fault> {
    let gears = std::mem::take(&mut robot.gears);
    for gear in gears {
        let scalar = |name: &String| {
            let mut joints = robot.links.iter().flat_map(|link| &link.joints);
            joints.find(|joint| joint.name == *name).filter(|joint| matches!(joint.start, robot::Start::Scalar(_))).map(robot::Axis::scalar)
        };
        let [Some(_), Some(leads)] = [scalar(&gear.joints[0]), scalar(&gear.joints[1])] else {
            // Joints of a base that is held are gone.
            let problem = "not supported: one of the joints is gone, or has not one coordinate";
            notes.add(Fault::new(gear.span.clone(), format!("coupling \"{}\"", gear.name), "", problem));
            continue;
        };
        for joint in robot.links.iter_mut().flat_map(|link| &mut link.joints).filter(|joint| gear.joints.contains(&joint.name)) {
            joint.geared = true;
            if joint.name == gear.joints[0] && !options.pose.iter().any(|(name, _)| *name == joint.name) {
                joint.start = robot::Start::Scalar(gear.offset + gear.ratio * leads);
            }
        }
        robot.gears.push(gear);
    }
    let strands = std::mem::take(&mut robot.strands);
    for strand in strands {
        let joints = robot.links.iter().flat_map(|link| &link.joints);
        let there = |name: &String, joint: &robot::Axis| joint.name == *name && matches!(joint.start, robot::Start::Scalar(_));
        if let Some((gone, _)) = strand.terms.iter().find(|(name, _)| !joints.clone().any(|joint| there(name, joint))) {
            let problem = format!("not supported: joint \"{gone}\" is gone, or has not one coordinate");
            notes.add(Fault::new(strand.span.clone(), format!("tendon \"{}\"", strand.name), "", problem));
            continue;
        }
        let joints = robot.links.iter_mut().flat_map(|link| &mut link.joints);
        joints.filter(|joint| strand.terms.iter().any(|(name, _)| *name == joint.name)).for_each(|joint| joint.geared = true);
        robot.strands.push(strand);
    }
    Ok(())
}

/// Servos that hold every hinge and slide without an actuator of its own where it starts, with at most its own effort where that is known.
fn hold(robot: &mut Robot) {
    let mass: f64 = robot.links.iter().map(|link| link.mass.mass).sum();
    let stiffness = HOLD_STIFFNESS * mass;
    let scalar = |joint: &&mut robot::Axis| matches!(joint.freedom, robot::Freedom::Hinge | robot::Freedom::Slide);
    for joint in robot.links.iter_mut().flat_map(|link| &mut link.joints).filter(scalar) {
        if joint.servo.is_none() {
            let max = joint.control.take().filter(|max| *max > 0.0).unwrap_or(f64::INFINITY);
            let aim = carom_dynamics::Aim::Position;
            joint.servo = Some(robot::Servo { aim, stiffness, damping: HOLD_TIME * stiffness, max, control: false });
        }
    }
}

fn read(
    root: &Element,
    folder: Option<&Path>,
    stem: &str,
    options: &Options,
    format: Option<Format>,
    notes: &mut Notes,
) -> Result<Robot, Fault> {
    let found = match root.tag.as_str() {
        "robot" => Some(Format::Urdf),
        "mujoco" | "mujocoinclude" => Some(Format::Mjcf),
        "sdf" | "gazebo" => Some(Format::Sdf),
        _ => None,
    };
    match (found, format) {
        (Some(found), Some(wanted)) if found != wanted => {
            Err(Fault::new(root.span.clone(), "model", "", format!("<{}> is not the root of this format", root.tag)).allowed(
                match wanted {
                    Format::Urdf => "<robot>, a URDF model",
                    Format::Mjcf => "<mujoco>, an MJCF model",
                    Format::Sdf => "<sdf>, an SDF model",
                },
            ))
        }
        (Some(Format::Urdf), _) => urdf::read(root, folder, stem, options, notes),
        (Some(Format::Mjcf), _) => mjcf::read(root, folder, stem, options, notes),
        (Some(Format::Sdf), _) => sdf::read(root, folder, stem, options, notes),
        (None, _) => {
            let fault = Fault::new(root.span.clone(), "model", "", format!("<{}> is the root of no known format", root.tag.escape_debug()));
            Err(fault.allowed("<robot> (URDF), <mujoco> (MJCF) or <sdf> (SDF)"))
        }
    }
}

/// Fields of heights do not move: those of links that do are left out.
fn grounded(robot: &mut Robot, notes: &mut Notes) {
    for link in &mut robot.links {
        link.geoms.retain(|geom| {
            let field = matches!(geom.solid, carom_scene::tree::Solid::Heightfield(..));
            if field {
                notes.add(Fault::new(geom.span.clone(), "geom", "type", "not supported on a body that moves: heights are ground"));
            }
            !field
        });
    }
}

/// A note whose file is named from the folder of the model: whoever loads a model knows where it lies.
fn beside(note: SceneError, folder: Option<&Path>) -> SceneError {
    let folder = folder.filter(|folder| *folder != Path::new(""));
    match folder.and_then(|folder| Path::new(&note.file).strip_prefix(folder).ok()) {
        Some(near) => Details { file: near.display().to_string(), ..(*note).clone() }.into(),
        None => note,
    }
}

/// Notes with file and line, and the lines of their repetitions.
fn place(texts: &Texts, notes: Notes) -> Vec<SceneError> {
    let spell = |(mut fault, more): (Fault, Vec<_>)| {
        if !more.is_empty() {
            let mut lines: Vec<usize> = more.iter().map(|span| texts.line(span)).collect();
            lines.dedup();
            let shown: Vec<String> = lines.iter().take(MAX_LINES).map(usize::to_string).collect();
            let rest = if lines.len() > MAX_LINES { ", ..." } else { "" };
            fault.problem += &format!(" (also line {}{rest}; {} in all)", shown.join(", "), more.len() + 1);
        }
        texts.error(fault)
    };
    notes.into_vec().into_iter().map(spell).collect()
}

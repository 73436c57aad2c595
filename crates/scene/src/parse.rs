//! Text to tree: every key checked against its list, every value with its place; names are resolved later.

mod body;
mod choice;
mod joint;
mod repeat;
mod shape;

use crate::check::{default_surface, over};
use crate::error::{Fault, SceneErrors, Sink};
use crate::include::{Base, Wish};
use crate::keys::{self, Special, Table};
use crate::read::{Fields, Node, Part, Reader, array, span, text};
use crate::tree::{CombineTree, ForceTree, IncludeTree, MaterialTree, PairTree, PointTree, SceneTree};
use carom_dynamics::options::Options;
use carom_dynamics::{Coefficients, Tolerances};
use toml::de::{DeTable, DeValue};

/// Longest scene text \[bytes\]: far above any scene that fits in the limit of bodies, far below what would fill a memory.
const MAX_TEXT: usize = 64 << 20;
/// Simulated time of a plain run when nothing is said \[s\].
const DEFAULT_DURATION: f64 = 10.0;

/// Reads a scene text into its tree; `file` appears in messages. All faults of the text are returned together.
pub fn parse(text: &str, file: &str) -> Result<SceneTree, SceneErrors> {
    let mut sink = Sink::new(file, text);
    let tree = parse_into(&mut sink, text);
    match (tree, sink.into_errors()) {
        (_, Some(errors)) => Err(errors),
        (Some(tree), None) => Ok(tree),
        (None, None) => Err(Sink::fallback(file)),
    }
}

/// Reads a scene text; `None` (with a fault in the sink) when there is no tree to go on with.
pub(crate) fn parse_into<'t>(sink: &mut Sink<'t>, text: &'t str) -> Option<SceneTree> {
    if text.len() > MAX_TEXT {
        let fault = Fault::new(0..0, "scene", "", "too long").found(format!("{} bytes", text.len()));
        sink.push(fault.allowed(format!("at most {MAX_TEXT} bytes")));
        return None;
    }
    let root = match DeTable::parse(text) {
        Ok(root) => root,
        Err(error) => {
            let span = error.span().unwrap_or(0..0);
            sink.push(Fault::new(span, "scene", "", format!("not TOML: {}", error.message().trim().replace('\n', ", "))));
            return None;
        }
    };
    let whole = root.span();
    let root = Node::new(whole.clone(), DeValue::Table(root.into_inner()));
    let dimension = dimension(sink, &root)?;
    let placeholder = Sink::new("", "");
    let mut reader = Reader { sink: std::mem::replace(sink, placeholder), dimension };
    let tree = scene(&mut reader, &root);
    *sink = reader.sink;
    tree
}

/// The dimension is read first: it decides how long every vector is.
fn dimension(sink: &mut Sink<'_>, root: &Node<'_>) -> Option<usize> {
    let DeValue::Table(entries) = root.get_ref() else { return None };
    let allowed = "2 (the plane) or 3 (space)";
    let Some((_, node)) = entries.iter().find(|(k, _)| k.get_ref().as_ref() == "dimension") else {
        sink.push(Fault::new(0..0, "scene", "dimension", "missing").allowed(allowed));
        return None;
    };
    match crate::read::whole(node, 2, 3) {
        Ok(d) => Some(d as usize),
        Err(problem) => {
            sink.push(Fault::new(span(node), "scene", "dimension", problem).quoted().allowed(allowed));
            None
        }
    }
}

fn scene<'t>(r: &mut Reader<'t>, root: &Node<'t>) -> Option<SceneTree> {
    let f = r.table(&keys::SCENE, Part::new("scene"), root, &[])?;
    let bodies = list(r, &f, "body", "body", body::body);
    let mut couplings = Vec::new();
    let joints = list(r, &f, "joint", "joint", |r, node, part| {
        if joint::is_coupling(node) {
            couplings.extend(joint::coupling(r, node, part));
            return None;
        }
        joint::joint(r, node, part, false)
    });
    let pairs = list(r, &f, "pair", "pair", pair);
    let forces = list(r, &f, "force", "force", force);
    let points = list(r, &f, "point", "point", point);
    let repeats = list(r, &f, "repeat", "repeat", repeat::repeat);
    let includes = list(r, &f, "include", "include", include);
    let impact = f.raw("impact").and_then(|node| choice::impact(r, &f.part, node)).unwrap_or_default();
    Some(SceneTree {
        dimension: r.dimension,
        name: f.text("name"),
        description: f.text("description").unwrap_or_default(),
        gravity: f.vector("gravity"),
        step: f.number("step"),
        duration: f.number("duration").unwrap_or(DEFAULT_DURATION),
        options: Options {
            impact: impact.law,
            impact_friction: impact.friction,
            impact_tolerance: impact.tolerance,
            solver: f.chosen("solver"),
            friction_cone: f.raw("friction_cone").and_then(|node| choice::cone(r, &f.part, node)).unwrap_or_default(),
            integrator: f.chosen("integrator"),
            gyroscopic: f.chosen("gyroscopic"),
            time_of_impact: f.chosen("time_of_impact"),
            stabilisation: f.chosen("stabilisation"),
            ..Options::default()
        },
        combine: f.raw("combine").map_or_else(CombineTree::default, |node| choice::combine(r, &f.part, node)),
        tolerances: f.raw("tolerances").map_or_else(Tolerances::default, |node| choice::tolerances(r, node)),
        materials: f.raw("materials").map_or_else(Vec::new, |node| materials(r, node)),
        bodies,
        joints,
        couplings,
        pairs,
        forces,
        points,
        repeats,
        includes,
        places: f.places(),
    })
}

/// Reads an array of tables: one `[[word]]` after another.
fn list<'t, T>(
    r: &mut Reader<'t>,
    fields: &Fields<'_, 't>,
    key: &str,
    word: &str,
    mut read: impl FnMut(&mut Reader<'t>, &Node<'t>, Part) -> Option<T>,
) -> Vec<T> {
    let Some(node) = fields.raw(key) else { return Vec::new() };
    let Ok(items) = array(node) else {
        let fault = Fault::new(span(node), "scene", key, "wrong type").quoted();
        r.sink.push(fault.allowed(format!("[[{word}]] tables, with two brackets")));
        return Vec::new();
    };
    if items.len() > keys::MAX_BODIES {
        let fault = Fault::new(span(node), "scene", key, "too many").found(items.len());
        r.sink.push(fault.allowed(format!("at most {}", keys::MAX_BODIES)));
        return Vec::new();
    }
    // Bodies and joints have names by default, the rest is counted.
    let counted = |i: usize| if let "body" | "joint" = word { format!("{word} \"{word}{i}\"") } else { format!("{word} {i}") };
    let name = |i: usize, item: &Node<'t>| part_name(word, item).unwrap_or_else(|| counted(i));
    items.iter().enumerate().filter_map(|(i, item)| read(r, item, Part::new(name(i, item)))).collect()
}

/// `body "cue"` when the part has a usable name.
pub(crate) fn part_name(word: &str, node: &Node<'_>) -> Option<String> {
    let DeValue::Table(entries) = node.get_ref() else { return None };
    let (_, value) = entries.iter().find(|(key, _)| key.get_ref().as_ref() == "name")?;
    text(value).ok().map(|name| format!("{word} \"{}\"", name.escape_debug()))
}

/// Asserts at compile time of the tables that a raw value has its reader: what `Special` lists is read in this module.
const _: fn(Special) = |special| match special {
    Special::Shape | Special::Mesh | Special::Heightfield | Special::Heights | Special::Spacing | Special::Faces => {}
    Special::Impact
    | Special::Cone
    | Special::Combine
    | Special::Tolerances
    | Special::Dimension
    | Special::Inertia
    | Special::Motor
    | Special::Coefficients => {}
    Special::Count | Special::Offset | Special::Body | Special::Joint | Special::Materials => {}
    Special::Bodies | Special::Joints | Special::Pairs | Special::Forces | Special::Points | Special::Repeats | Special::Includes => {}
};

fn materials<'t>(r: &mut Reader<'t>, node: &Node<'t>) -> Vec<MaterialTree> {
    let DeValue::Table(entries) = node.get_ref() else {
        let fault = Fault::new(span(node), "scene", "materials", "wrong type").quoted();
        r.sink.push(fault.allowed("[materials.NAME] tables"));
        return Vec::new();
    };
    let mut out = Vec::new();
    for (name, value) in entries.iter() {
        let name = name.get_ref().to_string();
        if let Some(f) = r.table(&keys::MATERIAL, Part::new(format!("material \"{}\"", name.escape_debug())), value, &[]) {
            let surface = over(Coefficients::by_key(|key| f.number(key)), default_surface());
            let combine = f.raw("combine").map_or_else(CombineTree::default, |node| choice::combine(r, &f.part, node));
            out.push(MaterialTree { name, surface, combine });
        }
    }
    out
}

fn pair<'t>(r: &mut Reader<'t>, node: &Node<'t>, part: Part) -> Option<PairTree> {
    let f = r.table(&keys::PAIR, part, node, &["between"])?;
    let impact = f.raw("impact").and_then(|node| choice::pair_impact(r, &f.part, node));
    let rules: Vec<&str> = keys::PAIR.keys.iter().map(|key| key.name).filter(|name| *name != "between").collect();
    if !rules.iter().any(|key| f.has(key)) && r.sink.is_clean() {
        r.sink.push(f.part.fault(f.span.clone(), "", "says nothing about its pair").allowed(rules.join(", ")));
    }
    Some(PairTree {
        between: f.two_names("between")?,
        coefficients: Coefficients::by_key(|key| f.number(key)),
        impact,
        collide: f.flag("collide"),
        places: f.places(),
    })
}

fn include<'t>(r: &mut Reader<'t>, node: &Node<'t>, part: Part) -> Option<IncludeTree> {
    let f = r.table(&keys::INCLUDE, part, node, &["file"])?;
    let base = match f.text("base").as_deref() {
        Some("fixed") => Some(Base::Fixed),
        Some("free") => Some(Base::Free),
        _ => None,
    };
    Some(IncludeTree {
        file: f.text_at("file")?,
        name: f.text_at("name"),
        position: f.vector("position").unwrap_or([0.0; 3]),
        rotation: shape::rotation(&f, r.dimension),
        wish: Wish { base, hold: f.flag("hold").unwrap_or(false) },
        places: f.places(),
    })
}

fn force<'t>(r: &mut Reader<'t>, node: &Node<'t>, part: Part) -> Option<ForceTree> {
    let f = r.table(&keys::FORCE, part, node, &["body"])?;
    let (from, until) = (f.number("from").unwrap_or(0.0), f.number("until").unwrap_or(f64::INFINITY));
    if from > until {
        r.sink.push(f.fault("until", "ends before it begins").quoted().allowed(format!("a moment not before {from} s")));
    }
    if !f.has("force") && !f.has("torque") && r.sink.is_clean() {
        r.sink.push(f.part.fault(f.span.clone(), "force", "missing").allowed("force, torque or both"));
    }
    if f.has("at") && !f.has("force") {
        r.sink.push(f.fault("at", "places a force, and there is none: a torque acts the same everywhere"));
    }
    let zero = [0.0; 3];
    Some(ForceTree {
        body: f.text_at("body")?,
        force: f.vector("force").unwrap_or(zero),
        torque: f.vector("torque").unwrap_or(zero),
        at: f.vector("at").unwrap_or(zero),
        from,
        until,
        control: f.flag("control").unwrap_or(false),
        places: f.places(),
    })
}

fn point<'t>(r: &mut Reader<'t>, node: &Node<'t>, part: Part) -> Option<PointTree> {
    let f = r.table(&keys::POINT, part, node, &["name", "body"])?;
    Some(PointTree {
        name: f.text_at("name")?,
        body: f.text_at("body")?,
        at: f.vector("at").unwrap_or([0.0; 3]),
        rotation: shape::rotation(&f, r.dimension),
    })
}

/// A table that allows exactly one of some keys: the one that is there, or a fault.
pub(crate) fn exactly_one<'t>(
    r: &mut Reader<'t>,
    f: &Fields<'_, 't>,
    table: &'static Table,
    node: &Node<'t>,
    words: &[&str],
) -> Option<&'static str> {
    let mut given = f.keys().filter(|k| words.contains(&k.name)).map(|k| k.name);
    let first = given.next();
    if let (Some(first), Some(second)) = (first, given.next()) {
        r.sink.push(f.fault(second, format!("does not go with \"{first}\"")).allowed("one of the two"));
        return None;
    }
    if first.is_none() {
        // A key that is there but failed its own check has been reported already.
        let DeValue::Table(entries) = node.get_ref() else { return None };
        if !entries.keys().any(|k| table.key(k.get_ref()).is_none_or(|key| words.contains(&key.name) || !key.space.holds(r.dimension))) {
            let key = f.part.prefix.trim_end_matches('.').to_string();
            let fault = Fault::new(span(node), f.part.name.clone(), key, "says too little").quoted();
            r.sink.push(fault.allowed(format!("one of {}", words.join(", "))));
        }
    }
    first
}

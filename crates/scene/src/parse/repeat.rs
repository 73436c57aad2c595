//! `[[repeat]]`.

use super::{body, joint};
use crate::error::Fault;
use crate::keys;
use crate::parse::part_name;
use crate::read::{Node, Part, Reader, array, span, whole};
use crate::tree::{Pattern, RepeatTree, Triple};

/// Joints of one copy: bounds the joints of a scene as the number of bodies is bounded.
const MAX_JOINTS: usize = 16;

/// Reads a repeat.
pub fn repeat<'t>(r: &mut Reader<'t>, node: &Node<'t>, part: Part) -> Option<RepeatTree> {
    let f = r.table(&keys::REPEAT, part, node, &["count", "offset", "body"])?;
    let (count_node, offset_node, body_node) = (f.raw("count")?, f.raw("offset")?, f.raw("body")?);
    let within =
        |word: &str, node: &Node<'t>| Part::new(format!("{}, {}", f.part.name, part_name(word, node).unwrap_or_else(|| word.to_string())));
    let body = body::body(r, body_node, within("body", body_node));
    let written = f.raw("joint").map_or_else(Vec::new, |node| array(node).map_or_else(|_| vec![node], |items| items.iter().collect()));
    if written.len() > MAX_JOINTS {
        let fault = f.fault("joint", "too many").found(written.len());
        r.sink.push(fault.allowed(format!("at most {MAX_JOINTS} joints per copy")));
        return None;
    }
    let joints: Vec<_> = written.iter().map(|node| joint::joint(r, node, within("joint", node), true)).collect();
    let is_list = array(count_node).is_ok();
    let pattern = match f.text("pattern").as_deref() {
        Some("line") => Pattern::Line,
        Some("grid") => Pattern::Grid,
        Some("triangle") => Pattern::Triangle,
        _ if is_list => Pattern::Grid,
        _ => Pattern::Line,
    };
    let count = count(r, &f.part, count_node, pattern)?;
    let indices = if pattern == Pattern::Triangle { 2 } else { count.len() };
    let offset = offset(r, &f.part, offset_node, pattern, indices)?;
    let joints = joints.into_iter().collect::<Option<Vec<_>>>()?;
    for name in joints.iter().flat_map(|joint| &joint.between) {
        if name.value == "across" && (pattern != Pattern::Grid || indices < 2) {
            let fault = f.part.fault(name.span.clone(), "joint.between", "a row has nothing across").quoted();
            r.sink.push(fault.allowed("\"self\", \"next\", the name of a body or \"world\"; \"across\" in a grid of several indices"));
        }
    }
    let turn = f.number("turn").unwrap_or(0.0);
    if f.has("turn") && indices > 1 {
        r.sink.push(f.fault("turn", "goes with a single index").quoted());
    }
    Some(RepeatTree { pattern, count, offset, turn, body: body?, joints, places: f.places() })
}

/// Copies per axis: one number, or for a grid one per axis.
fn count<'t>(r: &mut Reader<'t>, part: &Part, node: &Node<'t>, pattern: Pattern) -> Option<Vec<usize>> {
    let one = |node: &Node<'t>| whole(node, 1, keys::MAX_COUNT).map(|n| n as usize);
    let (read, allowed) = match pattern {
        Pattern::Line | Pattern::Triangle => (one(node).map(|n| vec![n]), format!("a whole number from 1 to {}", keys::MAX_COUNT)),
        Pattern::Grid => {
            let list = array(node).and_then(|items| items.iter().map(one).collect::<Result<Vec<_>, _>>());
            let fits = list.and_then(|list| if (1..=r.dimension).contains(&list.len()) { Ok(list) } else { Err("wrong length") });
            let axes = if r.dimension == 2 { "[nx, ny]" } else { "[nx, ny] or [nx, ny, nz]" };
            (fits, format!("{axes}, whole numbers from 1 to {}", keys::MAX_COUNT))
        }
    };
    read.map_err(|problem| r.sink.push(Fault::new(span(node), part.name.clone(), "count", problem).quoted().allowed(allowed))).ok()
}

/// Offset per index: a vector for one index; for several one vector each, or a vector whose entries are the steps along the axes.
fn offset<'t>(r: &mut Reader<'t>, part: &Part, node: &Node<'t>, pattern: Pattern, indices: usize) -> Option<Vec<Triple>> {
    let one = r.triple(node, keys::Bound::Any);
    let many = r.triples(node).and_then(|list| if list.len() == indices { Ok(list) } else { Err("wrong length") });
    let vector = if r.dimension == 2 { "[x, y]" } else { "[x, y, z]" };
    let (read, allowed) = match (pattern, one, many) {
        (_, _, Ok(list)) => (Ok(list), String::new()),
        (_, Ok(v), _) if indices == 1 => (Ok(vec![v]), String::new()),
        (Pattern::Grid, Ok(v), _) => {
            let along = |k: usize| {
                let mut step = [0.0; 3];
                step[k] = v[k];
                step
            };
            (Ok((0..indices).map(along).collect()), String::new())
        }
        (Pattern::Triangle, _, Err(problem)) => (Err(problem), format!("two vectors {vector} [m]: from row to row, and along a row")),
        (_, _, Err(problem)) if indices == 1 => (Err(problem), format!("a vector {vector} [m]")),
        (_, _, Err(problem)) => {
            (Err(problem), format!("{indices} vectors {vector}, one per index, or one vector of steps along the axes [m]"))
        }
    };
    read.map_err(|problem| r.sink.push(Fault::new(span(node), part.name.clone(), "offset", problem).quoted().allowed(allowed))).ok()
}

//! The choices of a scene that are more than a word: impact law, friction cone, how coefficients combine, tolerances.

use crate::keys::{self, Key, Kind};
use crate::read::{Node, Part, Reader, span, text, whole};
use crate::tree::CombineTree;
use carom_dynamics::options::{FrictionCone, ImpactFriction, ImpactLaw, Order};
use carom_dynamics::{Combine, Tolerances};
use toml::de::DeValue;

/// The law as a plain word.
const LAW: Key = Key { kind: Kind::Choice(keys::LAWS), name: "impact", space: keys::Where::Both, unit: "", default: "", meaning: "" };

/// What `impact` says.
#[derive(Clone, Copy, Debug, Default)]
pub struct Impact {
    /// The law.
    pub law: ImpactLaw,
    /// How friction follows, and from which closing speed on a contact counts; of the whole scene only.
    pub friction: ImpactFriction,
    pub tolerance: Option<f64>,
}

/// The law of a pair, which cannot have a friction or tolerance of its own: an impact has many pairs.
pub fn pair_impact<'t>(r: &mut Reader<'t>, part: &Part, node: &Node<'t>) -> Option<ImpactLaw> {
    let chosen = impact(r, part, node)?;
    if chosen.friction != ImpactFriction::default() || chosen.tolerance.is_some() {
        let problem = "friction and tolerance of an impact are the scene's: many pairs take part in one";
        r.sink.push(part.fault(span(node), "impact", problem).allowed("law, order, seed"));
        return None;
    }
    Some(chosen.law)
}

/// `"auto"` or `{ law = "gauss-seidel", order = "random", seed = 1, friction = "staggered", tolerance = 1e-9 }`.
pub fn impact<'t>(r: &mut Reader<'t>, part: &Part, node: &Node<'t>) -> Option<Impact> {
    match node.get_ref() {
        DeValue::String(_) => {
            r.choice(&LAW, part, node, keys::LAWS).map(|word| Impact { law: law(&word, Order::default()), ..Impact::default() })
        }
        DeValue::Table(_) => {
            let f = r.table(&keys::IMPACT, part.inner("impact"), node, &["law"])?;
            let word = f.text("law")?;
            if f.has("order") && word != "gauss-seidel" {
                r.sink.push(f.fault("order", format!("only \"gauss-seidel\" has an order, and the law is \"{word}\"")));
                return None;
            }
            let order = f.text("order").unwrap_or_default();
            if f.has("seed") && order != "random" {
                r.sink.push(f.fault("seed", "only order = \"random\" draws numbers"));
                return None;
            }
            let friction = f.chosen("friction");
            for (key, laws) in [("friction", &["stronge", "newton"][..]), ("tolerance", &["newton"][..])] {
                if f.has(key) && laws.contains(&word.as_str()) {
                    r.sink.push(f.fault(key, format!("\"{word}\" resolves friction and normal impulses by itself and has no such choice")));
                    return None;
                }
            }
            let tolerance = f.number("tolerance");
            if let Some(value) = tolerance.filter(|&value| value >= 1.0) {
                r.sink.push(f.fault("tolerance", "out of range").found(value).allowed("a number above 0 and below 1"));
                return None;
            }
            let law = law(
                &word,
                match order.as_str() {
                    "cyclic" => Order::Cyclic,
                    "random" => Order::Random(f.whole("seed").unwrap_or(0)),
                    "worst" => Order::Worst,
                    _ => Order::Lexicographic,
                },
            );
            Some(Impact { law, friction, tolerance })
        }
        _ => {
            let words: Vec<String> = keys::LAWS.iter().map(|w| format!("\"{w}\"")).collect();
            let allowed = format!("{}, or a table {{ law, order, seed, friction, tolerance }}", words.join(", "));
            r.sink.push(part.fault(span(node), "impact", "wrong type").quoted().allowed(allowed));
            None
        }
    }
}

fn law(word: &str, order: Order) -> ImpactLaw {
    match word {
        "reflections" => ImpactLaw::Reflections,
        "gauss-seidel" => ImpactLaw::GaussSeidel(order),
        "stronge" => ImpactLaw::Stronge,
        "newton" => ImpactLaw::Newton,
        _ => ImpactLaw::Auto,
    }
}

/// `"cone"`, or an even number of directions.
pub fn cone<'t>(r: &mut Reader<'t>, part: &Part, node: &Node<'t>) -> Option<FrictionCone> {
    /// Fewest directions of a pyramid.
    const LEAST: u64 = 4;
    let problem = match (text(node), whole(node, LEAST, keys::MAX_CONE)) {
        (Ok("cone"), _) => return Some(FrictionCone::Round),
        (Ok(_), _) => "unknown word",
        (_, Ok(n)) if n % 2 == 0 => return Some(FrictionCone::Polyhedral(n as usize)),
        (_, Ok(_)) => "an odd number of directions has no opposites",
        (_, Err(problem)) => problem,
    };
    let allowed = format!("\"cone\", or an even number from {LEAST} to {}", keys::MAX_CONE);
    r.sink.push(part.fault(span(node), "friction_cone", problem).quoted().allowed(allowed));
    None
}

/// `{ friction = "max", restitution = "min" }`; either may be left out.
pub fn combine<'t>(r: &mut Reader<'t>, part: &Part, node: &Node<'t>) -> CombineTree {
    let Some(f) = r.table(&keys::COMBINE, part.inner("combine"), node, &[]) else { return CombineTree::default() };
    let rule = |key: &str| f.text(key).as_deref().and_then(Combine::named);
    CombineTree { friction: rule("friction"), restitution: rule("restitution") }
}

/// `[tolerances]`.
pub fn tolerances<'t>(r: &mut Reader<'t>, node: &Node<'t>) -> Tolerances {
    let mut out = Tolerances::default();
    let Some(f) = r.table(&keys::TOLERANCES, Part::new("tolerances"), node, &[]) else { return out };
    let numbers: [(&str, &mut f64); 8] = [
        ("margin", &mut out.margin),
        ("touch", &mut out.touch),
        ("slop", &mut out.slop),
        ("rest_speed", &mut out.rest_speed),
        ("rest_steps", &mut out.rest_steps),
        ("position", &mut out.position),
        ("locked", &mut out.locked),
        ("turn", &mut out.turn),
    ];
    for (key, slot) in numbers {
        *slot = f.number(key).unwrap_or(*slot);
    }
    out.solve = f.number("solve");
    let caps: [(&str, &mut usize); 3] =
        [("max_events", &mut out.max_events), ("max_rounds", &mut out.max_rounds), ("max_halvings", &mut out.max_halvings)];
    for (key, slot) in caps {
        *slot = f.whole(key).map_or(*slot, |x| x as usize);
    }
    if let Some((key, value, allowed)) = out.fault() {
        r.sink.push(f.fault(key, "out of range").found(value).allowed(allowed));
    }
    out
}

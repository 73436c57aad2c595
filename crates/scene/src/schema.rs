//! The JSON schema of a scene file, for editors; printed from the same tables that the parser checks against.

use crate::keys::{self, Bound, Key, Kind, Special, TABLES, Table};
use serde_json::{Map, Value, json};

/// JSON schema (draft 2020-12) of a scene file.
///
/// It knows every key, type, range and choice; what depends on other keys (vector lengths on the dimension, joint keys on the kind)
/// is left to the parser.
pub fn schema() -> Value {
    let mut definitions = Map::new();
    for table in TABLES {
        definitions.insert(id(table).to_string(), object(table));
    }
    definitions.insert("vector".to_string(), list(json!({ "type": "number" }), 2, 3));
    let Value::Object(mut root) = object(&keys::SCENE) else { return Value::Null };
    definitions.remove(id(&keys::SCENE));
    root.insert("$schema".to_string(), json!("https://json-schema.org/draft/2020-12/schema"));
    root.insert("title".to_string(), json!("carom scene"));
    root.insert("$defs".to_string(), Value::Object(definitions));
    Value::Object(root)
}

/// The word of a table within the schema.
fn id(table: &Table) -> &'static str {
    let word = table.heading.trim_start_matches('[');
    match word.find([']', '.', ' ']) {
        Some(end) if table.heading != keys::SCENE.heading => &word[..end],
        _ => "scene",
    }
}

fn reference(table: &Table) -> Value {
    json!({ "$ref": format!("#/$defs/{}", id(table)) })
}

fn object(table: &Table) -> Value {
    let mut properties = Map::new();
    let mut required = Vec::new();
    for key in table.keys {
        let mut value = of(key);
        if let Value::Object(map) = &mut value {
            let unit = if key.unit.is_empty() { String::new() } else { format!(" [{}]", key.unit) };
            map.insert("description".to_string(), json!(format!("{}{unit}", key.meaning)));
        }
        properties.insert(key.name.to_string(), value);
        if key.default == "required" {
            required.push(json!(key.name));
        }
    }
    json!({ "type": "object", "description": table.about, "additionalProperties": false, "properties": properties, "required": required })
}

fn list(items: Value, least: usize, most: usize) -> Value {
    json!({ "type": "array", "items": items, "minItems": least, "maxItems": most })
}

fn of(key: &Key) -> Value {
    let vector = json!({ "$ref": "#/$defs/vector" });
    let positive = json!({ "type": "number", "exclusiveMinimum": 0 });
    match key.kind {
        Kind::Text => json!({ "type": "string" }),
        Kind::Name => json!({ "type": "string", "minLength": 1 }),
        Kind::Number(Bound::Any) => json!({ "type": "number" }),
        Kind::Number(Bound::Positive) => positive,
        Kind::Number(Bound::NotNegative) | Kind::Until => json!({ "type": "number", "minimum": 0 }),
        Kind::Number(Bound::Unit) => json!({ "type": "number", "minimum": 0, "maximum": 1 }),
        Kind::Whole(low, high) => json!({ "type": "integer", "minimum": low, "maximum": high }),
        Kind::Flag => json!({ "type": "boolean" }),
        Kind::Vector | Kind::Direction => vector,
        Kind::Extents => list(positive, 2, 3),
        Kind::Rate => json!({ "anyOf": [{ "type": "number" }, list(json!({ "type": "number" }), 3, 3)] }),
        Kind::Quaternion => list(json!({ "type": "number" }), 4, 4),
        Kind::TwoPoints | Kind::TwoDirections => list(vector, 2, 2),
        Kind::Points => json!({ "type": "array", "items": vector }),
        Kind::Limits => list(json!({ "type": "number" }), 2, 2),
        Kind::LengthRadius => list(positive, 2, 2),
        Kind::Choice(words) => json!({ "enum": words }),
        Kind::Choices(words) => json!({ "type": "array", "items": { "enum": words } }),
        Kind::Names => json!({ "type": "array", "items": { "type": "string", "minLength": 1 } }),
        Kind::TwoNames => list(json!({ "type": "string", "minLength": 1 }), 2, 2),
        Kind::Color => json!({ "type": "string", "pattern": "^#[0-9a-fA-F]{6}$" }),
        Kind::Special(special) => of_special(special),
    }
}

fn of_special(special: Special) -> Value {
    let positive = json!({ "type": "number", "exclusiveMinimum": 0 });
    let number = json!({ "type": "number" });
    let count = json!({ "type": "integer", "minimum": 1, "maximum": keys::MAX_COUNT });
    let vector = json!({ "$ref": "#/$defs/vector" });
    let tables = |table: &Table| json!({ "type": "array", "items": reference(table) });
    match special {
        Special::Dimension => json!({ "enum": [2, 3] }),
        Special::Shape => json!({ "anyOf": [reference(&keys::SHAPE), tables(&keys::SHAPE)] }),
        Special::Inertia => {
            let rows = list(list(number, 3, 3), 3, 3);
            json!({ "anyOf": [positive, list(positive.clone(), 3, 3), rows] })
        }
        Special::Impact => json!({ "anyOf": [{ "enum": keys::LAWS }, reference(&keys::IMPACT)] }),
        Special::Cone => {
            json!({ "anyOf": [{ "const": "cone" }, { "type": "integer", "minimum": 4, "maximum": keys::MAX_CONE, "multipleOf": 2 }] })
        }
        Special::Combine => reference(&keys::COMBINE),
        Special::Motor => reference(&keys::MOTOR),
        Special::Coefficients => json!({ "type": "object", "additionalProperties": { "type": "number" }, "minProperties": 1 }),
        Special::Count => json!({ "anyOf": [count, list(count.clone(), 1, 3)] }),
        Special::Offset => json!({ "anyOf": [vector, { "type": "array", "items": vector.clone() }] }),
        Special::Body => reference(&keys::BODY),
        Special::Joint => json!({ "anyOf": [reference(&keys::JOINT), tables(&keys::JOINT)] }),
        Special::Mesh => json!({ "anyOf": [{ "type": "string" }, reference(&keys::MESH)] }),
        Special::Heightfield => reference(&keys::HEIGHTFIELD),
        Special::Heights => {
            let row = json!({ "type": "array", "items": { "type": "number" }, "minItems": 2 });
            json!({ "anyOf": [row, { "type": "array", "items": row.clone(), "minItems": 2 }] })
        }
        Special::Spacing => json!({ "anyOf": [positive, list(positive.clone(), 2, 2)] }),
        Special::Faces => json!({ "type": "array", "items": list(json!({ "type": "integer", "minimum": 0 }), 3, 3) }),
        Special::Materials => json!({ "type": "object", "additionalProperties": reference(&keys::MATERIAL) }),
        Special::Tolerances => reference(&keys::TOLERANCES),
        Special::Bodies => tables(&keys::BODY),
        Special::Joints => tables(&keys::JOINT),
        Special::Pairs => tables(&keys::PAIR),
        Special::Forces => tables(&keys::FORCE),
        Special::Points => tables(&keys::POINT),
        Special::Repeats => tables(&keys::REPEAT),
        Special::Includes => tables(&keys::INCLUDE),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_table_is_defined_once_and_every_reference_resolves() {
        let schema = schema();
        let definitions = schema["$defs"].as_object().unwrap();
        assert_eq!(definitions.len(), TABLES.len(), "vector stands in for the scene itself");
        let text = schema.to_string();
        for piece in text.split("#/$defs/").skip(1) {
            let name = piece.split('"').next().unwrap();
            assert!(definitions.contains_key(name), "{name}");
        }
        assert_eq!(schema["required"], json!(["dimension"]));
        assert_eq!(schema["$defs"]["body"]["properties"]["mass"]["exclusiveMinimum"], json!(0));
        assert_eq!(schema["$defs"]["shape"]["additionalProperties"], json!(false));
    }
}

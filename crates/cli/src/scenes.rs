//! `carom scenes` and `carom schema`.

use crate::args::ScenesArgs;
use crate::failure::Failure;
use crate::{print, source};
use carom::scene::{scene, scenes as embedded};
use serde_json::{Value, json};

/// Lists the embedded scenes, or prints the text of one.
pub fn scenes(args: &ScenesArgs) -> Result<(), Failure> {
    let Some(name) = &args.name else {
        if args.json {
            let list: Vec<Value> = embedded().iter().map(|s| json!({ "name": s.name, "summary": s.summary })).collect();
            return Ok(print::json(&json!({ "ok": true, "scenes": list }))?);
        }
        let rows: Vec<Vec<String>> = embedded().iter().map(|s| vec![print::head(s.name), s.summary.to_string()]).collect();
        return Ok(print::line(&print::columns(&rows))?);
    };
    let names = embedded().iter().map(|s| s.name);
    let found =
        scene(name).ok_or_else(|| source::unknown(format!("no embedded scene \"{name}\""), name, names, "`carom scenes` lists them"))?;
    if args.json {
        return Ok(print::json(&json!({ "ok": true, "name": found.name, "summary": found.summary, "text": found.text }))?);
    }
    Ok(print::line(found.text.trim_end())?)
}

/// Prints the JSON schema of scene files.
pub fn schema() -> Result<(), Failure> {
    Ok(print::json(&carom::scene::schema())?)
}

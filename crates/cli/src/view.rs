//! `carom view`: the viewer in the browser, for this machine alone.

use crate::args::{ImportArgs, ViewArgs};
use crate::failure::{Failure, Fault};
use crate::print;
use crate::source::find_with;
use carom::scene::{scene, to_toml};
use carom_web::server::{Server, Show};
use serde_json::json;
use std::path::Path;
use std::process::{Command, Stdio};

/// The scene of a plain `carom view`.
const DEFAULT_SCENE: &str = "pool_break";

/// Serves the page until the process is stopped.
pub fn view(args: &ViewArgs) -> Result<(), Failure> {
    let show = show(args.scene.as_deref().unwrap_or(DEFAULT_SCENE), &args.import)?;
    let failed = |error: std::io::Error| Failure::Failed(vec![Fault::new(format!("viewer: {error}"))]);
    let server = Server::bind(args.port, show).map_err(failed)?;
    let address = server.address();
    if args.json {
        print::json(&json!({ "ok": true, "address": address }))?;
    } else {
        print::line(&format!("viewer at {address}\nCtrl-C ends it"))?;
    }
    if !args.no_open && !open(&address) {
        print::note("no browser could be opened; open the address yourself");
    }
    server.serve().map_err(failed)
}

/// What the page shows first: the text as it was written, comments included; of a model in another format, the scene it became.
fn show(word: &str, import: &ImportArgs) -> Result<Show, Failure> {
    // Faults are reported here as everywhere, before a page opens.
    let source = find_with(word, import)?;
    let path = Path::new(word);
    let folder = path.is_file().then(|| path.parent().map_or_else(|| Path::new(".").to_path_buf(), Path::to_path_buf));
    let text = match &folder {
        Some(_) if path.extension().is_none_or(|e| e == "toml") => std::fs::read_to_string(path).ok(),
        Some(_) => None,
        None => scene(word).map(|found| found.text.to_string()),
    };
    Ok(Show { name: source.stem, text: text.unwrap_or_else(|| to_toml(&source.scene)), folder })
}

/// Asks the desktop to open an address; false when it has no way to.
fn open(address: &str) -> bool {
    let ways: &[&[&str]] = if cfg!(target_os = "macos") {
        &[&["open"]]
    } else if cfg!(target_os = "windows") {
        &[&["rundll32", "url.dll,FileProtocolHandler"]]
    } else {
        &[&["xdg-open"], &["wslview"], &["gio", "open"]]
    };
    ways.iter().any(|way| {
        let mut command = Command::new(way[0]);
        command.args(&way[1..]).arg(address).stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
        command.spawn().is_ok()
    })
}

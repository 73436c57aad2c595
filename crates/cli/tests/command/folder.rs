//! Where commands run, and what they said.

use serde_json::Value;
use std::fs;
use std::path::PathBuf;
use std::process::{Command, Output, Stdio};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};

/// Patience for a process that should act at once, on a busy machine.
const PATIENCE: Duration = Duration::from_secs(120);

/// A folder of its own, in which commands run; removed afterwards.
pub struct Folder {
    path: PathBuf,
    plain: bool,
}

impl Folder {
    /// A folder whose commands are asked for no colours.
    pub fn new(name: &str) -> Self {
        static COUNT: AtomicUsize = AtomicUsize::new(0);
        let number = COUNT.fetch_add(1, Ordering::Relaxed);
        let path = std::env::temp_dir().join(format!("carom-cli-{name}-{}-{number}", std::process::id()));
        let _ = fs::remove_dir_all(&path);
        fs::create_dir_all(&path).unwrap();
        Folder { path, plain: true }
    }
    /// A folder whose commands choose colours by themselves.
    pub fn unasked(name: &str) -> Self {
        let mut folder = Folder::new(name);
        folder.plain = false;
        folder
    }
    pub fn file(&self, name: &str) -> PathBuf {
        self.path.join(name)
    }
    pub fn write(&self, name: &str, text: &str) {
        fs::write(self.file(name), text).unwrap();
    }
    pub fn command(&self, args: &[&str]) -> Command {
        let mut command = Command::new(env!("CARGO_BIN_EXE_carom"));
        command.args(args).current_dir(&self.path).stdin(Stdio::null());
        if self.plain {
            command.env("NO_COLOR", "1");
        } else {
            command.env_remove("NO_COLOR").env_remove("CLICOLOR_FORCE");
        }
        command
    }
    pub fn carom(&self, args: &[&str]) -> Output {
        self.command(args).output().unwrap()
    }
    /// Runs, wants success and returns the answer.
    pub fn json(&self, args: &[&str]) -> Value {
        let output = self.carom(args);
        assert!(output.status.success(), "{args:?}: {}{}", out(&output), err(&output));
        serde_json::from_slice(&output.stdout).unwrap()
    }
    pub fn names(&self) -> Vec<String> {
        let mut names: Vec<String> = fs::read_dir(&self.path).unwrap().map(|e| e.unwrap().file_name().into_string().unwrap()).collect();
        names.sort();
        names
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.path);
    }
}

pub fn out(output: &Output) -> String {
    String::from_utf8(output.stdout.clone()).unwrap()
}

pub fn err(output: &Output) -> String {
    String::from_utf8(output.stderr.clone()).unwrap()
}

pub fn code(output: &Output) -> i32 {
    output.status.code().unwrap()
}

/// Waits until something holds.
pub fn wait_for(what: impl Fn() -> bool) {
    let start = Instant::now();
    while !what() {
        assert!(start.elapsed() < PATIENCE, "waited in vain");
        std::thread::sleep(Duration::from_millis(10));
    }
}

//! What one set has to say: tables, pictures, and figures with what they must be.

use carom_reproduce::Chart;
use serde::Serialize;
use serde_json::{Value, json};
use std::path::{Path, PathBuf};

/// A table of text.
#[derive(Clone, Debug, Serialize)]
pub struct Table {
    /// Names of the columns.
    pub head: Vec<String>,
    /// Rows of as many cells.
    pub rows: Vec<Vec<String>>,
}

impl Table {
    /// A table without rows.
    pub fn new(head: &[&str]) -> Self {
        Table { head: head.iter().map(|h| (*h).to_string()).collect(), rows: Vec::new() }
    }
    /// One more row.
    pub fn row(&mut self, cells: Vec<String>) {
        self.rows.push(cells);
    }
}

/// A picture: a chart, or one that is drawn already.
#[derive(Clone, Debug)]
pub struct Picture {
    /// Name of its file without the ending.
    pub stem: String,
    /// What it shows.
    pub title: String,
    /// The picture (`.svg`).
    pub svg: String,
}

impl Picture {
    /// Of a chart.
    pub fn chart(stem: &str, chart: &Chart) -> Self {
        Picture { stem: stem.to_string(), title: chart.title.clone(), svg: chart.svg() }
    }
}

/// A figure that must lie within bounds.
#[derive(Clone, Debug, Serialize)]
pub struct Target {
    /// What it is.
    pub what: String,
    /// What was found.
    pub found: f64,
    /// The least it may be.
    pub least: f64,
    /// The most it may be.
    pub most: f64,
}

impl Target {
    /// Whether it does.
    pub fn holds(&self) -> bool {
        self.found >= self.least && self.found <= self.most
    }
}

/// What one set has to say.
#[derive(Clone, Debug)]
pub struct Section {
    /// The set.
    pub name: &'static str,
    /// Its headline.
    pub title: String,
    /// What it is, where it is from and how it is judged, in paragraphs.
    pub about: Vec<String>,
    /// Tables with a line above each.
    pub tables: Vec<(String, Table)>,
    /// Pictures.
    pub pictures: Vec<Picture>,
    /// Figures with their bounds.
    pub targets: Vec<Target>,
    /// What was timed; it belongs to a machine, so it is printed and not on the page.
    pub timings: Vec<String>,
}

impl Section {
    /// An empty one.
    pub fn new(name: &'static str, title: &str) -> Self {
        Section {
            name,
            title: title.to_string(),
            about: Vec::new(),
            tables: Vec::new(),
            pictures: Vec::new(),
            targets: Vec::new(),
            timings: Vec::new(),
        }
    }
    /// Whether every figure lies within its bounds.
    pub fn holds(&self) -> bool {
        self.targets.iter().all(Target::holds)
    }
    /// The same for programs, with the files of its pictures in a folder.
    pub fn told(&self, seconds: f64, folder: &Path) -> Value {
        let tables: Vec<Value> =
            self.tables.iter().map(|(above, table)| json!({ "above": above, "head": table.head, "rows": table.rows })).collect();
        let targets: Vec<Value> = self
            .targets
            .iter()
            .map(|t| json!({ "what": t.what, "found": t.found, "least": t.least, "most": t.most, "holds": t.holds() }))
            .collect();
        let pictures: Vec<PathBuf> = self.pictures.iter().map(|p| folder.join(format!("{}.svg", p.stem))).collect();
        json!({
            "name": self.name, "title": self.title, "about": self.about, "tables": tables, "targets": targets, "pictures": pictures,
            "timings": self.timings, "seconds": seconds,
        })
    }
    /// Writes its pictures into a folder, which is made.
    ///
    /// # Errors
    /// The file that cannot be written, and why.
    pub fn save(&self, folder: &Path) -> Result<(), (PathBuf, std::io::Error)> {
        std::fs::create_dir_all(folder).map_err(|error| (folder.to_path_buf(), error))?;
        for picture in &self.pictures {
            let path = folder.join(format!("{}.svg", picture.stem));
            std::fs::write(&path, &picture.svg).map_err(|error| (path, error))?;
        }
        Ok(())
    }
}

//! `docs/validation.md` from what was found.

use crate::Section;
use std::fmt::Write as _;

/// The whole page; `pictures` is the folder of the pictures as seen from it.
pub fn page(found: &[Section], pictures: &str) -> String {
    let mut out = format!(
        "# Beside the real world\n\n\
         Measured motions and public contact problems, simulated and solved by the protocols of those who published them. The page and its pictures are made by\n\n    \
         carom validate --all --data DIR --page docs/validation.md --out docs/{pictures}\n\n\
         and a test compares the shipped set with what it gives now. `carom validate cube` runs with nothing but this package; the other sets are read from the folder\n\
         that `--data` names, of which every `cube.npz` and `cube_*.npz`, and so for `elbow` and `ellipse`, is taken (`not run: no data` otherwise). `python -m carom.validate` does the same and\n\
         runs MuJoCo beside it where it is installed. Times are printed by the command and are not on this page: they belong to a machine.\n"
    );
    for one in found {
        out.push('\n');
        out.push_str(&section(one, pictures));
    }
    out
}

/// One set as it stands on the page.
pub fn section(found: &Section, pictures: &str) -> String {
    let mut out = format!("## {}\n", found.title);
    for paragraph in &found.about {
        let _ = write!(out, "\n{paragraph}\n");
    }
    let cell = |text: &String| text.replace('|', "\\|");
    for (above, table) in &found.tables {
        if !above.is_empty() {
            let _ = write!(out, "\n{above}\n");
        }
        let _ = write!(out, "\n| {} |\n|{}\n", table.head.join(" | "), "---|".repeat(table.head.len()));
        for row in &table.rows {
            let _ = writeln!(out, "| {} |", row.iter().map(cell).collect::<Vec<_>>().join(" | "));
        }
    }
    for target in &found.targets {
        let holds = if target.holds() { "as it must be" } else { "NOT as it must be" };
        let bounds = if target.least > 0.0 { format!("{} to {}", target.least, target.most) } else { format!("at most {}", target.most) };
        let _ = write!(out, "\nMust lie within bounds: {}: {:.3}, wanted {bounds}: {holds}.\n", target.what, target.found);
    }
    for picture in &found.pictures {
        let _ = write!(out, "\n![{}]({pictures}/{}.svg)\n", picture.title, picture.stem);
    }
    out
}

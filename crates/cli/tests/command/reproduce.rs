//! `carom reproduce` lists, runs, saves and says.

use super::folder::Folder;
use std::fs;

#[test]
fn an_entry_says_what_was_printed_and_measured_and_leaves_a_picture_and_its_data() {
    let folder = Folder::new("reproduce");
    let output = folder.carom(&["reproduce", "baber-2011/figure-2"]);
    let text = String::from_utf8(output.stdout).unwrap();
    assert!(output.status.success(), "{text}");
    for words in ["(14.6, 29.8, 56)", "(14.59", "reproduced", "reproduction/baber-2011-figure-2.svg"] {
        assert!(text.contains(words), "no {words} in {text}");
    }
    let picture = fs::read_to_string(folder.file("reproduction/baber-2011-figure-2.svg")).unwrap();
    assert!(picture.contains("u_z [m/s]") && picture.contains("p_z [N s]"));
    let table = fs::read_to_string(folder.file("reproduction/baber-2011-figure-2.csv")).unwrap();
    assert!(table.starts_with("series,p_z [N s],u_z [m/s]\ncompression,0.0,-0.22\n"), "{}", &table[..80]);
}

#[test]
fn a_source_can_be_run_whole_and_told_to_programs() {
    let folder = Folder::new("reproduce-source");
    let answer = folder.json(&["reproduce", "vouga-2017", "--json", "--quiet", "--out", "found", "--page", "page.md"]);
    let entries = answer["entries"].as_array().unwrap();
    assert!(answer["ok"] == true && answer["complete"] == true && entries.len() >= 12, "{answer}");
    for entry in entries {
        let verdict = entry["verdict"].as_str().unwrap();
        assert!(["reproduced", "differs", "not claimed by a number"].contains(&verdict), "{entry}");
        assert!(folder.file(entry["picture"].as_str().unwrap()).exists() && folder.file(entry["data"].as_str().unwrap()).exists());
    }
    let collapse = entries.iter().find(|e| e["name"] == "vouga-2017/figure-8").unwrap();
    assert!(collapse["claims"].as_array().unwrap().iter().any(|c| c["verdict"] == "differs" && c["errata"].is_string()), "{collapse}");
    assert!(fs::read_to_string(folder.file("page.md")).unwrap().contains("(found/vouga-2017-figure-8.svg)"));
}

#[test]
fn entries_are_listed_and_unknown_ones_answered_with_the_nearest() {
    let folder = Folder::new("reproduce-list");
    let listed = folder.json(&["reproduce", "--list", "--json"]);
    assert!(listed["entries"].as_array().unwrap().len() >= 40);
    let output = folder.carom(&["reproduce", "baber-2011/figure-22"]);
    assert_eq!(output.status.code(), Some(2));
    assert!(String::from_utf8_lossy(&output.stderr).contains("did you mean \"baber-2011/figure-2\"?"));
}

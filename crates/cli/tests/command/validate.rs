//! `carom validate` runs, saves, and says what is missing.

use super::folder::Folder;

#[test]
fn a_set_without_data_is_not_run_and_a_wrong_name_is_answered_with_the_nearest() {
    let folder = Folder::new("validate");
    let output = folder.carom(&["validate", "elbow"]);
    assert_eq!(output.status.code(), Some(2));
    assert!(String::from_utf8_lossy(&output.stderr).contains("not run: no data"));
    let output = folder.carom(&["validate", "elipse"]);
    assert_eq!(output.status.code(), Some(2));
    assert!(String::from_utf8_lossy(&output.stderr).contains("did you mean \"ellipse\"?"));
    let output = folder.carom(&["validate", "ellipse", "--data", "nowhere"]);
    assert_eq!(output.status.code(), Some(2));
}

#[test]
fn bad_data_are_named_by_column_and_row() {
    let folder = Folder::new("validate-bad");
    let output = folder.carom(&["validate", "ellipse", "--data", "."]);
    assert_eq!(output.status.code(), Some(2), "an empty folder has no data");
}

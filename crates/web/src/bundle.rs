//! The page, built from `page/` and part of the source: `page/build` makes it anew, and `./check` compares.

use crate::base64::encode;

/// The page without anything to show.
const PAGE: &str = include_str!("../bundle/index.html");
/// Where a run is put.
const PLACE: &str = "<!--carom-run-->";
/// What a replay may do: run its own script and draw. It may not speak to anyone.
const REPLAY_POLICY: &str = "default-src 'none'; script-src 'unsafe-inline'; style-src 'unsafe-inline'; img-src data: blob:; connect-src 'none'; base-uri 'none'; form-action 'none'";

/// The page with a deflated run in it.
pub fn replay_page(deflated: &[u8]) -> String {
    page_with(&encode(deflated))
}

/// The page with the letters of a run in it.
fn page_with(letters: &str) -> String {
    let run = format!(
        "<meta http-equiv=\"Content-Security-Policy\" content=\"{REPLAY_POLICY}\">\n<script type=\"text/plain\" id=\"carom-run\">{letters}</script>"
    );
    PAGE.replacen(PLACE, &run, 1)
}

/// A replay with the place of its run, [`PLACE`], left open: a live page writes its own there.
#[cfg(feature = "server")]
pub(crate) fn blank_page() -> String {
    page_with(PLACE)
}

/// The page that asks a server for everything; its scripts carry `nonce`, and a policy may allow those alone.
pub fn live_page(nonce: &str) -> String {
    PAGE.replacen(PLACE, "", 1).replace("<script type=\"module\"", &format!("<script nonce=\"{nonce}\" type=\"module\""))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_bundle_is_one_page_with_one_place_for_a_run() {
        assert_eq!(PAGE.matches(PLACE).count(), 1);
        let body = &PAGE[PAGE.find(PLACE).unwrap()..];
        assert!(!body.contains("src=\"http") && !PAGE.contains("<link rel=\"stylesheet\" href"), "the page stands alone");
        assert!(PAGE.find(PLACE) < PAGE.find("<script type=\"module\""), "a policy must stand before the script");
    }

    #[cfg(feature = "server")]
    #[test]
    fn a_blank_page_with_letters_in_its_place_is_a_replay() {
        assert_eq!(blank_page().replacen(PLACE, &encode(&[1, 2, 3, 4]), 1), replay_page(&[1, 2, 3, 4]));
    }

    #[test]
    fn a_live_page_has_no_run_and_marks_its_script() {
        let page = live_page("abc");
        assert!(!page.contains("id=\"carom-run\"") && page.contains("<script nonce=\"abc\" type=\"module\""));
        assert_eq!(page.matches("<script").count(), page.matches("<script nonce=\"abc\"").count());
    }
}

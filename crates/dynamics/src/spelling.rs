//! Words that were mistyped.

/// Most of a word's letters that may differ for another word to be suggested, as one part in this many.
const ALIKE: usize = 2;

/// The known word with the fewest letters to change, if they are few enough.
pub(crate) fn nearest(word: &str, known: &[String]) -> Option<String> {
    let near = known.iter().map(|candidate| (distance(word, candidate), candidate)).min_by_key(|(distance, _)| *distance)?;
    (near.0 * ALIKE <= word.chars().count().max(1)).then(|| near.1.clone())
}

/// Letters to insert, remove or replace on the way from one word to another (Levenshtein).
fn distance(a: &str, b: &str) -> usize {
    let b: Vec<char> = b.chars().collect();
    let mut row: Vec<usize> = (0..=b.len()).collect();
    for (i, x) in a.chars().enumerate() {
        let mut corner = i;
        row[0] = i + 1;
        for (j, y) in b.iter().enumerate() {
            let replaced = corner + usize::from(x != *y);
            corner = row[j + 1];
            row[j + 1] = replaced.min(corner + 1).min(row[j] + 1);
        }
    }
    row[b.len()]
}

//! Scenes broken at random: whatever the text, the answer is a scene or an error, never a panic and never a hang.

use carom_scene::{from_toml_all, scenes, to_toml};
use std::time::{Duration, Instant};

/// Time spent by default and with `CAROM_FULL=1`.
const BUDGETS: [Duration; 2] = [Duration::from_secs(2), Duration::from_secs(60)];
/// No text this short may take longer than this.
const SLOWEST: Duration = Duration::from_secs(10);

/// Xorshift64*: enough to wander through texts, the same on every run.
struct Random(u64);

impl Random {
    fn next(&mut self) -> u64 {
        self.0 ^= self.0 >> 12;
        self.0 ^= self.0 << 25;
        self.0 ^= self.0 >> 27;
        self.0.wrapping_mul(0x2545_f491_4f6c_dd1d)
    }
    fn below(&mut self, n: usize) -> usize {
        (self.next() % n.max(1) as u64) as usize
    }
}

/// Words that sit near an edge of the grammar.
const WORDS: [&str; 40] = [
    "nan",
    "inf",
    "-inf",
    "-1",
    "0",
    "1e308",
    "1e-320",
    "-0.0",
    "99999999999999999999",
    "0x7fffffffffffffff",
    "[]",
    "[[]]",
    "{}",
    "\"\"",
    "\"world\"",
    "\"self\"",
    "\"next\"",
    "true",
    "\"static\"",
    "\"kinematic\"",
    "\"universal\"",
    "\"planar\"",
    "\"weld\"",
    "\"triangle\"",
    "\"grid\"",
    "3",
    "2",
    "[1, 2, 3]",
    "[0, 0, 0, 0]",
    "1979-05-27",
    "200000",
    "[447, 447]",
    "{ ball = 1 }",
    "{ convex = [[0, 0], [1, 0], [0, 1]] }",
    "{ mesh = { points = [[0, 0, 0], [1, 0, 0], [0, 1, 0]], faces = [[0, 1, 2]] } }",
    "{ heightfield = { heights = [1, 2], spacing = 1 } }",
    "{ control = true }",
    "\"\\u0000\"",
    "1e-200",
    "1e49",
];

/// Positions of the tokens of a text: runs of letters and digits, quoted text, single signs.
fn tokens(text: &str) -> Vec<(usize, usize)> {
    let bytes = text.as_bytes();
    let (mut out, mut i) = (Vec::new(), 0);
    while i < bytes.len() {
        let start = i;
        let word = |b: u8| b.is_ascii_alphanumeric() || b"_.-+#".contains(&b);
        if word(bytes[i]) {
            while i < bytes.len() && word(bytes[i]) {
                i += 1;
            }
        } else if bytes[i] == b'"' {
            i += 1;
            while i < bytes.len() && bytes[i] != b'"' && bytes[i] != b'\n' {
                i += 1;
            }
            i = (i + 1).min(bytes.len());
        } else {
            i += 1;
        }
        if !bytes[start].is_ascii_whitespace() && text.is_char_boundary(start) && text.is_char_boundary(i) {
            out.push((start, i));
        }
    }
    out
}

fn mutate(text: &str, random: &mut Random) -> String {
    match random.below(7) {
        // A byte flips; what is no longer UTF-8 is replaced.
        0 => {
            let mut bytes = text.as_bytes().to_vec();
            let at = random.below(bytes.len());
            if let Some(byte) = bytes.get_mut(at) {
                *byte ^= 1 << random.below(8);
            }
            String::from_utf8_lossy(&bytes).into_owned()
        }
        // Two tokens change places.
        1 => {
            let t = tokens(text);
            let (a, b) = (random.below(t.len()), random.below(t.len()));
            let (a, b) = (a.min(b), a.max(b));
            if t.is_empty() || a == b {
                return text.to_string();
            }
            let ((s, e), (u, v)) = (t[a], t[b]);
            format!("{}{}{}{}{}", &text[..s], &text[u..v], &text[e..u], &text[s..e], &text[v..])
        }
        // A token goes, or becomes an odd word.
        2..=4 => {
            let t = tokens(text);
            let Some(&(s, e)) = t.get(random.below(t.len())) else { return text.to_string() };
            let word = if random.below(4) == 0 { "" } else { WORDS[random.below(WORDS.len())] };
            format!("{}{word}{}", &text[..s], &text[e..])
        }
        // A line goes, or comes twice.
        5 => {
            let mut lines: Vec<&str> = text.lines().collect();
            let at = random.below(lines.len());
            if random.below(2) == 0 && at < lines.len() {
                lines.remove(at);
            } else if let Some(line) = lines.get(at).copied() {
                lines.insert(random.below(lines.len()), line);
            }
            lines.join("\n")
        }
        // The end is missing.
        _ => {
            let mut end = random.below(text.len());
            while !text.is_char_boundary(end) {
                end -= 1;
            }
            text[..end].to_string()
        }
    }
}

#[test]
fn no_mutation_of_a_scene_panics() {
    let budget = BUDGETS[usize::from(std::env::var_os("CAROM_FULL").is_some())];
    let start = Instant::now();
    let mut random = Random(0x9e37_79b9_7f4a_7c15);
    let (mut tried, mut good) = (0_u32, 0_u32);
    while start.elapsed() < budget {
        let embedded = &scenes()[random.below(scenes().len())];
        if embedded.name == "chain_10000" {
            // Its size alone takes longer than a text may.
            continue;
        }
        let mut text = embedded.text.to_string();
        for _ in 0..=random.below(3) {
            text = mutate(&text, &mut random);
        }
        let began = Instant::now();
        match from_toml_all(&text, "mutant.toml") {
            // What loads must also survive the way to text and back.
            Ok(scene) => {
                good += 1;
                let again = to_toml(&scene);
                match from_toml_all(&again, "mutant.toml") {
                    Ok(second) => assert_eq!(scene, second, "{text}\n----\n{again}"),
                    Err(errors) => panic!("{errors}\n{text}\n----\n{again}"),
                }
            }
            Err(errors) => {
                let line = errors.first().to_string();
                assert!(line.starts_with("mutant.toml:") && errors.first().span.end <= text.len(), "{line}");
            }
        }
        assert!(began.elapsed() < SLOWEST, "slow text:\n{text}");
        tried += 1;
    }
    println!("{tried} mutants, {good} of them scenes");
    assert!(tried > 100 && good > 0 && good < tried, "{tried} {good}");
}

#[test]
fn hostile_sizes_are_refused_quickly() {
    let start = Instant::now();
    let deep = format!("dimension = 2\na = {}{}", "[".repeat(100_000), "]".repeat(100_000));
    let wide = format!("dimension = 2\n{}", "[[body]]\n".repeat(200_001));
    let repeats =
        format!("dimension = 2\n{}", "[[repeat]]\ncount = 200000\noffset = [1, 0]\nbody = { shape = { ball = 0.1 } }\n".repeat(100));
    let triangle =
        "dimension = 2\n[[repeat]]\ncount = 200000\npattern = \"triangle\"\noffset = [[1, 0], [0, 1]]\nbody = { shape = { ball = 1 } }\n";
    let points: String = (0..2000).map(|i| format!("[{}, {}],", i, i * i)).collect();
    let heavy = format!("dimension = 2\n[[repeat]]\ncount = 199999\noffset = [1, 0]\nbody = {{ shape = {{ convex = [{points}] }} }}\n");
    for text in [deep.as_str(), &wide, &repeats, triangle, &heavy] {
        assert!(from_toml_all(text, "hostile.toml").is_err());
    }
    assert!(start.elapsed() < SLOWEST, "{:?}", start.elapsed());
}

//! Bytes as letters that may stand in a page.

const LETTERS: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
/// Bytes of a group, and letters it becomes.
const GROUP: usize = 3;
const LETTERS_PER_GROUP: usize = 4;
/// Bits of a letter.
const BITS: u32 = 6;
const MASK: u32 = (1 << BITS) - 1;

/// Base64 with padding, RFC 4648.
pub(crate) fn encode(bytes: &[u8]) -> String {
    let mut out = String::with_capacity(bytes.len().div_ceil(GROUP) * LETTERS_PER_GROUP);
    for group in bytes.chunks(GROUP) {
        let word = (0..GROUP).fold(0u32, |word, k| (word << 8) | u32::from(group.get(k).copied().unwrap_or(0)));
        for k in 0..LETTERS_PER_GROUP {
            let place = (word >> (BITS * (LETTERS_PER_GROUP - 1 - k) as u32)) & MASK;
            out.push(if k <= group.len() { char::from(LETTERS[place as usize]) } else { '=' });
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_vectors_of_the_standard() {
        for (plain, coded) in [("", ""), ("f", "Zg=="), ("fo", "Zm8="), ("foo", "Zm9v"), ("foob", "Zm9vYg=="), ("foobar", "Zm9vYmFy")] {
            assert_eq!(encode(plain.as_bytes()), coded);
        }
        assert_eq!(encode(&[0xfb, 0xff]), "+/8=");
    }
}

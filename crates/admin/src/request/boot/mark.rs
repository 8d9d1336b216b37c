//! The last line of each file that `--install-boot` writes: a checksum of the other lines,
//! which detects changes.

const MARK: &str = "# hugeadm --install-boot wrote this; checksum ";

/// Appends the line.
pub fn marked(text: &str) -> String {
    format!("{text}{MARK}{:016x}\n", checksum(text))
}

/// Whether a text is unchanged since it was marked.
pub fn is_unchanged(text: &str) -> bool {
    text.rfind(MARK)
        .is_some_and(|at| marked(&text[..at]) == text)
}

/// 64-bit FNV-1a.
fn checksum(text: &str) -> u64 {
    text.bytes().fold(0xcbf2_9ce4_8422_2325, |hash, byte| {
        (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn any_change_is_seen() {
        let text = marked("[Unit]\nAfter=a\n");
        assert!(is_unchanged(&text));
        for changed in [
            text.replace("=a", "=b"),
            text.clone() + "\n",
            text.replace(MARK, ""),
            text[..text.len() - 1].to_owned(),
            String::new(),
        ] {
            assert!(!is_unchanged(&changed), "{changed}");
        }
    }
}

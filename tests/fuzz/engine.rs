//! The corpus, the random changes and the clock of all targets.

use std::collections::HashSet;
use std::fs;
use std::hash::{DefaultHasher, Hash, Hasher};
use std::io::{Read, Write};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::{Path, PathBuf};
use std::time::{Instant, SystemTime, UNIX_EPOCH};

use hugetools_model::fixture;

use crate::open_ended;

/// Edge-case numbers.
const NUMBERS: &[&str] = &[
    "0",
    "1",
    "7",
    "511",
    "512",
    "1023",
    "1024",
    "4095",
    "65535",
    "65536",
    "2147483647",
    "2147483648",
    "4294967295",
    "4294967296",
    "9007199254740993",
    "9223372036854775807",
    "9223372036854775808",
    "18014398509481983",
    "18014398509481984",
    "18446744073709551615",
    "18446744073709551616",
    "-1",
    "0x10",
    "010",
    "08",
    "0x",
    "1e9",
    "99999999999999999999999",
];

/// Runs a target on its corpus and then on changed inputs. The target returns a summary of its
/// result; an input with a new summary joins the corpus.
pub(crate) fn fuzz<T: Hash>(
    name: &str,
    mut corpus: Vec<Vec<u8>>,
    words: &[&str],
    target: impl Fn(&[u8]) -> T,
) {
    assert!(!corpus.is_empty(), "{name} has no corpus");
    let mut seen = HashSet::new();
    let mut try_one = |input: &[u8]| {
        let result = catch_unwind(AssertUnwindSafe(|| target(input)));
        let Ok(shape) = result else {
            panic!(
                "{name}: add this to tests/fuzz/corpus/{name}: {:?}",
                Shown(input)
            );
        };
        let mut hasher = DefaultHasher::new();
        shape.hash(&mut hasher);
        seen.insert(hasher.finish())
    };
    for input in &corpus {
        try_one(input);
    }
    let recorded = corpus.len();
    let mut random = Random::new();
    let end = Instant::now() + open_ended::duration();
    let mut tried = 0u64;
    while Instant::now() < end {
        for _ in 0..64 {
            let input = change(&corpus, words, &mut random);
            tried += 1;
            if try_one(&input) && corpus.len() < recorded + 4096 {
                corpus.push(input);
            }
        }
    }
    let new = corpus.len() - recorded;
    let text = format!("{name}: {recorded} recorded, {tried} changed, {new} new results\n");
    // The test harness captures eprintln!.
    let _ = std::io::stderr().write_all(text.as_bytes());
    assert!(tried > 0);
}

/// Prints an input as a byte string of Rust.
struct Shown<'a>(&'a [u8]);

impl std::fmt::Debug for Shown<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "b\"{}\"", self.0.escape_ascii())
    }
}

/// Returns one of the inputs with one to six changes.
fn change(corpus: &[Vec<u8>], words: &[&str], random: &mut Random) -> Vec<u8> {
    let mut input = corpus[random.below(corpus.len())].clone();
    for _ in 0..=random.below(6) {
        let at = random.below(input.len() + 1);
        let end = (at + random.below(16)).min(input.len());
        match random.below(9) {
            0 if at < input.len() => input[at] ^= 1 << random.below(8),
            1 if at < input.len() => input[at] = random.byte(),
            2 => drop(input.splice(at..at, [random.byte()])),
            3 => drop(input.drain(at..end)),
            4 => {
                let copy = input[at..end].to_vec();
                input.splice(at..at, copy);
            }
            5 => replace_number(&mut input, random),
            6 if !words.is_empty() => {
                let word = words[random.below(words.len())].bytes();
                input.splice(at..end, word);
            }
            7 => {
                let other = &corpus[random.below(corpus.len())];
                let from = random.below(other.len() + 1);
                input.truncate(at);
                input.extend(&other[from..]);
            }
            _ => input.truncate(at),
        }
        input.truncate(1 << 16);
    }
    input
}

/// Replaces one number in the input with one of [`NUMBERS`].
fn replace_number(input: &mut Vec<u8>, random: &mut Random) {
    let begin = random.below(input.len() + 1);
    let is_digit = |byte: &u8| byte.is_ascii_digit();
    let Some(found) = input[begin..].iter().position(is_digit) else {
        return;
    };
    let start = begin + found;
    let digits = input[start..]
        .iter()
        .take_while(|byte| is_digit(byte))
        .count();
    let number = NUMBERS[random.below(NUMBERS.len())].bytes();
    input.splice(start..start + digits, number);
}

/// A random number generator (xorshift).
struct Random(u64);

impl Random {
    fn new() -> Random {
        let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap();
        Random(now.as_secs() << 30 | u64::from(now.subsec_nanos()) | 1)
    }

    fn next(&mut self) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        self.0
    }

    fn below(&mut self, end: usize) -> usize {
        let end = u64::try_from(end.max(1)).unwrap();
        usize::try_from(self.next() % end).unwrap()
    }

    fn byte(&mut self) -> u8 {
        self.next().to_le_bytes()[3]
    }
}

fn project(path: impl AsRef<Path>) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join(path)
}

fn read(path: &Path) -> Vec<u8> {
    let mut bytes = Vec::new();
    let mut file = fs::OpenOptions::new().read(true).open(path).unwrap();
    file.read_to_end(&mut bytes).unwrap();
    bytes
}

/// Returns the archives of all recorded machines.
pub(crate) fn archives() -> Vec<String> {
    let entries = fs::read_dir(project("tests/fixtures")).unwrap();
    let mut paths: Vec<PathBuf> = entries.map(|entry| entry.unwrap().path()).collect();
    paths.retain(|path| path.extension().is_some_and(|end| end == "tree"));
    paths.sort();
    paths
        .iter()
        .map(|path| String::from_utf8(read(path)).unwrap())
        .collect()
}

/// Returns the contents of all recorded files whose paths end with one of `ends`.
pub(crate) fn recorded(ends: &[&str]) -> Vec<Vec<u8>> {
    let archives = archives();
    let entries = archives
        .iter()
        .flat_map(|archive| fixture::parse(archive).unwrap());
    let wanted = entries.filter(|entry| ends.iter().any(|end| entry.path.ends_with(end)));
    wanted.map(|entry| entry.text.into_bytes()).collect()
}

/// Returns the files of a target in `tests/fuzz/corpus`.
pub(crate) fn kept(name: &str) -> Vec<Vec<u8>> {
    let entries = fs::read_dir(project("tests/fuzz/corpus").join(name));
    let mut paths: Vec<PathBuf> = entries
        .into_iter()
        .flatten()
        .map(|entry| entry.unwrap().path())
        .collect();
    paths.sort();
    paths.iter().map(|path| read(path)).collect()
}

/// Returns the lines of a file in `tests/fuzz/corpus`; each is an input.
pub(crate) fn kept_lines(name: &str) -> Vec<Vec<u8>> {
    let text = read(&project("tests/fuzz/corpus").join(name));
    let lines = text.split(|byte| *byte == b'\n');
    lines.map(<[u8]>::to_vec).collect()
}

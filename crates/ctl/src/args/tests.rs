use super::*;
use clap::error::ErrorKind;
use clap::parser::ValueSource;

fn args(line: &str) -> Result<Args, String> {
    let words = std::iter::once("hugectl").chain(line.split(' ').filter(|w| !w.is_empty()));
    parse(words.map(OsString::from)).map_err(|error| error.to_string())
}

fn command(line: &str) -> Vec<OsString> {
    args(line).unwrap().command
}

#[test]
fn the_definition_is_sound() {
    Args::command().debug_assert();
}

#[test]
fn options_end_at_the_first_operand_and_at_two_dashes() {
    assert_eq!(command("--heap prog --shm -v"), ["prog", "--shm", "-v"]);
    assert_eq!(command("-- --shm -- x"), ["--shm", "--", "x"]);
    assert_eq!(command("prog -- --heap"), ["prog", "--", "--heap"]);
    assert_eq!(command("--heap 2MB"), ["2MB"]);
    assert_eq!(command("-- -v"), ["-v"]);
}

#[test]
fn the_last_of_repeated_options_wins() {
    let last = args("--heap=2MB --heap --shm --shm=thp --fallback base --fallback none x").unwrap();
    assert_eq!(last.segments.heap.as_deref(), Some(DEFAULT));
    assert_eq!(last.segments.shm.as_deref(), Some("thp"));
    assert_eq!(last.segments.fallback.as_deref(), Some("none"));
    assert!(args("--report= x").is_err());
    let preload = args("--no-preload --force-preload x").unwrap();
    assert!(preload.library.force_preload && !preload.library.no_preload);
    let preload = args("--force-preload --no-preload x").unwrap();
    assert!(!preload.library.force_preload && preload.library.no_preload);
}

#[test]
fn verbosity_stays_within_its_bounds() {
    let over = |inherited, line| args(line).unwrap().messages.verbosity.over(inherited);
    assert_eq!(over(2, "x -v"), 2);
    assert_eq!(over(2, "-vv -q x"), 3);
    assert_eq!(over(2, "--verbose 7 -v x"), 8);
    assert_eq!(over(2, "-qqqqq x"), 0);
    assert_eq!(over(98, "-vvvvv x"), 99);
}

/// Abbreviations that `getopt_long` accepted in the classic tool still name the same options.
#[test]
fn classic_abbreviations_keep_their_meaning() {
    const CLASSIC: [&str; 16] = [
        "help",
        "verbose",
        "text",
        "data",
        "bss",
        "heap",
        "shm",
        "disable",
        "thp",
        "no-preload",
        "force-preload",
        "no-reserve",
        "share-text",
        "library-path",
        "library-use-path",
        "dry-run",
    ];
    let command = Args::command();
    for long in CLASSIC {
        let arg = command
            .get_arguments()
            .find(|arg| arg.get_long() == Some(long))
            .unwrap_or_else(|| panic!("there is no --{long}"));
        for len in 1..long.len() {
            let short = &long[..len];
            if CLASSIC
                .iter()
                .filter(|other| other.starts_with(short))
                .count()
                > 1
            {
                continue;
            }
            let has_value = arg.get_action().takes_values() && !arg.is_require_equals_set();
            let value = match has_value {
                true => " 1",
                false => "",
            };
            let matches = Args::command()
                .try_get_matches_from(format!("hugectl --{short}{value}").split(' '));
            match matches {
                Ok(matches) => {
                    let source = matches.value_source(arg.get_id().as_str());
                    assert_eq!(source, Some(ValueSource::CommandLine), "--{short}");
                }
                Err(error) => assert_eq!(error.kind(), ErrorKind::DisplayHelp, "--{short}"),
            }
        }
    }
}

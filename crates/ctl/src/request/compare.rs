//! `--compare`.

use std::ffi::OsString;

use hugetools_compare::settings::{Metric, Ready, Server, Settings, Stop};
use hugetools_compare::way::Way;
use hugetools_model::units::seconds;
use regex_lite::Regex;

use super::usage;
use crate::args;
use crate::args::Args;
use crate::say::failure::Failure;

/// Run a program in several ways.
#[derive(Debug, Clone)]
pub struct Compare {
    /// What to compare, and when to stop.
    pub settings: Settings,
    /// `--json`
    pub json: bool,
}

pub(super) fn read(args: Args) -> Result<Compare, Failure> {
    if let Some(option) = args.given.first_of(args::given::NOT_COMPARED) {
        return usage(format!("{option} has no meaning with --compare"));
    }
    if args.command.is_empty() {
        return usage("--compare needs a program (see hugectl --help)");
    }
    let options = &args.compare;
    let given = args.options.iter();
    let given = given.filter(|word| !args::compare::is_option(word) && *word != "--json");
    let given: Vec<OsString> = given.filter(|word| *word != "--").cloned().collect();
    let metric = options.metric.as_deref();
    let metric = metric.map(|text| regex("--metric", text)).transpose()?;
    let settings = Settings {
        ways: ways(options.compare.as_deref().unwrap_or_default(), &given)?,
        stop: stop(options)?,
        metric: metric.map(|regex| Metric {
            regex,
            higher_is_better: options.higher_is_better,
        }),
        server: server(options)?,
        same_output: options.same_output,
        command: args.command,
    };
    if options.higher_is_better && settings.metric.is_none() {
        return usage("--higher-is-better needs --metric");
    }
    Ok(Compare {
        settings,
        json: args.reports.json,
    })
}

/// Returns the ways, plain first. Repeated ways get numbers.
fn ways(list: &str, given: &[OsString]) -> Result<Vec<Way>, Failure> {
    let words: Vec<&str> = match list {
        "" if given.is_empty() => vec!["plain", "auto"],
        "" => vec!["plain", "given", "auto"],
        list => list.split(',').collect(),
    };
    let first = words.first().copied().filter(|word| *word != "plain");
    let words = first.map(|_| "plain").into_iter().chain(words);
    let ways = words.map(|word| Way::parse(word, given));
    let ways: Result<Vec<Way>, String> = ways.collect();
    let mut ways = ways.or_else(|why| usage(format!("--compare={why}")))?;
    if ways.len() < 2 {
        return usage(
            "--compare=plain: nothing to compare with; add another way, as in --compare=plain,heap",
        );
    }
    for at in 1..ways.len() {
        let what = |way: &Way| (way.options.clone(), way.tunable);
        let before = ways[..at].iter().map(what);
        let same = before.filter(|one| *one == what(&ways[at])).count();
        if same > 0 {
            ways[at].name = format!("{} {}", ways[at].name, same + 1);
        }
    }
    Ok(ways)
}

fn stop(options: &args::Compare) -> Result<Stop, Failure> {
    let mut stop = Stop {
        rounds: options.rounds,
        ..Stop::default()
    };
    if let Some(percent) = options.within {
        if !(0.01..=100.0).contains(&percent) {
            return usage(format!(
                "--within={percent}: must be from 0.01 to 100 (percent)"
            ));
        }
        stop.within = percent / 100.0;
    }
    if let Some(word) = &options.time {
        stop.time = match seconds::parse(word.strip_suffix('s').unwrap_or(word)) {
            Some(time) => time,
            None => return usage(format!("--time={word}: {}", seconds::NOT_A_TIME)),
        };
    }
    Ok(stop)
}

fn server(options: &args::Compare) -> Result<Option<Server>, Failure> {
    match (&options.driver, &options.ready) {
        (None, None) => Ok(None),
        (None, Some(_)) => usage("--ready needs --driver=COMMAND, the client to run"),
        (Some(_), None) => {
            usage("--driver needs --ready=REGEX or --ready=PORT, the sign of a ready server")
        }
        (Some(driver), Some(ready)) => Ok(Some(Server {
            driver: driver.clone(),
            ready: match ready.parse() {
                Ok(port) => Ready::Port(port),
                Err(_) => Ready::Line(regex("--ready", ready)?),
            },
        })),
    }
}

fn regex(option: &str, text: &str) -> Result<Regex, Failure> {
    Regex::new(text).or_else(|why| usage(format!("{option}={text}: {why}")))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::request::Request;

    fn parse(words: &[&str]) -> Result<Compare, String> {
        let words = ["hugectl"].iter().chain(words).map(OsString::from);
        match Request::from_args(args::parse(words).unwrap()) {
            Ok(Request::Compare(compare)) => Ok(compare),
            Ok(other) => panic!("{other:?}"),
            Err(why) => Err(why.to_string()),
        }
    }

    fn names(words: &[&str]) -> Vec<String> {
        let ways = parse(words).unwrap().settings.ways;
        ways.into_iter().map(|way| way.name).collect()
    }

    #[test]
    fn plain_is_first_and_given_options_form_one_way() {
        assert_eq!(names(&["--compare", "./x"]), ["plain", "auto"]);
        assert_eq!(
            names(&["--compare", "--heap", "./x"]),
            ["plain", "given", "auto"]
        );
        assert_eq!(names(&["--comp=2MB", "./x"]), ["plain", "2MB"]);
        assert_eq!(
            names(&["--compare=plain,plain", "./x"]),
            ["plain", "plain 2"]
        );
        let given = parse(&["--compare", "--rou=7", "--heap", "--time=9", "./x"]).unwrap();
        assert_eq!(given.settings.ways[1].options, Some(vec!["--heap".into()]));
        assert_eq!(given.settings.stop.rounds, Some(7));
    }

    #[test]
    fn invalid_options_are_refused() {
        for (words, wanted) in [
            (vec!["--compare=hep", "x"], "--compare=hep: not plain"),
            (
                vec!["--compare", "--dry-run", "x"],
                "--dry-run has no meaning",
            ),
            (vec!["--compare"], "--compare needs a program"),
            (vec!["--rounds=5", "x"], "--rounds needs --compare"),
            (
                vec!["--compare", "--within=0", "x"],
                "--within=0: must be from",
            ),
            (
                vec!["--compare", "--driver=ab", "x"],
                "--driver needs --ready",
            ),
            (vec!["--compare", "--metric=(", "x"], "--metric=(: "),
        ] {
            let why = parse(&words).unwrap_err();
            assert!(why.starts_with(wanted), "{words:?}: {why}");
        }
    }
}

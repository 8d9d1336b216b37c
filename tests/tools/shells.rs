//! Completions in real shells: bash by its variables, fish by `complete -C`, zsh in a terminal.

use std::path::Path;
use std::process::Command;

use super::readme::Place;
use crate::support::bless;
use crate::support::live::skip;
use crate::support::needs;

/// Runs a shell's script in the project's directory. Returns the first field of each line.
fn words(shell: &str, script: &str, line: &str) -> Vec<String> {
    let tool = line.split(' ').next().unwrap();
    let mut command = Command::new(shell);
    command.current_dir(bless::project("")).args(["-c", script]);
    // Not as arguments: fish doesn't take the first one as the script's name.
    let output = command
        .env("TOOL", tool)
        .env("LINE", line)
        .output()
        .unwrap();
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    let err = String::from_utf8_lossy(&output.stderr).into_owned();
    assert_eq!(err, "", "{shell}: {line}");
    let first = |line: &str| line.split('\t').next().unwrap().trim().to_owned();
    text.lines().map(first).collect()
}

/// A line, words that must be offered, and words that must not.
type Case = (
    &'static str,
    &'static [&'static str],
    &'static [&'static str],
);

/// Words with `2MB` count only on a machine with pools of that size.
const CASES: [Case; 13] = [
    ("hugectl --heap=", &["2MB", "thp"], &["README.md", "2048kB"]),
    ("hugectl --heap=t", &["thp"], &["2MB"]),
    ("hugectl --fallback ", &["thp", "base", "none"], &["2MB"]),
    ("hugectl --status ", &["1", "all"], &["README.md"]),
    ("hugectl --limit ", &["2MB"], &["thp"]),
    ("hugectl --require te", &["text"], &["data"]),
    ("hugectl --hea", &["--heap", "--heap-engine"], &["--text"]),
    ("hugectl --heap gre", &["grep"], &["README.md", "2MB"]),
    ("hugectl --heap cat READM", &["README.md"], &["cat"]),
    ("hugeadm --pool-pages-min D", &["DEFAULT:25%"], &["1GB"]),
    ("hugeadm --create-user-mounts ro", &["root"], &["README.md"]),
    ("hugeadm --set-shm-group ro", &["root"], &["README.md"]),
    ("hugeadm --mount-mode ", &["0755"], &["README.md"]),
];

/// Tries all cases if the shell is installed.
fn try_cases(test: &str, shell: &str, offered: &dyn Fn(&str) -> Vec<String>) {
    if !needs::programs(test, &[shell]) {
        return;
    }
    let has_pool = Path::new("/sys/kernel/mm/hugepages/hugepages-2048kB").exists();
    for (line, wanted, unwanted) in CASES {
        let found = offered(line);
        // Some shells offer an option together with its value.
        let has = |word: &&&str| {
            let mut words = found.iter();
            words.any(|found| found == **word || found.ends_with(&format!("={word}")))
        };
        let needed = |word: &&&str| has_pool || !word.starts_with("2MB");
        let missing: Vec<_> = wanted
            .iter()
            .filter(needed)
            .filter(|word| !has(word))
            .collect();
        let wrong: Vec<_> = unwanted.iter().filter(has).collect();
        assert!(
            missing.is_empty(),
            "{shell}: {line}: no {missing:?} in {found:?}"
        );
        assert!(wrong.is_empty(), "{shell}: {line}: {wrong:?} in {found:?}");
    }
}

const BASH: &str = r#"
source "completions/$TOOL.bash"
COMP_LINE=$LINE COMP_POINT=${#LINE}
read -ra COMP_WORDS <<<"${LINE//=/ = }"
[[ $LINE == *[\ =] ]] && COMP_WORDS+=("")
COMP_CWORD=$((${#COMP_WORDS[@]} - 1))
_${TOOL}_line "$TOOL" "${COMP_WORDS[COMP_CWORD]}" "${COMP_WORDS[COMP_CWORD - 1]}"
printf '%s\n' "${COMPREPLY[@]}""#;

#[test]
fn bash_completes() {
    try_cases("bash_completes", "bash", &|line| words("bash", BASH, line));
}

#[test]
fn fish_completes() {
    let script = "source completions/$TOOL.fish; complete -C $LINE";
    try_cases("fish_completes", "fish", &|line| {
        words("fish", script, line)
    });
}

/// Completes in a terminal. A function that wraps compadd records the matches.
const ZSH: &str = r#"
zmodload zsh/zpty
zpty shell zsh -f -i
say() { zpty -w shell "$1" }
say 'PS1=; fpath=($PWD/completions $fpath); autoload -Uz compinit; compinit -u -D'
say 'compadd() { local -a hits; builtin compadd -O hits "$@"; (( $#hits )) && print -rl -- "<<"$^hits">>" >&$kept; builtin compadd "$@" }'
say 'all() { exec {kept}>|$FOUND; zle list-choices; exec {kept}>&-; print DONE-$((1 + 1)) }; zle -N all; bindkey "^X" all; print READY-$((1 + 1))'
: >|$FOUND
# A signal may end a read.
wait_for() { local text; until zpty -r shell text "*$1*"; do zpty -t shell || exit 1; done }
wait_for READY-2
zpty -w -n shell "$LINE"$'\x18'
wait_for DONE-2
zpty -d shell
sed -n 's/^<<\(.*\)>>$/\1/p' "$FOUND"
"#;

#[test]
fn zsh_completes() {
    let file = tempfile::NamedTempFile::new().unwrap();
    let script = format!("export FOUND={}\n{ZSH}", file.path().display());
    try_cases("zsh_completes", "zsh", &|line| words("zsh", &script, line));
}

/// Completions of hugeadm in a login shell, as over ssh, after an installation. fish needs the
/// links that the installer advises.
const LOGIN: [(&str, &str, &str); 3] = [
    (
        "bash-completion/bash_completion",
        "bash -lic '_completion_loader hugeadm; complete -p hugeadm' 2>/dev/null",
        "-F _hugeadm_line hugeadm",
    ),
    (
        "fish/config.fish",
        "ln -s /usr/local/share/fish/vendor_completions.d/* /etc/fish/completions
         fish -lc 'complete -C\"hugeadm --pool-pages-mi\"'",
        "--pool-pages-min",
    ),
    (
        "zsh",
        "zsh -lic 'autoload -Uz compinit; compinit -u -D; echo $_comps[hugeadm]' 2>/dev/null",
        "_hugeadm",
    ),
];

#[test]
fn login_shells_complete_after_an_installation() {
    let Some(place) = Place::new() else { return };
    place.install("cargo ship install");
    for (file, script, wanted) in LOGIN {
        if !Path::new("/usr/share").join(file).exists() {
            skip::<()>(
                "completion in a login shell",
                &format!("no /usr/share/{file}"),
            );
            continue;
        }
        let ran = place.run(&format!(
            "unset XDG_DATA_DIRS; export HOME=$PWD/home\n{script}"
        ));
        assert!(ran.out.contains(wanted), "{file}: {ran:?}");
    }
}

//! A plan as shell commands: run by `sh`, they do what applying it does.

use std::path::Path;

use hugetools_model::Root;

use crate::plan::{MakeDir, Number, Plan, Step, Value, Write};

/// The commands of a plan, one line each. `root` says which paths are meant:
/// with a recorded tree they carry its prefix, and what cannot be done to one
/// is a comment.
pub fn script(plan: &Plan, root: &Root) -> String {
    let steps = plan.tasks.iter().flat_map(|task| &task.steps);
    steps.map(|step| line(step, root) + "\n").collect()
}

/// The command of one step.
pub fn line(step: &Step, root: &Root) -> String {
    match step {
        Step::Write(write) => write_line(write, root),
        Step::MakeDir(dir) => make_dir_line(dir, root),
        Step::Mount(mount) => {
            let point = quote(root, &mount.point);
            let options = mount.options();
            live_only(
                root,
                format!("mount -t hugetlbfs none {point} -o {options}"),
            )
        }
        Step::Own(own) => {
            let point = quote(root, &own.point);
            let owner = own.owner;
            let (uid, gid, mode) = (owner.uid, owner.gid, owner.mode);
            live_only(
                root,
                format!("chown {uid}:{gid} {point} && chmod {mode:04o} {point}"),
            )
        }
        Step::Impossible(not) => {
            let told = format!("hugeadm:ERROR: {}: {}", not.subject, not.why);
            format!("echo {} >&2; false", quote_text(&told))
        }
    }
}

fn write_line(write: &Write, root: &Root) -> String {
    let value = match &write.value {
        Value::Plain(number) => number.to_string(),
        Value::Rest { of, less } => {
            let less: String = less.iter().map(|number| minus(number, root)).collect();
            format!("$(({of}{less}))")
        }
    };
    let path = quote(root, write.file.path.as_str());
    let command = format!("echo {value} > {path}");
    match write.refused {
        Some(why) if !root.has_kernel() => format!("# refused, {why}: {command}"),
        _ => command,
    }
}

fn minus(number: &Number, root: &Root) -> String {
    let cat = |path: &str| format!("$(cat {})", quote(root, path));
    let pages = cat(number.path.as_str());
    match &number.surplus {
        Some(surplus) if root.has_kernel() => {
            format!(" - ({pages} - {})", cat(surplus.as_str()))
        }
        _ => format!(" - {pages}"),
    }
}

fn make_dir_line(dir: &MakeDir, root: &Root) -> String {
    let path = quote(root, &dir.path);
    let (uid, gid, mode) = (dir.owner.uid, dir.owner.gid, dir.owner.mode);
    if dir.parents {
        let umask = 0o777 & !mode;
        return format!("[ -d {path} ] || (umask {umask:03o} && mkdir -p {path})");
    }
    let make = format!("mkdir -m {mode:04o} {path}");
    match root.has_kernel() {
        true => format!("[ -d {path} ] || {{ {make} && chown {uid}:{gid} {path}; }}"),
        false => format!("[ -d {path} ] || {make}"),
    }
}

fn live_only(root: &Root, command: String) -> String {
    match root.has_kernel() {
        true => command,
        false => format!("# not run on a recorded tree: {command}"),
    }
}

fn quote(root: &Root, path: impl AsRef<Path>) -> String {
    quote_text(&root.host_path(path).to_string_lossy())
}

/// A text as one word of the shell.
pub fn quote_text(text: &str) -> String {
    let plain = |c: char| c.is_ascii_alphanumeric() || "/._-+,:=@%".contains(c);
    if !text.is_empty() && text.chars().all(plain) {
        return text.to_owned();
    }
    format!("'{}'", text.replace('\'', r"'\''"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::plan::{Impossible, What};
    use hugetools_model::KPath;

    fn number(path: &'static str, surplus: Option<&'static str>) -> Number {
        Number {
            path: KPath::from(path),
            surplus: surplus.map(KPath::from),
        }
    }

    #[test]
    fn words_that_the_shell_would_take_apart_are_quoted() {
        assert_eq!(
            quote_text("/var/lib/hugetlbfs/pagesize-2MB"),
            "/var/lib/hugetlbfs/pagesize-2MB"
        );
        assert_eq!(quote_text("/mnt/huge pages"), "'/mnt/huge pages'");
        assert_eq!(quote_text("it's $HOME"), r"'it'\''s $HOME'");
        assert_eq!(quote_text(""), "''");
    }

    #[test]
    fn a_formula_reads_what_was_obtained() {
        let step = Step::Write(Write {
            file: number("/proc/sys/vm/nr_overcommit_hugepages", None),
            value: Value::Rest {
                of: 20,
                less: vec![number("/a", None), number("/b", Some("/c"))],
            },
            what: What::Setting,
            refused: None,
        });
        assert_eq!(
            line(&step, &Root::at("/").unwrap()),
            "echo $((20 - $(cat /a) - $(cat /b))) > /proc/sys/vm/nr_overcommit_hugepages"
        );
    }

    #[test]
    fn the_impossible_fails() {
        let step = Step::Impossible(Impossible {
            subject: "--create-mounts".to_owned(),
            why: "it's not there".to_owned(),
            hint: String::new(),
        });
        assert_eq!(
            line(&step, &Root::at("/").unwrap()),
            r"echo 'hugeadm:ERROR: --create-mounts: it'\''s not there' >&2; false"
        );
    }
}

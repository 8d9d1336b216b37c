//! Prints a plan as commands for `sh` with the same effect.

pub(crate) mod grow;

use std::path::Path;

use hugetools_model::hugetlb::pool::pool_dir;
use hugetools_model::{KPath, Root};

use crate::plan::{Plan, Task};
use crate::step::{
    Install, Installed, MakeDir, NumberKind, SelectWord, Step, Swap, Value, Write, included_surplus,
};

/// The counters for the pages in use or reserved: total - free + reserved.
pub(crate) const USED: [&str; 3] = ["nr_hugepages", "free_hugepages", "resv_hugepages"];

/// Returns the commands of a plan, one or more lines per step. For a recorded tree, paths begin
/// with its directory, and steps that need a kernel become comments.
pub fn script(plan: &Plan, root: &Root) -> String {
    plan.tasks.iter().map(|task| of_task(task, root)).collect()
}

/// Returns the commands of a task, up to the first impossible step.
fn of_task(task: &Task, root: &Root) -> String {
    let is_impossible = |step: &Step| matches!(step, Step::Impossible(_));
    let end = task.steps.iter().position(is_impossible);
    let (run, left) = task
        .steps
        .split_at(end.map_or(task.steps.len(), |end| end + 1));
    let lines: String = run.iter().map(|step| line(step, root) + "\n").collect();
    match left.len() {
        0 => lines,
        more => format!(
            "{lines}# skipped after that: {more} steps of {}\n",
            task.option
        ),
    }
}

/// Returns the command of one step.
pub fn line(step: &Step, root: &Root) -> String {
    let command = command(step, root);
    match step.is_skipped_on(root) {
        true => format!("# not run on a recorded tree: {command}"),
        false => command,
    }
}

fn command(step: &Step, root: &Root) -> String {
    match step {
        Step::Write(write) => write_line(write, root),
        Step::SelectWord(SelectWord { path, word }) => {
            let path = quote(root, path.as_str());
            let change = match root.has_kernel() {
                true => format!("echo {word} > {path}"),
                // A recorded file may list words, one in brackets. Without a kernel the script
                // moves the brackets.
                false => {
                    let pattern = word.replace('+', "[+]");
                    format!(
                        "if grep -qF '[' {path}; then sed -Ei 's/[][]//g; s/(^| ){pattern}( |$)/\\1[{word}]\\2/' {path}; else echo {word} > {path}; fi"
                    )
                }
            };
            format!("grep -qF '[{word}]' {path} || {change}")
        }
        Step::MakeDir(dir) => make_dir_line(dir, root),
        Step::RemoveDir(path) => {
            let path = quote(root, path);
            format!("[ ! -d {path} ] || rmdir --ignore-fail-on-non-empty {path}")
        }
        Step::Mount(mount) => {
            let point = quote(root, &mount.point);
            let options = mount.options();
            format!("mount -t hugetlbfs none {point} -o {options}")
        }
        Step::SetOwner(own) => {
            let point = quote(root, &own.point);
            let owner = own.owner;
            let (uid, gid, mode) = (owner.uid, owner.gid, owner.mode);
            format!("chown {uid}:{gid} {point} && chmod {mode:04o} {point}")
        }
        Step::Unmount(point) => format!("umount {}", quote(root, point)),
        Step::SwapOn(swap) => swap_on(swap, root),
        Step::SwapOff(swap) => swap_off(swap, root),
        Step::Install(install) => install_line(install, root),
        Step::RemoveFile(path) => format!("rm -f {}", quote(root, path)),
        Step::Run(words) => words.join(" "),
        Step::Impossible(not) => {
            let message = format!("hugeadm: error: {}: {}", not.subject, not.why);
            format!("echo {} >&2; false", quote_text(&message))
        }
    }
}

fn write_line(write: &Write, root: &Root) -> String {
    let path = quote(root, write.path.as_str());
    let value = match &write.value {
        Value::Plain(number) => number.to_string(),
        Value::AtLeast(least) => {
            return format!("{} || echo {least} > {path}", at_least(&path, *least));
        }
        Value::AtMostUsed(size) => {
            let [all, free, reserved] = USED.map(|file| cat(&pool_dir(*size).join(file), root));
            let now = number(&write.path, root);
            let used = format!("used=$(({all} - {free} + {reserved}))");
            return format!("{used}; [ \"{now}\" -le $used ] || echo $used > {path}");
        }
        Value::Remainder { total, minus } => {
            let less = minus.iter().map(|path| number(path, root));
            let less: String = less.map(|pages| format!(" - {pages}")).collect();
            // Negative if other programs have added pages meanwhile.
            format!("$(n=$(({total}{less})); echo $((n > 0 ? n : 0)))")
        }
    };
    let command = format!("echo {value} > {path}");
    match &write.kind {
        NumberKind::Pages(pages) if root.has_kernel() => match &pages.effort {
            Some(effort) => grow::lines(&command, &write.path, &value, effort, root),
            None => command,
        },
        _ => command,
    }
}

/// Tests that the number in a file is at least `least`. `[` cannot compare unsigned 64-bit numbers.
fn at_least(path: &str, least: u64) -> String {
    format!("printf '%s\\n' {least} \"$(cat {path})\" | sort -nC")
}

/// Returns the number in a file, without surplus pages.
fn number(path: &KPath, root: &Root) -> String {
    match included_surplus(path) {
        Some(surplus) if root.has_kernel() => {
            format!("$(({} - {}))", cat(path, root), cat(&surplus, root))
        }
        _ => cat(path, root),
    }
}

fn cat(path: &KPath, root: &Root) -> String {
    format!("$(cat {})", quote(root, path.as_str()))
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
        false => format!("[ -d {path} ] || {make}"),
        true => format!("[ -d {path} ] || {{ {make} && chown {uid}:{gid} {path}; }}"),
    }
}

fn install_line(install: &Install, root: &Root) -> String {
    let path = quote(root, &install.path);
    match &install.contents {
        Installed::Link(to) => format!("ln -sfn {} {path}", quote_text(&to.to_string_lossy())),
        Installed::Text { text, mode } => {
            format!("cat >{path} <<'EOF' && chmod {mode:04o} {path}\n{text}EOF")
        }
    }
}

fn swap_on(swap: &Swap, root: &Root) -> String {
    let path = quote(root, &swap.path);
    let on = format!("mkswap -q {path} && swapon {path}");
    match swap.size {
        None => on,
        Some(size) => {
            let size = size.get();
            format!("(umask 077 && head -c {size} /dev/zero > {path}) && {on}")
        }
    }
}

fn swap_off(swap: &Swap, root: &Root) -> String {
    let path = quote(root, &swap.path);
    match swap.size {
        None => format!("! grep -q '^{path} ' /proc/swaps || swapoff {path}"),
        Some(_) => format!("[ ! -e {path} ] || {{ swapoff {path}; rm -f {path}; }}"),
    }
}

fn quote(root: &Root, path: impl AsRef<Path>) -> String {
    quote_text(&root.host_path(path).to_string_lossy())
}

/// Quotes a text as one word for the shell.
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

    #[test]
    fn quotes_special_characters() {
        assert_eq!(
            quote_text("/var/lib/hugetlbfs/pagesize-2MB"),
            "/var/lib/hugetlbfs/pagesize-2MB"
        );
        assert_eq!(quote_text("/mnt/huge pages"), "'/mnt/huge pages'");
        assert_eq!(quote_text("it's $HOME"), r"'it'\''s $HOME'");
        assert_eq!(quote_text(""), "''");
    }
}

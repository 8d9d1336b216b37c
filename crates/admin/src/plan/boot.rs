//! `--install-boot` writes the service and enables it; `--uninstall-boot` reverses that.
//! A file that an administrator changed stays, and is reported last in its own task.

use std::path::PathBuf;

use super::Task;
use super::mounts::BASE_OWNER;
use crate::request::boot::kernel::{GRUB, grub};
use crate::request::boot::{Boot, mark};
use crate::step::{Install, Installed, MakeDir, Step};

pub(super) fn plan(boot: &Boot) -> Vec<Task> {
    let steps = match boot.install {
        true => install(boot),
        false => uninstall(boot),
    };
    let changed = boot.changed.iter().map(|path| {
        Step::impossible(
            *path,
            "was changed, or was not written by --install-boot: it stays",
            format!("to give it up: rm {path}"),
        )
    });
    let tasks = std::iter::once(steps).chain(changed.map(|step| vec![step]));
    let tasks = tasks.filter(|steps| !steps.is_empty());
    tasks.map(|steps| Task::new(boot.option, steps)).collect()
}

fn install(boot: &Boot) -> Vec<Step> {
    let (text, mode) = boot.init.service(&boot.program);
    let mut steps = write(boot, boot.init.path(), &text, mode);
    if let Some(link) = boot.init.link() {
        let to = Installed::Link(PathBuf::from(boot.init.path()));
        steps.extend(put(link, to));
    }
    match &boot.parameters {
        Some(parameters) => steps.extend(write(boot, GRUB, &grub(parameters), 0o644)),
        None => steps.extend(remove(boot, GRUB)),
    }
    steps.extend(boot.init.command(true).map(Step::Run));
    steps
}

fn uninstall(boot: &Boot) -> Vec<Step> {
    let link = boot.init.link();
    let mut steps: Vec<Step> = link.map(remove_file).into_iter().collect();
    steps.extend(remove(boot, boot.init.path()));
    steps.extend(remove(boot, GRUB));
    steps.extend(boot.init.command(false).map(Step::Run));
    steps
}

/// Writes a file with its mark, unless an administrator changed it.
fn write(boot: &Boot, path: &'static str, text: &str, mode: u32) -> Vec<Step> {
    match boot.changed.contains(&path) {
        true => Vec::new(),
        false => {
            let text = mark::marked(text);
            put(path, Installed::Text { text, mode })
        }
    }
}

fn put(path: &str, contents: Installed) -> Vec<Step> {
    let path = PathBuf::from(path);
    let above = path.parent().unwrap_or(&path).to_owned();
    let dir = MakeDir {
        path: above,
        owner: BASE_OWNER,
        parents: true,
    };
    vec![
        Step::MakeDir(dir),
        Step::Install(Install { path, contents }),
    ]
}

fn remove(boot: &Boot, path: &'static str) -> Option<Step> {
    let is_ours = !boot.changed.contains(&path);
    is_ours.then(|| remove_file(path))
}

fn remove_file(path: &str) -> Step {
    Step::RemoveFile(PathBuf::from(path))
}

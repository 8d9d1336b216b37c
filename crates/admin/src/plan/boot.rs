//! `--install-boot` writes the service and enables it; `--uninstall-boot` reverses that.
//! A service file that an administrator changed is kept. Its own task reports it, because an error
//! skips the rest of a task.

use std::path::PathBuf;

use super::Task;
use super::mounts::BASE_OWNER;
use crate::request::boot::{Boot, mark};
use crate::step::{Install, Installed, MakeDir, Step};

pub(super) fn plan(boot: &Boot) -> Vec<Task> {
    let mut steps = match boot.install {
        true => install(boot),
        false => uninstall(boot),
    };
    steps.extend(boot.init.command().map(Step::Run));
    let mut tasks = vec![Task::new(boot.option, steps)];
    if boot.changed {
        let path = boot.init.path();
        let changed = Step::impossible(
            path,
            "was changed, or was not written by --install-boot: it stays",
            format!("to discard it: rm {path}"),
        );
        tasks.push(Task::new(boot.option, vec![changed]));
    }
    tasks
}

fn install(boot: &Boot) -> Vec<Step> {
    let path = boot.init.path();
    let mut steps = Vec::new();
    if !boot.changed {
        let (text, mode) = boot.init.service(&boot.program);
        let text = mark::marked(&text);
        steps.extend(install_file(path, Installed::Text { text, mode }));
    }
    let link = Installed::Link(PathBuf::from(path));
    steps.extend(install_file(boot.init.link(), link));
    steps
}

fn uninstall(boot: &Boot) -> Vec<Step> {
    let service = (!boot.changed).then(|| boot.init.path());
    let paths = std::iter::once(boot.init.link()).chain(service);
    paths
        .map(|path| Step::RemoveFile(PathBuf::from(path)))
        .collect()
}

fn install_file(path: &str, contents: Installed) -> [Step; 2] {
    let path = PathBuf::from(path);
    let dir = MakeDir {
        path: path.parent().unwrap_or(&path).to_owned(),
        owner: BASE_OWNER,
        parents: true,
    };
    [
        Step::MakeDir(dir),
        Step::Install(Install { path, contents }),
    ]
}

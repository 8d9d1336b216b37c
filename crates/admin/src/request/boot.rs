//! `--install-boot` and `--uninstall-boot`: finds the init system and existing files.
//!
//! [`init`]: services. [`kernel`]: kernel parameters. [`mark`]: recognizes our files.

pub mod init;
pub mod kernel;
pub mod mark;

use std::path::{Path, PathBuf};

use hugetools_model::Machine;

use crate::args::Args;
use crate::effects::Effects;
use crate::request::{PoolChange, Request};
use crate::step::Installed;

use init::Init;
use kernel::GRUB;

/// The service to install or uninstall.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Boot {
    /// The option as written.
    pub option: &'static str,
    /// Whether to install or to uninstall.
    pub install: bool,
    /// The init system.
    pub init: Init,
    /// The path of hugeadm.
    pub program: PathBuf,
    /// Kernel parameters for GRUB.
    pub parameters: Option<String>,
    /// Our paths with a file that an administrator wrote or changed.
    pub changed: Vec<&'static str>,
}

pub(super) fn check(
    args: &Args,
    effects: &mut dyn Effects,
    request: &mut Request,
    errors: &mut Vec<String>,
) {
    let install = args.config.install_boot;
    let option = match (install, args.config.uninstall_boot) {
        (true, _) => "--install-boot",
        (false, true) => "--uninstall-boot",
        (false, false) => return,
    };
    let live = args.general.sysroot.is_none();
    let mut exists = |path: &str| matches!(effects.stat(Path::new(path)), Ok(Some(_)));
    let Some(init) = Init::find(&mut exists, live) else {
        errors.push(format!(
            "{option}: this machine has neither systemd, OpenRC nor /etc/init.d: run hugeadm \
             --apply at boot, before the programs that need its pools"
        ));
        return;
    };
    if install {
        request.notes.extend(advice(init, live));
    }
    let program = match effects.installed(Path::new("/proc/self/exe")) {
        Ok(Some(Installed::Link(program))) if live => program,
        _ => PathBuf::from("/usr/bin/hugeadm"),
    };
    let mut is_changed = |path: &&str| match effects.installed(Path::new(path)) {
        Ok(Some(Installed::Text { text, .. })) => !mark::is_unchanged(&text),
        Ok(Some(Installed::Link(_))) | Err(_) => true,
        Ok(None) => false,
    };
    let changed = [init.path(), GRUB].into_iter().filter(&mut is_changed);
    request.boot = Some(Boot {
        option,
        install,
        init,
        program,
        parameters: None,
        changed: changed.collect(),
    });
}

/// Adds kernel parameters for the gigantic pages of `hugetools.toml` (`pools`) and of the request.
pub fn add_parameters(
    request: &mut Request,
    machine: &Machine,
    pools: &[PoolChange],
    effects: &mut dyn Effects,
) {
    let Some(boot) = &mut request.boot else {
        return;
    };
    let mut exists = |path: &str| matches!(effects.stat(Path::new(path)), Ok(Some(_)));
    let pools = [pools, &request.pool_min].concat();
    if let Some(words) = kernel::parameters(machine, &pools).filter(|_| boot.install) {
        let notes = kernel::advice(machine, &words, &mut exists);
        request.notes.extend(notes);
        // Without this directory, the administrator must add them.
        boot.parameters = exists(kernel::GRUB_DIR).then_some(words);
    }
}

/// Returns the step left to the administrator.
fn advice(init: Init, live: bool) -> Option<String> {
    let script = init.path();
    (init == Init::Sysv { update_rc: false }).then(|| match live {
        true => format!(
            "{script} is not enabled: this machine has no update-rc.d\n  have init run this at \
             boot, before the programs that need its pools: {script} start"
        ),
        false => format!(
            "{script} is not enabled here\n  in the running system: update-rc.d hugetools defaults"
        ),
    })
}

//! `--install-boot` and `--uninstall-boot`: finds the init system and an existing service.
//!
//! [`init`]: services. [`kernel`]: kernel parameters. [`mark`]: recognizes our files.

pub mod init;
pub mod kernel;
pub mod mark;

use std::path::{Path, PathBuf};

use crate::args::Args;
use crate::effects::Effects;
use crate::request::Request;
use crate::step::Installed;

use init::Init;

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
    /// Whether an administrator wrote or changed the file of the service.
    pub changed: bool,
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
            "{option}: this machine has neither systemd nor OpenRC: run hugeadm --apply at boot, \
             before the programs that need its pools"
        ));
        return;
    };
    let program = match effects.read_installed(Path::new("/proc/self/exe")) {
        Ok(Some(Installed::Link(program))) if live => program,
        _ => PathBuf::from("/usr/bin/hugeadm"),
    };
    let changed = match effects.read_installed(Path::new(init.path())) {
        Ok(Some(Installed::Text { text, .. })) => !mark::is_unchanged(&text),
        Ok(Some(Installed::Link(_))) | Err(_) => true,
        Ok(None) => false,
    };
    request.boot = Some(Boot {
        option,
        install,
        init,
        program,
        changed,
    });
}

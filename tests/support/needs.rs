//! What a machine may lack: programs that tests use, looked for by name in one
//! place.

use std::fs::OpenOptions;
use std::path::PathBuf;

use super::live::skip;

/// Where a program lies that the shell would find, or that only root's shell
/// would.
fn find(name: &str) -> Option<PathBuf> {
    let (_, path) = std::env::vars_os().find(|(name, _)| name == "PATH")?;
    let more = ["/usr/sbin", "/sbin"].map(PathBuf::from);
    let dirs = std::env::split_paths(&path).chain(more);
    dirs.map(|dir| dir.join(name)).find(|file| file.exists())
}

/// Whether all of these programs are there; where not the test is skipped,
/// aloud.
pub(crate) fn programs(test: &str, names: &[&str]) -> bool {
    let lacks = |name: &&&str| find(name).is_none();
    match names.iter().find(lacks) {
        None => true,
        Some(name) => skip::<()>(test, &format!("there is no {name}")).is_some(),
    }
}

/// Whether there may be terminals, as there are not in a chroot without `/dev/pts`.
pub(crate) fn terminal(test: &str) -> bool {
    let opened = OpenOptions::new().read(true).write(true).open("/dev/ptmx");
    match opened {
        Ok(_) => programs(test, &["script"]),
        Err(error) => skip::<()>(test, &format!("no terminal: /dev/ptmx: {error}")).is_some(),
    }
}

/// Whether the linker of `-fuse-ld=NAME` is there.
pub(crate) fn linker(test: &str, name: &str) -> bool {
    programs(test, &[&format!("ld.{name}")])
}

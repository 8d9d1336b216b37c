//! The file of a report: whether it can be written is asked before the program
//! starts, and it is not made then.

use std::path::{Path, PathBuf};

use hugetools_model::root::error::describe_errno;
use nix::errno::Errno;
use nix::unistd::AccessFlags;

use crate::files::access;
use crate::say::failure::Failure;

/// The absolute path of a report's file, if it can be written.
///
/// # Errors
/// Why it cannot, and what to do.
pub(super) fn check(file: &Path) -> Result<PathBuf, Failure> {
    let fail = |why: String, then: String| {
        let file = file.display();
        Err(Failure::Own(format!("--report={file}: {why}\n  {then}")))
    };
    let path = match std::path::absolute(file) {
        Ok(path) => path,
        Err(error) => return fail(error.to_string(), NAME_A_FILE.to_owned()),
    };
    if path.is_dir() {
        return fail("it is a directory".to_owned(), NAME_A_FILE.to_owned());
    }
    let dir = path.parent().unwrap_or(Path::new("/"));
    let (checked, rights) = match path.exists() {
        true => (path.as_path(), AccessFlags::W_OK),
        false => (dir, AccessFlags::W_OK | AccessFlags::X_OK),
    };
    let is_below_a_file = dir.exists() && !dir.is_dir();
    match access::may(checked, rights) {
        _ if is_below_a_file => fail(
            format!("{} is no directory", dir.display()),
            NAME_A_FILE.to_owned(),
        ),
        Ok(()) => Ok(path),
        Err(errno) => {
            let why = describe_errno(errno as i32);
            let why = format!("cannot write to {}: {why}", checked.display());
            fail(why, instead(errno, dir))
        }
    }
}

const NAME_A_FILE: &str = "name a file in a directory that is there, or leave it out: --report \
                           writes to standard error";

/// What to do instead.
fn instead(errno: Errno, dir: &Path) -> String {
    match errno {
        Errno::ENOENT => format!("make the directory first: mkdir -p {}", dir.display()),
        Errno::EACCES | Errno::EPERM => {
            "name a file that this user may write; it is opened before rights are dropped"
                .to_owned()
        }
        _ => NAME_A_FILE.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn it_must_be_writable() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("report");
        assert_eq!(check(&path).unwrap(), path);
        assert!(!path.exists(), "nothing is made beforehand");
        let wrong = |path: &Path| check(path).unwrap_err().to_string();
        let said = wrong(dir.path());
        assert!(said.contains("it is a directory\n  name a file"), "{said}");
        let missing = dir.path().join("no");
        let said = wrong(&missing.join("report"));
        let then = format!(
            "\n  make the directory first: mkdir -p {}",
            missing.display()
        );
        assert!(said.ends_with(&then), "{said}");
        assert!(
            said.contains("no such file or directory (ENOENT)"),
            "{said}"
        );
        let file = tempfile::NamedTempFile::new_in(dir.path()).unwrap();
        let said = wrong(&file.path().join("report"));
        assert!(said.contains("is no directory\n  name a file"), "{said}");
        assert!(check(Path::new("x")).unwrap().is_absolute());
    }
}

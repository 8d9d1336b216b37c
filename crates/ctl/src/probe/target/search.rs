//! The search of `execvp(3)`.

use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

/// Where programs are looked for without `PATH`.
const WITHOUT_PATH: &str = "/bin:/usr/bin";

/// Whether a name is a path, which is not searched for.
pub(super) fn is_path(name: &OsStr) -> bool {
    name.as_bytes().contains(&b'/')
}

/// The files that a name may mean, in order. An empty directory is the
/// current one.
pub(super) fn candidates(name: &OsStr, path: Option<&OsStr>) -> impl Iterator<Item = PathBuf> {
    let dirs = match is_path(name) {
        true => vec![PathBuf::new()],
        false => {
            let path = path.unwrap_or(OsStr::new(WITHOUT_PATH));
            let dirs = path.as_bytes().split(|byte| *byte == b':');
            dirs.map(|dir| match dir {
                b"" => PathBuf::from("."),
                dir => PathBuf::from(OsStr::from_bytes(dir)),
            })
            .collect()
        }
    };
    let name = Path::new(name).to_owned();
    dirs.into_iter().map(move |dir| dir.join(&name))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn all(name: &str, path: Option<&str>) -> Vec<String> {
        candidates(OsStr::new(name), path.map(OsStr::new))
            .map(|path| path.to_str().unwrap().to_owned())
            .collect()
    }

    #[test]
    fn names_are_searched_for_and_paths_are_not() {
        assert_eq!(all("x", Some("/a::/b/")), ["/a/x", "./x", "/b/x"]);
        assert_eq!(all("x", Some("")), ["./x"]);
        assert_eq!(all("x", None), ["/bin/x", "/usr/bin/x"]);
        assert_eq!(all("./x", Some("/a")), ["./x"]);
        assert_eq!(all("/a/x", None), ["/a/x"]);
    }
}

//! Options of a container: the variables, and a mount of the library. One library serves glibc and
//! musl.

use std::path::{Path, PathBuf};

use super::{Variable, fail};
use crate::say::failure::Failure;

/// Resolves symbolic links: the container mounts the file itself.
fn real(path: &Path) -> PathBuf {
    std::fs::canonicalize(path).unwrap_or_else(|_error| path.to_owned())
}

/// Returns options for `docker run`, one per line. They are not quoted, since the shell removes no
/// quotes from the output of a command, only splits it at blanks.
pub(super) fn docker(
    variables: &[Variable],
    library: Option<&Path>,
    shm: bool,
) -> Result<String, Failure> {
    let mount = library.map(|path| {
        let (from, to) = (real(path), path.display());
        let from = from.display();
        format!("--mount=type=bind,source={from},target={to},readonly")
    });
    let variables = variables.iter();
    let variables = variables.map(|(name, value)| format!("--env={name}={value}"));
    let mut out = String::new();
    for option in mount.into_iter().chain(variables) {
        if option.contains(char::is_whitespace) {
            return fail(&format!("the shell would split {option} at its blank"));
        }
        out += &(option + "\n");
    }
    if shm {
        // Huge pages of System V segments count as locked. Rootless engines cannot raise a limit.
        out += "--ulimit=memlock=-1\n";
    }
    Ok(out)
}

/// Returns the parts of a pod's specification.
pub(super) fn kubernetes(head: &str, variables: &[Variable], library: Option<&Path>) -> String {
    let mut out = format!(
        "{head}\n# In the container; pages of a pool need a limit, too, such as\n\
         # resources.limits.hugepages-2Mi:\nenv:\n"
    );
    let variables = variables.iter();
    out.extend(
        variables.map(|(name, value)| format!("- name: {name}\n  value: {}\n", scalar(value))),
    );
    let Some(path) = library else {
        return out;
    };
    let (from, to) = (real(path), path);
    out + &format!(
        "volumeMounts:\n- name: hugetools\n  mountPath: {}\n  readOnly: true\n\
         # In the pod; the file must be on its node.\nvolumes:\n- name: hugetools\n  \
         hostPath:\n    path: {}\n    type: File\n",
        scalar(&to.display().to_string()),
        scalar(&from.display().to_string())
    )
}

/// Quotes a text as JSON, which is valid YAML, too.
fn scalar(text: &str) -> String {
    serde_json::Value::from(text).to_string()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_are_quoted_for_their_reader() {
        let variables = [("A", "yes".to_owned()), ("B", "a b".to_owned())];
        assert_eq!(
            docker(&variables[..1], Some(Path::new("/l/x.so")), true).unwrap(),
            "--mount=type=bind,source=/l/x.so,target=/l/x.so,readonly\n--env=A=yes\n\
             --ulimit=memlock=-1\n"
        );
        assert_eq!(
            docker(&variables[..1], None, false).unwrap(),
            "--env=A=yes\n"
        );
        assert!(docker(&variables, None, false).is_err());
        let pod = kubernetes("#", &variables, None);
        assert!(pod.ends_with("env:\n- name: A\n  value: \"yes\"\n- name: B\n  value: \"a b\"\n"));
    }
}

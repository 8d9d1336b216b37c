//! Options of a container: the variables, and the library's file, which is the same
//! under glibc and musl.

use std::path::Path;

use super::{Told, real};

/// Options for `docker run`, one to a line; a shell may split them at blanks.
pub(super) fn docker(variables: &[Told], library: Option<&Path>) -> String {
    let mut out = String::new();
    if let Some(path) = library {
        let (from, to) = (real(path), path);
        out += &word(&format!(
            "--mount=type=bind,source={},target={},readonly",
            from.display(),
            to.display()
        ));
    }
    for (name, value) in variables {
        out += &word(&format!("--env={name}={value}"));
    }
    out + "--ulimit=memlock=-1\n"
}

/// A line, in quotes where a shell would not leave it as it is.
fn word(text: &str) -> String {
    let plain = |c: char| c.is_ascii_alphanumeric() || "-_=,./:@%+".contains(c);
    match text.chars().all(plain) {
        true => format!("{text}\n"),
        false => format!("'{}'\n", text.replace('\'', "'\\''")),
    }
}

/// Parts of a pod's specification.
pub(super) fn kubernetes(head: &str, variables: &[Told], library: Option<&Path>) -> String {
    let mut out = format!(
        "{head}\n# In the container; pages of a pool need a limit of their size, as much as is\n\
         # to be had, and as much memory besides: resources.limits.hugepages-2Mi\nenv:\n"
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

/// A text in quotes, as JSON has it, which is YAML as well.
fn scalar(text: &str) -> String {
    serde_json::Value::from(text).to_string()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_reader_gets_its_own_quotes() {
        let variables = [("A", "yes".to_owned()), ("B", "a b".to_owned())];
        assert_eq!(
            docker(&variables, Some(Path::new("/l/x.so"))),
            "--mount=type=bind,source=/l/x.so,target=/l/x.so,readonly\n--env=A=yes\n\
             '--env=B=a b'\n--ulimit=memlock=-1\n"
        );
        let pod = kubernetes("#", &variables, None);
        assert!(pod.ends_with("env:\n- name: A\n  value: \"yes\"\n- name: B\n  value: \"a b\"\n"));
    }
}

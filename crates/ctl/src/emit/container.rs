//! Options of a container: the variables, and a mount of the library. One library serves glibc and
//! musl.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use hugetools_contract::env::Pages;
use hugetools_model::PageSize;

use super::{Variable, fail};
use crate::probe::kernel::{Kernel, Wants};
use crate::say::failure::Failure;

pub(super) fn pool_sizes(wants: &Wants, kernel: &Kernel) -> BTreeSet<PageSize> {
    let asked = [wants.heap, wants.shm, wants.text, wants.data];
    let of_pools = asked
        .into_iter()
        .flatten()
        .filter(|pages| *pages != Pages::Thp);
    of_pools.filter_map(|pages| kernel.size(pages)).collect()
}

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
pub(super) fn kubernetes(
    head: &str,
    variables: &[Variable],
    library: Option<&Path>,
    sizes: &BTreeSet<PageSize>,
) -> String {
    let mut out = format!("{head}\n# In the container:\n{}env:\n", limits(sizes));
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

/// Returns a comment that names the resource limits which pool pages need.
fn limits(sizes: &BTreeSet<PageSize>) -> String {
    if sizes.is_empty() {
        return String::new();
    }
    let names = sizes.iter();
    let names = names.map(|size| format!("#   resources.limits.{}\n", resource(*size)));
    format!(
        "# Pool pages need a limit for their size beside the memory limit:\n{}",
        names.collect::<String>()
    )
}

/// Returns Kubernetes' name of a page size: `hugepages-2Mi`.
fn resource(size: PageSize) -> String {
    const UNITS: [(u64, &str); 2] = [(1 << 20, "Gi"), (1 << 10, "Mi")];
    let kib = size.kib();
    let mut units = UNITS.iter();
    match units.find(|(unit, _)| kib % unit == 0) {
        Some((unit, name)) => format!("hugepages-{}{name}", kib / unit),
        None => format!("hugepages-{kib}Ki"),
    }
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
        let pod = kubernetes("#", &variables, None, &BTreeSet::new());
        assert!(pod.ends_with("env:\n- name: A\n  value: \"yes\"\n- name: B\n  value: \"a b\"\n"));
    }

    #[test]
    fn a_pod_has_a_limit_for_each_page_size_of_a_pool() {
        let size = |kib: u64| PageSize::new(kib << 10).unwrap();
        let kernel = Kernel {
            default: Some(size(2048)),
            ..Kernel::default()
        };
        let wants = Wants {
            heap: Some(Pages::Size(1 << 30)),
            shm: Some(Pages::Default),
            anon: Some(Pages::Thp),
            ..Wants::default()
        };
        let sizes = pool_sizes(&wants, &kernel);
        assert_eq!(sizes, [size(2048), size(1 << 20)].into());
        let names = sizes.into_iter().map(resource).collect::<Vec<String>>();
        assert_eq!(names, ["hugepages-2Mi", "hugepages-1Gi"]);
        assert_eq!(resource(size(64)), "hugepages-64Ki");
    }
}

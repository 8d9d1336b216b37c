//! `--emit`: settings for starters other than hugectl: a systemd drop-in, lines of an environment
//! file, options of a container.
//!
//! | kind | destination |
//! |---|---|
//! | `systemd` | `/etc/systemd/system/UNIT.d/hugetools.conf` |
//! | `environment` | `EnvironmentFile=`, PostgreSQL's `environment`, `/etc/default/NAME` |
//! | `docker` | `docker run $(hugectl --emit=docker ...) IMAGE`; podman and nerdctl alike |
//! | `kubernetes` | a pod's specification |
//!
//! Variables that hold a process ID are left out: the service has none yet.

mod container;

use std::ffi::{OsStr, OsString};
use std::path::Path;

use hugetools_contract::env;

use crate::caller::{Caller, value};
use crate::plan::{Plan, Value};
use crate::probe::Findings;
use crate::probe::library::Found;
use crate::request::{Emit, EmitKind};
use crate::say::failure::Failure;

/// Advice for a missing or volatile library.
const INSTALL: &str =
    "install hugetools (its package, or cargo ship install), and call that hugectl";

/// Directories that a reboot empties.
const VOLATILE: [&str; 5] = ["/run", "/var/run", "/tmp", "/dev", "/proc"];

/// Returns a caller with the environment of a service: only `PATH` of the caller's.
#[must_use]
pub fn service(caller: &Caller) -> Caller {
    let mut service = caller.clone();
    service.env.retain(|entry| value(entry, "PATH").is_some());
    service
}

/// Formats the settings. `plan` was made for [`service`], without the library inside hugectl.
///
/// # Errors
/// The library is missing or not installed, or the starter cannot take a value.
pub fn text(emit: &Emit, findings: &Findings, plan: &Plan) -> Result<String, Failure> {
    let library = match &findings.library {
        None => None,
        Some(Found::Missing(why)) => return fail(&format!("{why}\n  {INSTALL}")),
        Some(found) => found.path().map(Path::to_owned),
    };
    if let Some(path) = &library {
        check(path)?;
    }
    let variables = variables(plan)?;
    let head = format!("# Made by hugectl --emit={}", emit.word);
    Ok(match emit.kind {
        EmitKind::Systemd => systemd(&head, emit, &variables),
        EmitKind::Environment => environment(&head, &variables),
        EmitKind::Docker => {
            container::docker(&variables, library.as_deref(), emit.run.shm.is_some())?
        }
        EmitKind::Kubernetes => container::kubernetes(&head, &variables, library.as_deref()),
    })
}

/// Warns about Debian's starter for PostgreSQL, which drops the environment. Debian's
/// `postgresql.service` itself starts nothing.
#[must_use]
pub fn warning(emit: &Emit) -> Option<String> {
    let unit = emit.name.as_deref()?.to_string_lossy();
    if emit.kind != EmitKind::Systemd {
        return None;
    }
    let name = unit.strip_suffix(".service").unwrap_or(&unit);
    let is_debian = || Path::new("/usr/bin/pg_ctlcluster").exists();
    let cluster = match name.strip_prefix("postgresql@") {
        None if name == "postgresql" && is_debian() => "",
        cluster => cluster?,
    };
    let (version, cluster) = cluster.split_once('-').unwrap_or(("VERSION", "CLUSTER"));
    Some(format!(
        "pg_ctlcluster, by which {unit} starts the server, drops the environment\n  \
         instead: hugectl --emit=environment OPTIONS \
         >>/etc/postgresql/{version}/{cluster}/environment"
    ))
}

fn fail<T>(text: &str) -> Result<T, Failure> {
    Err(Failure::Own(format!("--emit: {text}")))
}

/// Checks that a library is in a permanent directory.
fn check(path: &Path) -> Result<(), Failure> {
    let shown = path.display();
    match VOLATILE.iter().any(|dir| path.starts_with(dir)) {
        true => fail(&format!("{shown} does not outlive a reboot\n  {INSTALL}")),
        false => Ok(()),
    }
}

/// A variable and its value, which has no control character.
type Variable = (&'static str, String);

fn variables(plan: &Plan) -> Result<Vec<Variable>, Failure> {
    let mut all = Vec::new();
    // env::PID may be 0, as if hugectl had warned. Without it every process warns.
    let variables = plan.variables.iter();
    for variable in variables.filter(|variable| variable.name != env::PID) {
        let value: &OsString = match &variable.value {
            Value::Text(text) => text,
            // Without a process ID, the requirement applies to every process of the service.
            Value::ProcessAnd(text) if variable.name == env::REQUIRE => text,
            Value::Process | Value::ProcessAnd(_) => continue,
        };
        match value
            .to_str()
            .filter(|text| !text.contains(char::is_control))
        {
            Some(text) => all.push((variable.name, text.to_owned())),
            None => return fail(&format!("the value of {} is no plain text", variable.name)),
        }
    }
    Ok(all)
}

fn systemd(head: &str, emit: &Emit, variables: &[Variable]) -> String {
    let unit = emit
        .name
        .as_deref()
        .map_or("UNIT.service".to_owned(), unit_name);
    let mut out = format!(
        "{head}\n# for /etc/systemd/system/{unit}.d/hugetools.conf; then:\n\
         #   systemctl daemon-reload && systemctl restart {unit}\n[Service]\n"
    );
    out.extend(variables.iter().map(|(name, value)| {
        let value = value
            .replace('\\', "\\\\")
            .replace('"', "\\\"")
            .replace('%', "%%");
        format!("Environment=\"{name}={value}\"\n")
    }));
    if emit.run.shm.is_some() {
        // Huge pages of System V segments count as locked.
        out += "LimitMEMLOCK=infinity\n";
    }
    out
}

/// Returns a unit's full name; `.service` may be missing.
fn unit_name(name: &OsStr) -> String {
    let name = name.to_string_lossy();
    format!("{}.service", name.strip_suffix(".service").unwrap_or(&name))
}

fn environment(head: &str, variables: &[Variable]) -> String {
    let lines = variables.iter();
    let lines = lines.map(|(name, value)| format!("{name}='{}'\n", value.replace('\'', "'\\''")));
    format!("{head}\n{}", lines.collect::<String>())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_are_quoted_for_their_reader() {
        let odd = [("A", "it's 5% \"x\"".to_owned())];
        assert_eq!(environment("#", &odd), "#\nA='it'\\''s 5% \"x\"'\n");
        let emit = Emit {
            kind: EmitKind::Systemd,
            word: "systemd".to_owned(),
            name: Some("x".into()),
            run: crate::request::tests::run_request("--dry-run"),
        };
        let text = systemd("#", &emit, &odd);
        let line = "Environment=\"A=it's 5%% \\\"x\\\"\"\n";
        assert!(
            text.ends_with(line) && text.contains("/x.service.d/"),
            "{text}"
        );
    }
}

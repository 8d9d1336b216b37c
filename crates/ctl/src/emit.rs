//! What starts a program by other means than hugectl needs to be told: a drop-in of
//! systemd, lines of an environment file, options of a container.
//!
//! | kind | where it goes |
//! |---|---|
//! | `systemd` | `/etc/systemd/system/UNIT.d/hugetools.conf` |
//! | `environment` | `EnvironmentFile=`, PostgreSQL's `environment`, `/etc/default/NAME` |
//! | `docker` | `docker run $(hugectl --emit=docker …) IMAGE`; podman and nerdctl alike |
//! | `kubernetes` | a pod's specification |
//!
//! What only hugectl can know beforehand, the number of the process, is left out; so is
//! who says that huge pages run out: a service begins later, on pools of its own time, and
//! nobody has said a word there before it.

mod container;

use std::ffi::{OsStr, OsString};
use std::path::{Path, PathBuf};

use hugetools_contract::env;

use crate::caller::{Caller, value};
use crate::plan::{Plan, Value};
use crate::probe::Findings;
use crate::probe::library::Found;
use crate::request::{Emit, EmitKind, Library, Run};
use crate::say::failure::Failure;

/// What installs hugectl in a place that lasts.
const INSTALL: &str =
    "install hugetools (its package, or cargo ship install), and call that hugectl";

/// Where nothing outlives a reboot.
const PASSING: [&str; 5] = ["/run", "/var/run", "/tmp", "/dev", "/proc"];

/// The environment in which a service begins: nothing of the caller's own.
#[must_use]
pub fn service(caller: &Caller) -> Caller {
    let mut service = caller.clone();
    service.env.retain(|entry| value(entry, "PATH").is_some());
    service
}

/// The text for a plan that was made for [`service`], without the copy of the
/// library inside hugectl.
///
/// # Errors
/// Where the text would not hold: the library does not outlive a reboot, or a value
/// cannot be written.
pub fn text(
    emit: &Emit,
    caller: &Caller,
    findings: &Findings,
    plan: &Plan,
) -> Result<String, Failure> {
    let library = match &findings.library {
        None => None,
        Some(Found::Nowhere(why)) => return fail(&format!("{why}\n  {INSTALL}")),
        Some(Found::At(path)) => Some(path.clone()),
    };
    if let Some(path) = &library {
        check(path, &emit.run, caller)?;
    }
    let variables = variables(plan)?;
    let head = format!("# Made by hugectl --emit={}", emit.kind.word());
    Ok(match emit.kind {
        EmitKind::Systemd => systemd(&head, emit, &variables),
        EmitKind::Environment => environment(&head, &variables),
        EmitKind::Docker => container::docker(&variables, library.as_deref()),
        EmitKind::Kubernetes => {
            let sizes = container::pool_sizes(&findings.served, &findings.kernel);
            container::kubernetes(&head, &variables, library.as_deref(), &sizes)
        }
    })
}

/// What is to be said of a unit whose program drops the environment all the same.
#[must_use]
pub fn warning(emit: &Emit) -> Option<String> {
    let unit = emit.name.as_deref()?;
    match emit.kind {
        EmitKind::Systemd => of_unit(unit),
        _ => None,
    }
}

/// What is to be said of a unit whose starter, Debian's for PostgreSQL, drops the
/// environment.
fn of_unit(unit: &OsStr) -> Option<String> {
    let unit = unit.to_string_lossy();
    let cluster = unit.strip_prefix("postgresql@")?;
    let cluster = cluster.strip_suffix(".service").unwrap_or(cluster);
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

/// That a library will be there after the next boot.
fn check(path: &Path, run: &Run, caller: &Caller) -> Result<(), Failure> {
    let shown = path.display();
    if run.library == Library::ByName {
        return Ok(());
    }
    if PASSING.iter().any(|dir| path.starts_with(dir)) {
        return fail(&format!("{shown} does not outlive a reboot\n  {INSTALL}"));
    }
    let beside = caller.exe.as_deref().and_then(Path::parent);
    match run.library == Library::Auto && path.parent() == beside {
        true => fail(&format!(
            "{shown} is in the tree it was built in\n  {INSTALL}"
        )),
        false => Ok(()),
    }
}

/// A variable and its value, as text without line ends.
type Told = (&'static str, String);

fn variables(plan: &Plan) -> Result<Vec<Told>, Failure> {
    let mut all = Vec::new();
    // That hugectl has said all already, 0, holds for a start at this moment alone.
    let lasting = plan.variables.iter();
    for variable in lasting.filter(|variable| variable.name != env::PID) {
        let value: &OsString = match &variable.value {
            Value::Text(text) => text,
            // Without a process, it is for all of them.
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

fn systemd(head: &str, emit: &Emit, variables: &[Told]) -> String {
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
        // Segments of huge pages count as locked.
        out += "LimitMEMLOCK=infinity\n";
    }
    out
}

/// What ends the name of a unit: systemd.unit(5).
const UNIT_TYPES: [&str; 11] = [
    "service",
    "socket",
    "mount",
    "automount",
    "swap",
    "slice",
    "scope",
    "target",
    "timer",
    "path",
    "device",
];

/// A unit's name; without a suffix of systemd's it is a service, whatever dots it has.
fn unit_name(name: &OsStr) -> String {
    let name = name.to_string_lossy();
    let suffix = name.rsplit_once('.').map(|(_, suffix)| suffix);
    match suffix.is_some_and(|suffix| UNIT_TYPES.contains(&suffix)) {
        true => name.into_owned(),
        false => format!("{name}.service"),
    }
}

fn environment(head: &str, variables: &[Told]) -> String {
    let lines = variables.iter();
    let lines = lines.map(|(name, value)| format!("{name}='{}'\n", value.replace('\'', "'\\''")));
    format!("{head}\n{}", lines.collect::<String>())
}

/// A file as it is mounted: what it is, and under which name it is looked for.
fn real(path: &Path) -> PathBuf {
    std::fs::canonicalize(path).unwrap_or_else(|_error| path.to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::plan::Variable;

    #[test]
    fn what_does_not_last_is_refused() {
        let run = |library| Run {
            library,
            ..crate::request::tests::run("--dry-run")
        };
        let mut caller = Caller::this([]);
        caller.exe = Some("/build/hugectl".into());
        let refused = |path: &str, library| {
            let end = check(Path::new(path), &run(library), &caller);
            end.err().map(|failure| failure.to_string())
        };
        let why = refused("/run/hugetools/x/libhugetlbfs.so", Library::Auto);
        assert!(why.unwrap().contains("does not outlive a reboot\n"));
        let why = refused("/build/libhugetlbfs.so", Library::Auto);
        assert!(why.unwrap().contains("is in the tree it was built in"));
        let at = Library::At("/build".into());
        assert_eq!(refused("/build/libhugetlbfs.so", at), None);
        assert_eq!(refused("/usr/lib/libhugetlbfs.so", Library::Auto), None);
    }

    #[test]
    fn a_unit_whose_starter_drops_the_environment() {
        assert_eq!(of_unit(OsStr::new("redis-server")), None);
        let said = of_unit(OsStr::new("postgresql@15-main.service")).unwrap();
        assert!(said.ends_with("/15/main/environment"), "{said}");
    }

    #[test]
    fn no_service_is_told_that_all_is_said() {
        let variable = |name, value| Variable { name, value };
        let text = |text: &str| Value::Text(text.into());
        let plan = Plan {
            variables: vec![
                variable(env::MORECORE, text("yes")),
                variable(env::PID, text("0")),
                variable(env::STARTER, Value::Process),
                variable(env::REQUIRE, Value::ProcessAnd("heap".into())),
            ],
            ..Plan::default()
        };
        let told = |name: &'static str, value: &str| (name, value.to_owned());
        assert_eq!(
            variables(&plan).unwrap(),
            [told(env::MORECORE, "yes"), told(env::REQUIRE, "heap")]
        );
    }

    #[test]
    fn the_name_of_a_unit_has_a_suffix_of_systemd() {
        for (given, name) in [
            ("redis", "redis.service"),
            ("redis.service", "redis.service"),
            ("web.socket", "web.socket"),
            ("postgresql@9.6-main", "postgresql@9.6-main.service"),
            ("my.app", "my.app.service"),
            ("my.app.slice", "my.app.slice"),
        ] {
            assert_eq!(unit_name(OsStr::new(given)), name);
        }
    }

    #[test]
    fn quotes_are_those_of_the_reader() {
        let odd = [("A", "it's 5% \"x\"".to_owned())];
        assert_eq!(environment("#", &odd), "#\nA='it'\\''s 5% \"x\"'\n");
        let run = crate::request::tests::run("--dry-run");
        let emit = Emit {
            kind: EmitKind::Systemd,
            name: Some("x".into()),
            run,
        };
        let text = systemd("#", &emit, &odd);
        assert!(
            text.ends_with("Environment=\"A=it's 5%% \\\"x\\\"\"\n"),
            "{text}"
        );
        assert!(text.contains("/x.service.d/"), "{text}");
    }
}

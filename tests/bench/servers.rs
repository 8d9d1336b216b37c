//! Servers and the clients that drive them. The first run of a client fills the database.

use std::os::unix::fs::chown;
use std::path::Path;

use super::prepare::{Job, Scratch, needs, run};
use super::support::postgres;

/// Returns the job of a server. Once it prints `ready`, the client runs `load`; the first time,
/// `fill` before it.
fn server(words: &[&str], ready: &str, data: &str, fill: &str, load: &str) -> Job {
    let filled = format!("{data}.filled");
    let driver =
        format!("{{ test -e {filled} || {{ {fill}; }}; }} >&2 && touch {filled} && {load}");
    Job {
        options: vec![format!("--ready={ready}"), format!("--driver={driver}")],
        ..Job::of(words)
    }
}

/// Runs pgbench on PostgreSQL as user postgres with `huge_pages=off`: hugectl chooses the pages.
pub(crate) fn postgres(scratch: &Scratch, scale: u64, memory: &str) -> Result<Job, String> {
    let (bin, user) = postgres::installed("pgbench").ok_or("PostgreSQL is not installed")?;
    let program = |name: &str| bin.join(name).display().to_string();
    let data = scratch.path("postgres");
    let setpriv = [
        "setpriv",
        "--reuid=postgres",
        "--regid=postgres",
        "--init-groups",
    ];
    if !Path::new(&data).exists() {
        std::fs::create_dir(&data).map_err(|error| format!("{data}: {error}"))?;
        chown(&data, Some(user.uid.as_raw()), Some(user.gid.as_raw()))
            .map_err(|error| format!("{data}: {error}"))?;
        let initdb = program("initdb");
        run(&[
            &setpriv[..],
            &[&initdb, "-A", "trust", "--no-sync", "-D", &data],
        ]
        .concat())?;
    }
    let (postgres, client) = (
        program("postgres"),
        format!("-h {data} -U postgres postgres"),
    );
    let memory = format!("shared_memory_type={memory}");
    let buffers = format!("shared_buffers={}MB", 64 + scale * 20);
    let directory = format!("unix_socket_directories={data}");
    let mut words = vec![&*postgres, "-D", &data];
    for setting in [
        "huge_pages=off",
        "listen_addresses=",
        &memory,
        &buffers,
        &directory,
    ] {
        words.extend(["-c", setting]);
    }
    let (pgbench, psql) = (program("pgbench"), program("psql"));
    let fill = format!(
        "{pgbench} {client} -q -i -s {scale} && {psql} {client} -c 'create extension pg_prewarm'"
    );
    let load = format!(
        "{psql} {client} -qAtc \"select pg_prewarm('pgbench_accounts')\" && \
         {pgbench} {client} -n -S -c 8 -j 2 -t {} 2>&1",
        100 * scale
    );
    let ready = "ready to accept connections";
    Ok(server(
        &[&setpriv[..], &words].concat(),
        ready,
        &data,
        &fill,
        &load,
    ))
}

/// Runs sysbench on MariaDB with `size` thousand rows.
pub(crate) fn mariadb(scratch: &Scratch, size: u64) -> Result<Job, String> {
    needs("mariadbd")
        .and(needs("mariadb-install-db"))
        .and(needs("sysbench"))?;
    let data = scratch.path("mariadb");
    let (dir, socket) = (
        format!("--datadir={data}"),
        format!("--socket={data}/socket"),
    );
    run(&[
        "mariadb-install-db",
        "--no-defaults",
        "--user=root",
        "--auth-root-authentication-method=normal",
        &dir,
    ])?;
    let pool = format!("--innodb-buffer-pool-size={}M", 64 + size * 2 / 5);
    let words = [
        "mariadbd",
        "--no-defaults",
        "--user=root",
        &dir,
        &socket,
        "--skip-networking",
        &pool,
        "--innodb-fast-shutdown=2",
        "--innodb-buffer-pool-dump-at-shutdown=off",
    ];
    let sysbench = format!(
        "sysbench oltp_read_only --mysql-socket={data}/socket --mysql-user=root --mysql-db=test \
         --table-size={size}000 --threads=2 --time=0 --events={}",
        100 + size
    );
    let (fill, load) = (format!("{sysbench} prepare"), format!("{sysbench} run"));
    Ok(server(&words, "ready for connections", &data, &fill, &load))
}

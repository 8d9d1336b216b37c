//! Starts PostgreSQL by Debian's scripts and an MPI job, and checks `hugectl --emit`. The tools are
//! installed, since paths in a build tree don't last. Changes to `/etc` are discarded.

use crate::support::live::machine;
use crate::support::needs;

use super::readme::{Place, blocks};

const INSTALL: &str = "cargo ship install";

/// Runs a script that must succeed, with hugetools installed. Returns its output.
fn run_installed(place: &Place, script: &str) -> String {
    place.install(INSTALL);
    let ran = place.run(&format!("ldconfig\n{script}"));
    assert_eq!(ran.status, 0, "{ran:?}");
    ran.out
}

/// Returns the huge kB in the row of a segment.
fn huge(status: &str, segment: &str) -> u64 {
    let row = status.lines().find(|line| line.starts_with(segment));
    let cells: Vec<&str> = row.expect(status).split_whitespace().collect();
    cells[3].parse().expect(status)
}

#[test]
fn postgresql_by_debian_s_scripts() {
    let name = "postgresql_by_debian_s_scripts";
    let Some(live) = machine(name) else { return };
    let Some(place) = Place::new() else { return };
    if !needs::programs(name, &["pg_createcluster"]) {
        return;
    }
    live.set_pool(64);
    // The cluster's data is discarded, too.
    let script = r#"
        version=$(ls /usr/lib/postgresql | sort -n | tail -n 1)
        for dir in var/lib/postgresql var/log/postgresql var/run/postgresql; do
            mount -t tmpfs none /$dir
            chown postgres:postgres /$dir
        done
        pg_createcluster --port 54399 "$version" huge -- -A trust >&2
        conf=/etc/postgresql/$version/huge
        printf '%s\n' "listen_addresses=''" huge_pages=off shared_buffers=32MB >>"$conf/postgresql.conf"
        pg_ctlcluster "$version" huge start >&2
        trap 'pg_ctlcluster -m fast "$version" huge stop >&2' EXIT
        README
        hugectl --status "$(head -n 1 "/var/lib/postgresql/$version/huge/postmaster.pid")""#;
    let lines = blocks("As a service", "sh").join("\n");
    let lines = lines.replace("15/main", "$version/huge");
    let lines = lines.replace("15 main", "$version huge");
    let status = run_installed(&place, &script.replace("README", &lines));
    // Only touched pages count.
    assert!(huge(&status, "shm ") >= 4 << 10, "{status}");
}

/// The manual's line for MPI: the report of each rank is one line of the file.
#[test]
fn an_mpi_job_of_two_ranks() {
    let name = "an_mpi_job_of_two_ranks";
    let Some(live) = machine(name) else { return };
    let Some(place) = Place::new() else { return };
    if !needs::programs(name, &["mpirun"]) {
        return;
    }
    live.set_pool(100);
    let page = crate::support::bless::read_text("man/hugetools.7").replace('\\', "");
    let line = page.lines().find(|line| line.starts_with("$ mpirun "));
    let line = line.expect("the line").trim_start_matches("$ ");
    let line = line.replace("-n 8", "-n 2");
    let script = format!(
        r#"
        export OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1
        export OMPI_MCA_rmaps_base_oversubscribe=1
        dir=$(mktemp -d)
        trap 'rm -rf "$dir"' EXIT
        cd "$dir"
        printf '%s\n' '#!/usr/bin/perl' 'my $x = "x" x 60_000_000;' >solver
        chmod 755 solver
        {line} >&2
        hugectl --heap --report mpirun --version 2>&1 | grep -q 'report covers only mpirun'
        cat job.json"#
    );
    let out = run_installed(&place, &script);
    let mut ranks = Vec::new();
    for line in out.lines() {
        let report: serde_json::Value = serde_json::from_str(line).expect(line);
        ranks.push(report["rank"].as_u64());
        let mut rows = report["segments"].as_array().expect(line).iter();
        let heap = rows.find(|row| row["segment"] == "heap").expect(line);
        let huge = heap["huge"].as_object().expect(line).values();
        let huge: u64 = huge.filter_map(serde_json::Value::as_u64).sum();
        assert!(Some(huge * 2) >= heap["resident"].as_u64(), "{line}");
    }
    ranks.sort();
    assert_eq!(ranks, [Some(0), Some(1)], "{out}");
}

#[test]
fn a_drop_in_has_installed_paths() {
    let Some(place) = Place::new() else { return };
    let text = run_installed(&place, "hugectl --emit=systemd --heap --shm redis-server");
    for line in [
        "# for /etc/systemd/system/redis-server.service.d/hugetools.conf; then:",
        "[Service]",
        "Environment=\"HUGETLB_MORECORE=yes\"",
        "Environment=\"HUGETLB_SHM=yes\"",
        "Environment=\"LD_PRELOAD=/usr/local/lib/hugetools/libhugetlbfs_heap.so\"",
        "LimitMEMLOCK=infinity",
    ] {
        assert!(text.lines().any(|other| other == line), "{line}: {text}");
    }
    assert!(
        !text.contains("$$") && !text.contains("HUGETLB_STARTER") && !text.contains("HUGETLB_PID"),
        "{text}"
    );
    let options = run_installed(&place, "printf '<%s>' $(hugectl --emit=docker --shm)");
    let mount = "<--mount=type=bind,source=/usr/local/lib/libhugetlbfs.so.0,\
                 target=/usr/local/lib/hugetools/libhugetlbfs.so,readonly>";
    assert!(options.starts_with(mount), "{options}");
    assert!(options.contains("<--env=HUGETLB_SHM=yes>"), "{options}");
    let pod = run_installed(&place, "hugectl --emit=kubernetes --shm server");
    assert!(
        pod.contains("path: \"/usr/local/lib/libhugetlbfs.so.0\""),
        "{pod}"
    );
}

/// Paths of the bundled library or in a build tree would not last.
#[test]
fn emit_refuses_files_that_are_not_installed() {
    let Some(place) = Place::new() else { return };
    let ran = place.run("target/release/hugectl --emit=systemd --shm x");
    assert_eq!((ran.status, ran.out.as_str()), (125, ""), "{ran:?}");
    assert!(ran.err.contains("\n  install hugetools"), "{ran:?}");
}

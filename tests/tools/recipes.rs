//! Starts servers as their packages do, with the settings from `hugectl --emit`; hugectl
//! itself starts nothing here. The tools are installed, since paths in a build tree don't
//! last. Changes to `/etc` are discarded.

use crate::support::live::{machine, skip};

use super::readme::{Place, block};

const INSTALL: &str = "cargo ship install";

/// Runs a script that must succeed, with hugetools installed. Returns its output.
fn ran(place: &Place, script: &str) -> String {
    place.install(INSTALL);
    let ran = place.run(&format!("ldconfig\n{script}"));
    assert_eq!(ran.status, 0, "{ran:?}");
    ran.out
}

/// Returns the kilobytes on huge pages of a segment's row.
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
    if !std::path::Path::new("/usr/bin/pg_createcluster").exists() {
        return skip(name, "there is no pg_createcluster").unwrap_or(());
    }
    live.set_pool(64);
    // The cluster's data is in the namespace, too.
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
    let lines = block("As a service", "sh").join("\n");
    let lines = lines.replace("15/main", "$version/huge");
    let lines = lines.replace("15 main", "$version huge");
    let status = ran(&place, &script.replace("README", &lines));
    // The pages touched so far.
    assert!(huge(&status, "shm ") >= 4 << 10, "{status}");
}

#[test]
fn redis_by_debian_s_script() {
    let name = "redis_by_debian_s_script";
    let Some(live) = machine(name) else { return };
    let Some(place) = Place::new() else { return };
    if !std::path::Path::new("/etc/init.d/redis-server").exists() {
        return skip(name, "there is no script of Redis").unwrap_or(());
    }
    live.set_pool(8);
    // The script reads the file without exporting its variables. Debian's Redis uses
    // jemalloc for its heap, which has its own variable.
    let script = r#"
        for dir in var/lib/redis var/log/redis var/run; do
            mount -t tmpfs none "$(realpath /$dir)"
            chown redis:redis "$(realpath /$dir)"
        done
        chown root:root "$(realpath /var/run)"
        sed -i 's/^port .*/port 0/; s/^# unixsocket /unixsocket /' /etc/redis/redis.conf
        echo disable-thp no >>/etc/redis/redis.conf
        { echo set -a; hugectl --emit=environment -q --only redis-server --shm
          echo MALLOC_CONF=thp:always; } >>/etc/default/redis-server
        /etc/init.d/redis-server start >&2
        trap '/etc/init.d/redis-server stop >&2' EXIT
        for n in 1 2 3 4 5 6 7 8 9; do
            test -S /run/redis/redis-server.sock && break
            sleep 1
        done
        redis-cli -s /run/redis/redis-server.sock eval \
            'for n = 1, 200000 do redis.call("set", n, string.rep("x", 64)) end' 0 >&2
        pid=$(cat /run/redis/redis-server.pid)
        hugectl --status "$pid"
        grep -o '/usr/local/.*huge.*' "/proc/$pid/maps" | sort -u"#;
    let status = ran(&place, script);
    assert!(huge(&status, "anon ") >= 4 << 10, "{status}");
    assert!(
        status.contains("\n/usr/local/lib/libhugetlbfs.so.0\n"),
        "{status}"
    );
}

/// Both recipes of the manual for MariaDB: its own switch, and the output of `--emit`.
#[test]
fn mariadb_with_and_without_a_pool() {
    let name = "mariadb_with_and_without_a_pool";
    let Some(live) = machine(name) else { return };
    let Some(place) = Place::new() else { return };
    if !std::path::Path::new("/usr/sbin/mariadbd").exists() {
        return skip(name, "there is no mariadbd").unwrap_or(());
    }
    if !live.thp_serves() {
        return skip(name, "transparent huge pages are off").unwrap_or(());
    }
    let page = crate::support::bless::text("man/hugetools.7").replace('\\', "");
    let mut words = page
        .lines()
        .filter(|line| line.starts_with("# hugectl --emit=systemd"));
    let line = words
        .find(|line| line.contains("mariadb"))
        .expect("the line");
    let emit = line
        .trim_start_matches("# ")
        .replace("systemd", "environment");
    let emit = emit.trim_end_matches(" mariadb e");
    let script = r#"
        dir=$(mktemp -d)
        trap 'rm -rf "$dir"' EXIT
        {
            mariadb-install-db --no-defaults --datadir="$dir/data" --user=root \
                --auth-root-authentication-method=normal
            EMIT
        } >"$dir/out" 2>&1
        grep -E "^[A-Z_]+='" "$dir/out" >"$dir/environment" || true
        mariadbd --no-defaults SWITCH --datadir="$dir/data" --user=root --skip-networking \
            --socket="$dir/socket" --innodb-buffer-pool-size=64M >&2 &
        sql() { mariadb --no-defaults --socket="$dir/socket" -N -e "$1"; }
        for n in $(seq 100); do
            sql 'select 1' >/dev/null 2>&1 && break
            sleep 0.2
        done
        sql "create database d; use d; create table t (a int primary key, b char(200));
             insert into t select seq, repeat('x', 200) from seq_1_to_200000;
             select sum(a) from t"
        hugectl --status $!
        kill $!
        wait $!"#;
    live.set_pool(200);
    let large = script
        .replace("EMIT", "true")
        .replace("SWITCH", "--large-pages");
    let with = ran(&place, &large);
    live.set_pool(0);
    let environment = r#"set -a; . "$dir/environment"; set +a; mariadbd --no-defaults"#;
    let small = script.replace("mariadbd --no-defaults SWITCH", environment);
    let without = ran(&place, &small.replace("EMIT", emit));
    for status in [with, without] {
        assert!(status.starts_with("20000100000\n"), "{status}");
        assert!(huge(&status, "anon ") >= 48 << 10, "{status}");
    }
}

/// Each rank of a job has its own line, and its results are right.
#[test]
fn a_job_of_two_ranks() {
    let name = "a_job_of_two_ranks";
    let Some(live) = machine(name) else { return };
    let Some(place) = Place::new() else { return };
    let input = "/usr/share/doc/hpcc/examples/_hpccinf.txt";
    if ![input, "/usr/bin/mpirun", "/usr/bin/hpcc"]
        .map(std::path::Path::new)
        .iter()
        .all(|path| path.exists())
    {
        return skip(name, "there is no hpcc, or no mpirun").unwrap_or(());
    }
    live.set_pool(100);
    let page = crate::support::bless::text("man/hugetools.7").replace('\\', "");
    let line = page.lines().find(|line| line.starts_with("$ mpirun "));
    let line = line.expect("the line").trim_start_matches("$ ");
    let line = line.replace("-n 8", "-n 2").replace("./solver", "hpcc");
    let script = format!(
        r#"
        export OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1
        export OMPI_MCA_rmaps_base_oversubscribe=1
        dir=$(mktemp -d)
        trap 'rm -rf "$dir"' EXIT
        cd "$dir"
        # Two processes, in a grid of one by two.
        sed '11s/^2/1/' {input} >hpccinf.txt
        {line} >&2
        ! grep FAILED hpccoutf.txt
        grep -c PASSED hpccoutf.txt
        grep '^Success=' hpccoutf.txt
        cat job.json"#
    );
    let out = ran(&place, &script);
    let lines: Vec<&str> = out.lines().collect();
    assert!(
        lines[0].parse::<u32>().is_ok_and(|passed| passed >= 6),
        "{out}"
    );
    assert_eq!((lines[1], lines.len()), ("Success=1", 4), "{out}");
    for line in &lines[2..] {
        let report: serde_json::Value = serde_json::from_str(line).expect(line);
        let rows = report["segments"].as_array().expect(line);
        let heap = rows
            .iter()
            .find(|row| row["segment"] == "heap")
            .expect(line);
        let huge = heap["huge"].as_object().expect(line).values();
        let huge: u64 = huge.filter_map(serde_json::Value::as_u64).sum();
        assert!(Some(huge * 2) >= heap["resident"].as_u64(), "{line}");
    }
}

/// The manual's environment variable for a virtual machine reaches its heap.
#[test]
fn a_virtual_machine_by_its_own_switch() {
    let name = "a_virtual_machine_by_its_own_switch";
    let Some(live) = machine(name) else { return };
    let Some(place) = Place::new() else { return };
    if !std::path::Path::new("/usr/bin/java").exists() {
        return skip(name, "there is no java").unwrap_or(());
    }
    if !live.thp_serves() {
        return skip(name, "transparent huge pages are off").unwrap_or(());
    }
    let page = crate::support::bless::text("man/hugetools.7").replace('\\', "");
    let mut lines = page.lines();
    let switch = lines.find(|line| line.starts_with("JAVA_TOOL_OPTIONS="));
    // A service that needs no compiler. It touches its heap before it serves.
    let script = r#"
        export SWITCH
        JAVA_TOOL_OPTIONS="$JAVA_TOOL_OPTIONS -Xms128m -Xmx128m -XX:+AlwaysPreTouch"
        java -m java.rmi/sun.rmi.registry.RegistryImpl 54398 >&2 &
        trap "kill $!" EXIT
        for n in $(seq 100); do
            [ "$(awk '/^AnonHugePages/ { print $2 }' "/proc/$!/smaps_rollup")" -lt 100000 ] || break
            sleep 0.2
        done
        hugectl --status $!"#;
    let status = ran(&place, &script.replace("SWITCH", switch.expect("the line")));
    assert!(huge(&status, "anon ") >= 120 << 10, "{status}");
}

#[test]
fn a_drop_in_has_installed_paths() {
    let Some(place) = Place::new() else { return };
    let text = ran(&place, "hugectl --emit=systemd --heap --shm redis-server");
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
    let options = ran(&place, "printf '<%s>' $(hugectl --emit=docker --shm)");
    let mount = "<--mount=type=bind,source=/usr/local/lib/libhugetlbfs.so.0,\
                 target=/usr/local/lib/hugetools/libhugetlbfs.so,readonly>";
    assert!(options.starts_with(mount), "{options}");
    assert!(options.contains("<--env=HUGETLB_SHM=yes>"), "{options}");
    let pod = ran(&place, "hugectl --emit=kubernetes --shm server");
    assert!(
        pod.contains("path: \"/usr/local/lib/libhugetlbfs.so.0\""),
        "{pod}"
    );
}

/// Paths inside hugectl or in a build tree would not last.
#[test]
fn emit_refuses_files_that_are_not_installed() {
    let Some(place) = Place::new() else { return };
    let ran = place.run("target/release/hugectl --emit=systemd --shm x");
    assert_eq!((ran.status, ran.out.as_str()), (125, ""), "{ran:?}");
    assert!(ran.err.contains("\n  install hugetools"), "{ran:?}");
}

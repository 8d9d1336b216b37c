use super::*;

/// What is said of a command line, under `hugectl --shm`.
fn said_at(line: &str, has_systemd: bool, etc: &Path) -> Option<String> {
    let words: Vec<OsString> = split(line);
    let short = warning(&Start {
        command: &words,
        hugectl: vec!["hugectl".into(), "--shm".into()],
        is_program: &|word| !word.as_bytes().iter().all(u8::is_ascii_digit),
        has_systemd,
        etc,
        library: Some(OsStr::new("libhugetlbfs.so")),
        tmux: etc.join("tmux/default"),
    });
    short.map(|short| short.to_string())
}

/// Words, those in quotes as one.
fn split(line: &str) -> Vec<OsString> {
    let mut words = Vec::new();
    for (number, part) in line.split('"').enumerate() {
        match number % 2 {
            0 => words.extend(part.split_ascii_whitespace().map(OsString::from)),
            _ => words.push(part.into()),
        }
    }
    words
}

fn said(line: &str) -> Option<String> {
    said_at(line, false, Path::new("/none"))
}

#[test]
fn those_that_drop_the_environment() {
    for line in [
        "pg_ctlcluster 15 main start",
        "su - postgres -c x",
        "su -l postgres",
        "su --login postgres -c x",
        "runuser -l postgres -c x",
        "/usr/bin/sudo -u postgres x",
        "nice -n 5 sudo x",
        "env -i x",
        "env - x",
        "setpriv --reuid=5 --reset-env x",
        "systemd-run --user x",
        "systemctl start x",
        "service x start",
        "docker run x",
        "at now",
        "cron -f",
        "runc run x",
        "crun run x",
        "bwrap --bind / / --clearenv x",
        "apptainer exec --cleanenv x.sif y",
        "singularity run -e x.sif",
        "flatpak run x",
        "lxc-attach -n a x",
        "distrobox enter a -- x",
        "toolbox run x",
        "qsub x.sh",
        "sbatch --export=NONE x.sh",
        "condor_submit x",
        "bazel run x",
        "nix-shell --pure --run x",
        "nix develop --ignore-environment -c x",
        "supervisorctl start x",
        "nomad run x",
        "busybox env -i x",
    ] {
        assert!(said(line).is_some(), "{line}");
    }
}

#[test]
fn those_that_keep_it() {
    for line in [
        "su postgres -c x",
        "runuser -u postgres x",
        "env A=b x -i",
        "setpriv --reuid=5 x --reset-env",
        "pg_ctl start",
        "nice x",
        "x sudo",
        "su --shell=/bin/login x",
        "/etc/init.d/none start",
        "bwrap --bind / / x",
        "apptainer exec x.sif y",
        "qsub -V x.sh",
        "sbatch x.sh",
        "nix-shell --run x",
        "tmux new-session x",
        "busybox env x",
    ] {
        assert_eq!(said(line), None, "{line}");
    }
}

#[test]
fn the_command_that_does_instead() {
    for (line, instead) in [
        ("sudo -u a x -y", "it: sudo -u a hugectl --shm x -y"),
        ("nice sudo A=b x", "it: nice sudo A=b hugectl --shm x"),
        ("sudo -nu a -- x", "it: sudo -nu a -- hugectl --shm x"),
        ("sudo --user a x", "it: sudo --user a hugectl --shm x"),
        ("sudo -i", "it: sudo hugectl --shm PROGRAM"),
        ("env -i A=b x", "it: env -i A=b hugectl --shm x"),
        ("ssh -p 22 host x", "it: ssh -p 22 host hugectl --shm x"),
        (
            "systemd-run -p A=b --unit u x",
            "it: systemd-run -p A=b --unit u hugectl --shm x",
        ),
        ("su - u -c \"x y\"", ": su - u -c 'hugectl --shm x y'"),
        (
            "su -lc \"x; y\" u",
            r": su -lc 'hugectl --shm sh -c '\''x; y'\''' u",
        ),
        (
            "runuser -l u --command=x",
            ": runuser -l u '--command=hugectl --shm x'",
        ),
        ("su - u", "in that shell: hugectl --shm PROGRAM"),
        (
            "nice service x start",
            "export): hugectl --shm nice /etc/init.d/x start",
        ),
        ("cron", "in front of its program: hugectl --shm"),
        ("qsub x", "in front of its program: hugectl --shm"),
        ("bwrap --clearenv x", "it: bwrap hugectl --shm PROGRAM"),
        ("nix-shell --pure", "in that shell: hugectl --shm PROGRAM"),
        ("bazel run x", "with --run_under='hugectl --shm'"),
        ("busybox env -i x", "it: busybox env -i hugectl --shm x"),
    ] {
        let said = said(line).unwrap();
        assert!(said.ends_with(instead), "{line}: {said}");
    }
}

#[test]
fn units_where_systemd_starts_them() {
    for line in [
        "service x start",
        "systemctl start x",
        "/etc/init.d/x start",
    ] {
        let said = said_at(line, true, Path::new("/none")).unwrap();
        let emits = "is printed by: hugectl --emit=systemd --shm x";
        assert!(said.ends_with(emits), "{said}");
    }
}

#[test]
fn services_are_told_what_emit_prints() {
    for (line, emits) in [
        ("service x start", "hugectl --emit=environment prints"),
        (
            "pg_ctlcluster 15 main start",
            "hugectl --emit=environment prints",
        ),
        ("docker run x", "prints: hugectl --emit=docker --shm"),
        ("kubectl run x", "prints: hugectl --emit=kubernetes --shm"),
    ] {
        let said = said(line).unwrap();
        assert!(said.contains(emits), "{line}: {said}");
    }
}

#[test]
fn the_environment_of_a_cluster() {
    let etc = tempfile::tempdir().unwrap();
    let dir = etc.path().join("postgresql/15/main");
    std::fs::create_dir_all(&dir).unwrap();
    let file = dir.join("environment");
    let command = format!("hugectl --dry-run --shm | grep \"='\" >>{}", file.display());
    let lines = [
        "pg_ctlcluster --foreground 15 main start",
        "pg_ctlcluster 15-main start",
        "/etc/init.d/postgresql start",
    ];
    let library = "LD_PRELOAD='/x/libhugetlbfs.so'\n";
    for (text, is_there) in [("A='b'\n", false), (library, true)] {
        write(&file, text);
        for line in lines {
            let said = said_at(line, false, etc.path());
            assert_eq!(said.is_none(), is_there, "{said:?}");
            assert!(said.is_none_or(|said| said.ends_with(&command)));
        }
    }
}

#[test]
fn a_script_that_clears_the_environment() {
    let dir = tempfile::tempdir().unwrap();
    let scripts = dir.path().join("init.d");
    std::fs::create_dir_all(&scripts).unwrap();
    let said = |name: &str, text: &str| {
        let path = scripts.join(name);
        write(&path, text);
        self::said(&format!("{} start", path.display()))
    };
    assert_eq!(said("x", "# env -i\nexec y\n"), None);
    let other = said("x", "A=\"env -i B=c\"\n$A y\n").unwrap();
    assert!(other.ends_with("env -i): hugectl --shm PROGRAM"), "{other}");
    let apache = said("apache2", "env -i y\n").unwrap();
    assert!(apache.ends_with("hugectl --shm apache2ctl start"));
}

/// Its server has the environment that it was started with.
#[test]
fn a_tmux_server_that_runs_already() {
    let dir = tempfile::tempdir().unwrap();
    std::fs::create_dir(dir.path().join("tmux")).unwrap();
    let said = |line: &str| said_at(line, false, dir.path());
    assert_eq!(said("tmux new-session x"), None);
    let socket = |name: &str| dir.path().join("tmux").join(name);
    let default = std::os::unix::net::UnixListener::bind(socket("default")).unwrap();
    for (line, instead) in [
        (
            "tmux new-session -d -s a x y",
            "it: tmux new-session -d -s a hugectl --shm x y",
        ),
        (
            "tmux new \"x y\"",
            "in that shell: tmux new 'hugectl --shm x y'",
        ),
        ("tmux neww", "in that shell: hugectl --shm PROGRAM"),
    ] {
        let said = said(line).unwrap();
        assert!(said.ends_with(instead), "{line}: {said}");
    }
    assert_eq!(said("tmux -L other new x"), None);
    assert_eq!(said("tmux attach"), None);
    drop(default);
    assert_eq!(said("tmux new x"), None);
}

#[expect(clippy::disallowed_methods, reason = "tests write their own files")]
fn write(path: &Path, text: &str) {
    std::fs::write(path, text).unwrap();
}

#[test]
fn a_new_root_without_the_library() {
    let dir = tempfile::tempdir().unwrap();
    let library = Path::new("/usr/lib/libhugetlbfs.so");
    let said = |line: String| {
        let words: Vec<OsString> = line.split(' ').map(OsString::from).collect();
        lost_in_new_root(&words, &|word| word == "chroot", library).map(|short| short.to_string())
    };
    let root = dir.path().display();
    for line in [
        format!("chroot {root} x"),
        format!("nice chroot --userspec=a:b {root} x"),
    ] {
        let text = said(line).unwrap();
        assert!(text.contains("has no /usr/lib/libhugetlbfs.so"), "{text}");
    }
    assert_eq!(said(format!("chroot {root}/none x")), None);
    assert_eq!(said(format!("x {root}")), None);
    std::fs::create_dir_all(dir.path().join("usr/lib")).unwrap();
    std::fs::File::create(dir.path().join("usr/lib/libhugetlbfs.so")).unwrap();
    assert_eq!(said(format!("chroot {root} x")), None);
}

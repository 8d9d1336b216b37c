//! Programs that start another one without the environment they have, and so
//! without anything that hugectl asks for.

use std::ffi::{OsStr, OsString};
use std::os::unix::ffi::OsStrExt;
use std::path::Path;

use crate::preflight::Subject;
use crate::shortfall::Shortfall;
use crate::wrapped::{base, layers};

/// What drops the environment, and what does it instead.
struct Starter {
    names: &'static [&'static str],
    /// Whether it does so with these arguments.
    drops: fn(&[OsString]) -> bool,
    /// What to do instead; `OPTIONS` are those of hugectl.
    instead: fn(&[OsString]) -> String,
}

const STARTERS: &[Starter] = &[
    Starter {
        names: &["pg_ctlcluster"],
        drops: |_| true,
        instead: |words| {
            let [version, cluster] = cluster(words);
            format!(
                "instead, start the server without hugectl after: hugectl --dry-run OPTIONS | \
                 grep \"='\" >>/etc/postgresql/{version}/{cluster}/environment"
            )
        },
    },
    Starter {
        names: &["su", "runuser"],
        drops: |words| words.iter().any(|word| is_login(word)),
        instead: |_| {
            "start hugectl in that shell: su - USER -c 'hugectl OPTIONS PROGRAM'".to_owned()
        },
    },
    Starter {
        names: &["sudo", "doas", "pkexec", "systemd-run", "ssh"],
        drops: |_| true,
        instead: |words| behind(words),
    },
    Starter {
        names: &["env"],
        drops: |words| {
            let clears =
                |word: &OsString| word == "-" || word == "-i" || word == "--ignore-environment";
            let options = words
                .iter()
                .take_while(|word| word.as_bytes().starts_with(b"-"));
            options.into_iter().any(clears)
        },
        instead: |_| "start hugectl behind it: env -i hugectl OPTIONS PROGRAM".to_owned(),
    },
    Starter {
        names: &["docker", "podman", "nerdctl", "kubectl", "machinectl"],
        drops: |_| true,
        instead: |_| "start hugectl inside, before the program of the container".to_owned(),
    },
    Starter {
        names: &["systemctl", "service", "invoke-rc.d", "rc-service"],
        drops: |_| true,
        instead: |_| {
            "put hugectl OPTIONS before the program in the unit: systemctl edit UNIT, ExecStart="
                .to_owned()
        },
    },
    Starter {
        names: &["at", "batch", "crontab"],
        drops: |_| true,
        instead: |_| "put hugectl OPTIONS before the program in the job".to_owned(),
    },
];

/// What is to be said where something in the command line drops the
/// environment. `is_program` says which words are programs.
pub(crate) fn warning(
    command: &[OsString],
    is_program: &dyn Fn(&OsStr) -> bool,
) -> Option<Shortfall> {
    layers(command, is_program).find_map(|command| {
        let (name, words) = command.split_first()?;
        let name = base(name);
        let starter = STARTERS.iter().find(|starter| {
            let named = starter.names.iter().any(|known| known.as_bytes() == name);
            named && (starter.drops)(words)
        })?;
        let fact = format!(
            "{} starts its program without this environment, so nothing of that goes on huge pages",
            String::from_utf8_lossy(name)
        );
        Some(Shortfall::new(Subject::ALL, fact).advise((starter.instead)(command)))
    })
}

/// What is to be said where something in the command line changes the root, and the
/// library that is to be preloaded is not below the new one.
pub(crate) fn lost_in_new_root(
    command: &[OsString],
    is_program: &dyn Fn(&OsStr) -> bool,
    library: &Path,
) -> Option<Shortfall> {
    layers(command, is_program).find_map(|command| {
        let (name, words) = command.split_first()?;
        let mut plain = words
            .iter()
            .filter(|word| !word.as_bytes().starts_with(b"-"));
        let root = Path::new(plain.next().filter(|_| base(name) == b"chroot")?);
        let inside = root.join(library.strip_prefix("/").ok()?);
        (root.is_dir() && !inside.exists()).then(|| {
            let (root, library) = (root.display(), library.display());
            let fact = format!(
                "{root} has no {library}, so nothing of what is started there goes on huge pages"
            );
            Shortfall::new(Subject::ALL, fact).advise(format!(
                "copy the library there, or start hugectl in it: \
                 chroot {root} hugectl OPTIONS PROGRAM"
            ))
        })
    })
}

/// `-`, `-l`, `--login`, and `-` among short options, as in `-lc`.
fn is_login(word: &OsStr) -> bool {
    let bytes = word.as_bytes();
    match bytes {
        b"-" | b"--login" => true,
        [b'-', b'-', ..] => false,
        [b'-', letters @ ..] => letters.contains(&b'l'),
        _ => false,
    }
}

fn behind(words: &[OsString]) -> String {
    let name = words.first().map_or(&b""[..], |name| base(name));
    let name = String::from_utf8_lossy(name);
    format!("start hugectl behind it: {name} hugectl OPTIONS PROGRAM")
}

/// Version and cluster in the arguments of `pg_ctlcluster`: `15 main start` or
/// `15-main start`.
fn cluster(words: &[OsString]) -> [String; 2] {
    let text = |word: &OsString| word.to_string_lossy().into_owned();
    let mut plain = words.iter().skip(1).map(text);
    let first = plain.find(|word| word.starts_with(|c: char| c.is_ascii_digit()));
    let Some(first) = first else {
        return ["VERSION".to_owned(), "CLUSTER".to_owned()];
    };
    match first.split_once('-') {
        Some((version, cluster)) => [version.to_owned(), cluster.to_owned()],
        None => [first, plain.next().unwrap_or("CLUSTER".to_owned())],
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn said(line: &str) -> Option<String> {
        let words: Vec<OsString> = line.split(' ').map(OsString::from).collect();
        warning(&words, &|word| {
            !word.as_bytes().iter().all(u8::is_ascii_digit)
        })
        .map(|short| short.to_string())
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
            "systemd-run --user x",
            "systemctl start x",
            "service x start",
            "docker run x",
            "at now",
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
            "pg_ctl start",
            "nice x",
            "x sudo",
            "su --shell=/bin/login x",
        ] {
            assert_eq!(said(line), None, "{line}");
        }
    }

    #[test]
    fn the_environment_of_a_cluster() {
        for line in [
            "pg_ctlcluster --foreground 15 main start",
            "pg_ctlcluster 15-main start",
        ] {
            let said = said(line).unwrap();
            // What `$$` stands for, that file cannot say.
            let command = "hugectl --dry-run OPTIONS | grep \"='\" \
                           >>/etc/postgresql/15/main/environment";
            assert!(said.ends_with(command), "{said}");
        }
    }

    #[test]
    fn a_new_root_without_the_library() {
        let dir = tempfile::tempdir().unwrap();
        let library = Path::new("/usr/lib/libhugetlbfs.so");
        let said = |line: String| {
            let words: Vec<OsString> = line.split(' ').map(OsString::from).collect();
            lost_in_new_root(&words, &|word| word == "chroot", library)
                .map(|short| short.to_string())
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
}

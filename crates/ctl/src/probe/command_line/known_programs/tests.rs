use super::catalog::Catalog;
use super::entry::Inside;
use super::marks::is_named;
use super::*;
use std::fs::File;
use std::os::unix::fs::PermissionsExt;
use std::path::PathBuf;
use std::process::Command;

struct Place(tempfile::TempDir);

fn beyond_of(words: &[OsString], caller: &Caller, root: &Root) -> Option<Beyond> {
    let first = target::open(&words[0], caller).unwrap();
    Known::find(words, &first, caller, root).beyond
}

impl Place {
    fn new() -> Place {
        Place(tempfile::tempdir().unwrap())
    }

    fn put(&self, name: &str, text: &str) -> PathBuf {
        use std::io::Write;
        let path = self.0.path().join(name);
        let mut file = File::create(&path).unwrap();
        file.write_all(text.as_bytes()).unwrap();
        file.set_permissions(std::fs::Permissions::from_mode(0o755))
            .unwrap();
        path
    }

    fn build(&self, name: &str, source: &str, args: &[&str]) {
        let input = self.put(&format!("{name}.c"), source);
        let mut command = Command::new("cc");
        command.current_dir(self.0.path()).arg(input).args(args);
        assert!(command.args(["-o", name]).status().unwrap().success());
    }

    fn said(&self, line: &str) -> Option<String> {
        self.said_with(line, &[])
    }

    /// With these variables, where transparent huge pages are set to `madvise`.
    fn said_with(&self, line: &str, variables: &[(&str, &str)]) -> Option<String> {
        let path = format!("{}:/usr/bin:/bin", self.0.path().display());
        let pairs = variables.iter();
        let mut env: Vec<(OsString, OsString)> = pairs
            .map(|(name, value)| (name.into(), value.into()))
            .collect();
        env.push(("PATH".into(), path.into()));
        let words: Vec<OsString> = line.split(' ').map(OsString::from).collect();
        let root = self.root("always [madvise] never");
        beyond_of(&words, &Caller::this(env), &root).map(|beyond| said(&beyond))
    }

    fn root(&self, modes: &str) -> Root {
        let dir = self.0.path().join("sys/kernel/mm/transparent_hugepage");
        std::fs::create_dir_all(&dir).unwrap();
        self.put("sys/kernel/mm/transparent_hugepage/enabled", modes);
        Root::at(self.0.path()).unwrap()
    }
}

fn said(beyond: &Beyond) -> String {
    format!("{}; {}", beyond.fact, beyond.instead)
}

const MAIN: &str = "int main(void) { return 0; }";

#[test]
fn programs_are_known_by_what_is_in_them() {
    let place = Place::new();
    let go = format!("char magic[64] = \"\\xff\" \" Go buildinf:\"; {MAIN}");
    place.build("service", &go, &[]);
    let bare = format!("char magic[64] = \"\\xff\" \" Go fipsinfo \\xff\"; {MAIN}");
    place.build("bare", &bare, &[]);
    // As gcc links Go: far from the beginning of what can be written.
    let far = format!(
        "__attribute__((section(\".go.buildinfo\"), used)) char info[16] = {{1}}; \
         void *filler[20000] = {{filler}}; {MAIN}"
    );
    place.build("by_gcc", &far, &[]);
    let noted = format!(
        "__attribute__((section(\".note.go.buildid\"), aligned(4), used)) static const struct \
         {{unsigned head[3]; char owner[4], id[4];}} note = {{{{4, 4, 4}}, \"Go\", \"id\"}}; {MAIN}"
    );
    place.build("noted", &noted, &["-s"]);
    place.build(
        "cli",
        &format!("void zend_startup(void) {{}} {MAIN}"),
        &["-rdynamic"],
    );
    place.build("libjli.so", "int jli;", &["-shared", "-fPIC"]);
    let java = "extern int jli; int main(void) { return jli; }";
    place.build("launcher", java, &["libjli.so"]);
    place.build("plain", MAIN, &[]);
    for (line, memory) in [
        ("service", "Go's own heap"),
        ("bare", "Go's own heap"),
        ("by_gcc", "Go's own heap"),
        ("noted", "Go's own heap"),
        ("nice -n 5 service x", "Go's own heap"),
        ("cli", "the memory of PHP scripts"),
        ("launcher -jar x", "the Java heap"),
    ] {
        let said = place.said(line).unwrap();
        assert!(said.starts_with(memory), "{line}: {said}");
    }
    assert_eq!(place.said("plain service"), None);
    assert_eq!(place.said("sh"), None);
}

#[test]
fn programs_are_known_by_their_names_and_through_scripts() {
    let place = Place::new();
    place.build("node", MAIN, &[]);
    place.build("phpize", MAIN, &[]);
    place.put("tool", "#!/usr/bin/env node\n");
    place.put("erl", "#!/bin/sh\n");
    for (line, memory) in [
        ("tool", "the heap of JavaScript"),
        ("erl", "the memory of Erlang"),
    ] {
        let said = place.said(line).unwrap();
        assert!(said.starts_with(memory), "{line}: {said}");
    }
    assert_eq!(place.said("phpize"), None);
    assert!(is_named(b"php8.2", "php") && is_named(b"luajit-2.1.0", "luajit"));
}

/// What a shell script executes is not known: its program is the shell.
#[test]
fn of_a_shell_script_nothing_is_said() {
    let place = Place::new();
    place.build("php8.2", MAIN, &[]);
    place.put("start", "#!/bin/sh\nexec php8.2 \"$@\"\n");
    assert!(place.said("nice php8.2").is_some());
    for line in ["start", "nice start", "sh -c php8.2"] {
        assert_eq!(place.said(line), None, "{line}");
    }
}

/// As programs are that carry the text among more than 256 KiB of their own.
fn holding(text: &str) -> String {
    format!(
        "int madvise(void *, unsigned long, int); \
         const char table[300000] = {{1}}; const char *const text = \"{text}\"; \
         int main(int n, char **v) {{ return table[n] + text[n] == 77 + madvise(v, 0, 0); }}"
    )
}

#[test]
fn stripped_programs_are_known_by_their_texts() {
    let place = Place::new();
    let haskell = "Warning: Ignoring GHCRTS variable as RTS options are disabled.";
    let (own, prefixed) = ("<jemalloc>: x", "_RJEM_MALLOC_CONF\\0<jemalloc>: x");
    for (text, memory, instead) in [
        (
            haskell,
            "the heap of Haskell",
            "hugectl --pid reaches it once it runs",
        ),
        (
            own,
            "what the jemalloc",
            " or MALLOC_CONF=thp:always in its environment",
        ),
        (
            prefixed,
            "what the jemalloc",
            " or _RJEM_MALLOC_CONF=thp:always in its environment",
        ),
    ] {
        for layout in ["separate-code", "noseparate-code"] {
            let layout = format!("-Wl,-z,{layout}");
            place.build("program", &holding(text), &["-s", &layout]);
            let said = place.said("nice program 1").unwrap();
            assert!(
                said.starts_with(memory) && said.ends_with(instead),
                "{layout}: {said}"
            );
        }
    }
    place.build("program", &holding("jemalloc, and GHCRTS, too"), &["-s"]);
    assert_eq!(place.said("program"), None);
    place.build(
        "program",
        &format!("const char x[] = \"{own}\"; {MAIN}"),
        &[],
    );
    assert_eq!(place.said("program"), None, "too small for an allocator");
}

#[test]
fn advice_that_was_followed_is_not_given_again() {
    let place = Place::new();
    for name in ["node", "php8.2", "python3.11", "mariadbd"] {
        place.build(name, MAIN, &[]);
    }
    place.build("fd", &holding("_RJEM_MALLOC_CONF\\0<jemalloc>: x"), &[]);
    place.build("libjli.so", "int jli;", &["-shared", "-fPIC"]);
    let java = "extern int jli; int main(void) { return jli; }";
    place.build("java", java, &["libjli.so"]);
    for (line, followed, variables) in [
        (
            "php8.2 x",
            "php8.2 x",
            &[("USE_ZEND_ALLOC_HUGE_PAGES", "1")][..],
        ),
        (
            "python3.11 x",
            "python3.11 x",
            &[("PYTHONMALLOC", "malloc")],
        ),
        (
            "fd x",
            "fd x",
            &[("_RJEM_MALLOC_CONF", "narenas:1,thp:always")],
        ),
        ("java x", "java -XX:+UseLargePages x", &[]),
        (
            "java x",
            "nice java x",
            &[("JAVA_TOOL_OPTIONS", "-Xmx1g -XX:+UseTransparentHugePages")],
        ),
        ("mariadbd --user=x", "mariadbd --large-pages --user=x", &[]),
        (
            "python3.11 x",
            "nice env A=b PYTHONMALLOC=malloc python3.11 x",
            &[],
        ),
    ] {
        assert!(place.said(line).is_some(), "{line}");
        assert_eq!(place.said_with(followed, variables), None, "{followed}");
    }
    assert!(place.said("node x").is_some());
    for other in [
        "env PYTHONMALLOC=debug python3.11 x",
        "python3.11 PYTHONMALLOC=malloc",
    ] {
        assert!(place.said(other).is_some(), "{other}");
    }
    let words = ["node".into(), "x".into()];
    let caller = Caller::this([("PATH".into(), place.0.path().into())]);
    let root = place.root("[always] madvise never");
    assert_eq!(beyond_of(&words, &caller, &root), None);
}

#[test]
fn a_library_s_switch_is_named_until_it_is_set() {
    let place = Place::new();
    let set: [(OsString, OsString); 1] = [("MALLOC_CONF".into(), "thp:always".into())];
    let (caller, told) = (Caller::this([]), Caller::this(set));
    let called = |is_jemalloc| Own::Called {
        symbol: "mallocx",
        by: "/bin/x".into(),
        is_jemalloc,
    };
    let said = said(&own_switch(&called(true), &caller).unwrap());
    assert!(said.contains("MALLOC_CONF=thp:always"), "{said}");
    assert_eq!(own_switch(&called(true), &told), None);
    assert_eq!(own_switch(&called(false), &caller), None);
    let root = place.root("always [madvise] never");
    let (jemalloc, tcmalloc) = (Path::new("libjemalloc.so.2"), Path::new("libtcmalloc.so.4"));
    assert!(of_new(jemalloc, &caller, &root).is_some_and(|it| it.instead.contains("MALLOC_CONF")));
    assert_eq!(of_new(jemalloc, &told, &root), None);
    let always = of_new(tcmalloc, &told, &root).unwrap();
    assert!(always.instead.contains("; or hugeadm --thp-always") && always.by_anon == Some(true));
    let other = of_new(Path::new("libnew.so"), &told, &root).unwrap();
    assert!(other.instead.starts_with("hugeadm --thp-always") && other.by_anon.is_none());
    let root = place.root("[always] madvise never");
    assert_eq!(of_new(tcmalloc, &told, &root), None);
}

#[test]
fn what_neither_option_reaches_is_said_of_those_that_are_asked_for() {
    let beyond = |by_anon| Beyond {
        memory: "its own heap".to_owned(),
        fact: "its own heap is not malloc's".to_owned(),
        instead: "nothing".to_owned(),
        by_anon,
        in_part: false,
    };
    let said = |by_anon, heap, anon| {
        let short = beyond(by_anon).shortfall(heap, anon);
        short.map(|short| (short.subject, short.to_string()))
    };
    let (not, unknown) = (Some(false), None);
    assert_eq!(said(not, false, false), None);
    assert_eq!(said(unknown, false, true), None);
    assert_eq!(said(Some(true), true, true), None);
    let (subject, text) = said(not, false, true).unwrap();
    assert_eq!(subject, Subject::ANON);
    assert_eq!(text, "--anon does not reach its own heap; nothing");
    let (subject, text) = said(not, true, true).unwrap();
    assert_eq!(subject, Subject::HEAP | Subject::ANON);
    assert!(text.contains("malloc's, nor does --anon"), "{text}");
    assert_eq!(said(unknown, true, true).unwrap().0, Subject::HEAP);
    let part = Beyond {
        in_part: true,
        ..beyond(None)
    };
    let short = part.shortfall(false, true).unwrap();
    assert_eq!(short.subject, Subject::ANON);
    assert!(short.fact.contains("only a part"), "{short}");
}

/// The size of what a program takes from a pool by itself stands among its arguments.
#[test]
fn a_size_on_the_command_line_is_read() {
    let catalog = Catalog::default();
    let takes = |name: &str, line: &str, options: &str| {
        let words: Vec<OsString> = line.split(' ').map(OsString::from).collect();
        let caller = Caller::this([("JDK_JAVA_OPTIONS".into(), options.into())]);
        let entry = catalog.entries().find(|entry| entry.name == name);
        let found = entry.unwrap().takes(&words, &caller);
        found.map(|(bytes, _)| bytes.get() >> 20)
    };
    let java = |line: &str, options: &str| takes("Java", line, options);
    assert_eq!(java("java -Xmx64m -XX:+UseLargePages X", ""), Some(64));
    assert_eq!(java("java -Xmx64m X", ""), None);
    assert_eq!(java("java X", "-XX:+UseLargePages -Xmx1g"), Some(1024));
    let last = "java -XX:+UseLargePages -Xmx1g -XX:MaxHeapSize=2g X";
    assert_eq!(java(last, "-Xmx3g"), Some(2048));
    assert_eq!(java("java -XX:+UseLargePages X", ""), None);
    let line = "mariadbd --large-pages --innodb-buffer-pool-size=256M";
    assert_eq!(takes("MariaDB or MySQL", line, ""), Some(256));
}

/// Each word by which an entry that comes with hugectl knows a program leads to it.
#[test]
fn each_entry_is_found_by_each_of_its_marks() {
    let place = Place::new();
    let caller = Caller::this([("PATH".into(), place.0.path().into())]);
    let name_of = |file: &str| {
        let words = [OsString::from(file)];
        let first = target::open(&words[0], &caller).unwrap();
        let found = entry_of(&words, &first, &caller).0.unwrap();
        std::fs::remove_file(place.0.path().join(file)).unwrap();
        found.name
    };
    place.build("plain", MAIN, &[]);
    let plain = place.0.path().join("plain");
    let (mut marks, mut entries) = (0, 0);
    for entry in Catalog::default().entries() {
        for exe in entry.exe.iter() {
            for name in [exe.to_string(), format!("{exe}8.2-1")] {
                std::fs::copy(&plain, place.0.path().join(&name)).unwrap();
                assert_eq!(name_of(&name), entry.name, "{name}");
            }
        }
        for (at, library) in entry.needed.iter().enumerate() {
            let soname = format!("{}.7", library.trim_end_matches(".so"));
            let soname = if library.ends_with(".so") {
                library.to_string()
            } else {
                soname
            };
            place.build(
                "its.so",
                "int its;",
                &["-shared", "-fPIC", &format!("-Wl,-soname,{soname}")],
            );
            place.build(
                "needs",
                "extern int its; int main(void) { return its; }",
                &["its.so"],
            );
            assert_eq!(name_of("needs"), entry.name, "{at} {soname}");
        }
        for symbol in entry.symbols.iter() {
            place.build(
                "shows",
                &format!("void {symbol}(void) {{}} {MAIN}"),
                &["-rdynamic"],
            );
            assert_eq!(name_of("shows"), entry.name, "{symbol}");
        }
        if let Some(inside) = entry.inside {
            let source = match inside {
                Inside::Go => format!("char magic[64] = \"\\xff\" \" Go buildinf:\"; {MAIN}"),
                Inside::Haskell => holding("Ignoring GHCRTS variable as"),
                Inside::Jemalloc => holding("<jemalloc>: x"),
                Inside::PrefixedJemalloc => holding("_RJEM_MALLOC_CONF\\0<jemalloc>: x"),
            };
            place.build("holds", &source, &[]);
            assert_eq!(name_of("holds"), entry.name, "{inside:?}");
        }
        marks += entry.exe.len() + entry.needed.len() + entry.symbols.len();
        entries += 1;
    }
    assert!(marks > 60 && entries > 20, "{marks} {entries}");
}

//! Plugins opened with `RTLD_DEEPBIND`, which searches libc before our library. They must still
//! use our malloc and memory calls.

use std::path::{Path, PathBuf};

use crate::support::live::machine;
use crate::support::program::{Libc, build, build_as};
use crate::support::tool::{Ran, Run, tool};

fn hugectl(options: &[&str], program: &Path, args: &[&str]) -> Ran {
    let mut command = tool("hugectl");
    command.args(options).arg(program).args(args);
    command.ran()
}

fn build_with_plugin(name: &str) -> Option<(PathBuf, String)> {
    let flags = ["-DPLUGIN", "-shared", "-fPIC"];
    let plugin = build_as(&format!("lib{name}-plugin.so"), name, Libc::Glibc, &flags)?;
    Some((build(name, Libc::Glibc, &[])?, plugin.to_str()?.to_owned()))
}

#[test]
fn a_deep_bound_plugin_shares_our_heap_and_keeps_its_symbols() {
    let Some((program, plugin)) = build_with_plugin("plugins") else {
        return;
    };
    for mode in ["deep", "lazy"] {
        let ran = hugectl(&["--heap=thp", "-q"], &program, &[mode, &plugin]);
        let found = (ran.status, ran.out.as_str(), ran.err.as_str());
        assert_eq!(found, (0, "the plugin's\n", ""), "{mode}");
    }
}

/// `dlopen` searches its caller's RUNPATH. The caller must not appear to be our library.
#[test]
fn a_plugin_is_found_by_the_runpath_of_its_caller() {
    if build_with_plugin("plugins").is_none() {
        return;
    }
    let flags = ["-DCALLER", "-shared", "-fPIC", "-Wl,-rpath,$ORIGIN"];
    let caller = build_as("libplugins-caller.so", "plugins", Libc::Glibc, &flags).unwrap();
    let flags = ["-DRUNPATH", "-Wl,--no-as-needed", caller.to_str().unwrap()];
    let program = build_as("plugins-runpath", "plugins", Libc::Glibc, &flags).unwrap();
    let ran = hugectl(&["--heap=thp", "-q"], &program, &["runpath"]);
    let found = (ran.status, ran.out.as_str());
    assert_eq!(found, (0, "the plugin's\n"), "{ran:?}");
}

#[test]
fn a_deep_bound_plugin_gets_the_usual_results_of_memory_calls() {
    let Some(live) = machine("memory calls of a deep-bound library") else {
        return;
    };
    let Some((program, plugin)) = build_with_plugin("deepbind_memory") else {
        return;
    };
    live.set_pool(60);
    let plain = std::process::Command::new(&program).arg(&plugin).ran();
    assert_eq!(plain.status, 0, "{plain:?}");
    for options in [&["--heap"][..], &["--shm", "--anon"]] {
        let ran = hugectl(options, &program, &[&plugin]);
        let what = format!("{options:?}: {ran:?}");
        assert_eq!((ran.status, &ran.out), (0, &plain.out), "{what}");
        let huge = ran
            .err
            .lines()
            .find_map(|line| line.strip_prefix("huge_kb="));
        let huge: u64 = huge.expect(&what).parse().unwrap();
        if options.contains(&"--anon") && live.can_use_thp() {
            assert!(huge >= 60 << 10, "{what}");
        }
    }
}

/// PHP opens its modules with `RTLD_DEEPBIND`.
#[test]
fn php_modules_work() {
    let Some(live) = machine("php") else { return };
    live.set_pool(40);
    crate::libs::apps::same("php", PHP);
}

const PHP: &str = r#"php -r '
    $a = [];
    for ($i = 0; $i < 200000; $i++) $a["k$i"] = str_repeat("x", $i % 100);
    echo count($a), json_encode(array_slice($a, 0, 5)), "\n";
    echo implode(" ", get_loaded_extensions()), "\n";
    preg_match("/(a+)+/", "aaa", $m);
    if (extension_loaded("ffi")) {
        $c = FFI::cdef("void *malloc(size_t n); void free(void *p);", "libc.so.6");
        for ($i = 1; $i < 2000; $i++) $c->free($c->malloc($i * 100));
    }
    if (extension_loaded("fileinfo"))
        echo finfo_file(finfo_open(FILEINFO_MIME_TYPE), "/etc/passwd"), "\n";
    if (extension_loaded("simplexml"))
        echo simplexml_load_string("<a><b>c</b></a>")->b, "\n";
    if (extension_loaded("iconv")) echo iconv("UTF-8", "UTF-16LE", "abc"), "\n";
'"#;

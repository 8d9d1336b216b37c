//! Libraries that bind to libc's malloc before ours: the allocator that made a block frees it.

use std::path::{Path, PathBuf};
use std::sync::OnceLock;

use crate::support::live::machine;
use crate::support::program::{Libc, build, build_as};
use crate::support::tool::{Ran, tool};

fn hugectl(program: &Path, args: &[&str]) -> Ran {
    let mut command = tool("hugectl");
    command.args(["--heap", "-q"]).arg(program).args(args);
    command.output().unwrap().into()
}

/// Built once: the tests run at the same time.
fn plugin() -> Option<PathBuf> {
    static BUILT: OnceLock<Option<PathBuf>> = OnceLock::new();
    let flags = ["-DPLUGIN", "-shared", "-fPIC"];
    let build = || build_as("libplugins-plugin.so", "plugins", Libc::Glibc, &flags);
    BUILT.get_or_init(build).clone()
}

/// Likewise.
fn program() -> Option<PathBuf> {
    static BUILT: OnceLock<Option<PathBuf>> = OnceLock::new();
    BUILT
        .get_or_init(|| build("plugins", Libc::Glibc, &[]))
        .clone()
}

#[test]
fn a_plugin_that_is_bound_deeply_shares_our_heap_and_keeps_its_names() {
    let (Some(plugin), Some(program)) = (plugin(), program()) else {
        return;
    };
    let plugin = plugin.to_str().unwrap();
    for how in ["deep", "lazy"] {
        let ran = hugectl(&program, &[how, plugin]);
        assert_eq!(
            (ran.status, ran.out.as_str(), ran.err.as_str()),
            (0, "the plugin's\n", ""),
            "{how}"
        );
    }
}

/// The loader looks for it where the library wants that asks for it.
#[test]
fn a_plugin_is_looked_for_where_its_caller_says() {
    let Some(_plugin) = plugin() else { return };
    let flags = ["-DCALLER", "-shared", "-fPIC", "-Wl,-rpath,$ORIGIN"];
    let caller = build_as("libplugins-caller.so", "plugins", Libc::Glibc, &flags).unwrap();
    let flags = ["-DRUNPATH", "-Wl,--no-as-needed", caller.to_str().unwrap()];
    let program = build_as("plugins-runpath", "plugins", Libc::Glibc, &flags).unwrap();
    let ran = hugectl(&program, &["runpath"]);
    assert_eq!(
        (ran.status, ran.out.as_str()),
        (0, "the plugin's\n"),
        "{ran:?}"
    );
}

#[test]
fn php_loads_its_modules_that_way() {
    let Some(live) = machine("php") else { return };
    live.set_pool(40);
    crate::libs::apps::same("php", PHP);
}

const PHP: &str = r#"php -r '
    $a = [];
    for ($i = 0; $i < 200000; $i++) $a["k$i"] = str_repeat("x", $i % 100);
    echo count($a), json_encode(array_slice($a, 0, 5)), "\n";
    echo implode(" ", get_loaded_extensions()), "\n";
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

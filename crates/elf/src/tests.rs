//! Parses real files of every kind, intact and damaged.

use std::fs::{self, OpenOptions};
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::Command;

use crate::{Class, Elf, Endian, Ident, Kind};

/// Compiles C source with `cc`.
fn build(dir: &Path, name: &str, source: &str, args: &[&str]) -> PathBuf {
    let (input, output) = (dir.join(format!("{name}.c")), dir.join(name));
    let mut file = fs::File::create(&input).unwrap();
    file.write_all(source.as_bytes()).unwrap();
    let status = Command::new("cc")
        .arg(&input)
        .args(args)
        .arg("-o")
        .arg(&output)
        .status();
    assert!(status.unwrap().success(), "cc {args:?}");
    output
}

fn open(path: &Path) -> Elf {
    let file = OpenOptions::new().read(true).open(path).unwrap();
    Elf::read(file).unwrap()
}

const MAIN: &str = "int main(void) { return 0; }";
const OWN: &str = "#include <stddef.h>\nvoid *malloc(size_t n) { static char pool[4096]; (void)n; \
                   return pool; }\nint big[1000]; int main(void) { return malloc(1) == 0; }";
const USER: &str = "extern void *mallocx(unsigned long, int); void *user(void) { return mallocx(1, 0); }\
                    void *xmallocx(void) { return 0; }";

#[test]
fn kinds_of_programs() {
    let dir = tempfile::tempdir().unwrap();
    let cases: [(&str, &[&str], Kind); 6] = [
        ("pie", &["-pie", "-fPIE"], Kind::Pie),
        ("exec", &["-no-pie"], Kind::Exec),
        ("static", &["-static"], Kind::Static),
        ("static-pie", &["-static-pie", "-fPIE"], Kind::StaticPie),
        ("library", &["-shared", "-fPIC"], Kind::Library),
        ("object", &["-c"], Kind::Other),
    ];
    for (name, args, kind) in cases {
        let elf = open(&build(dir.path(), name, MAIN, args));
        assert_eq!((elf.kind(), elf.ident()), (kind, Ident::native()), "{name}");
        let loaded = matches!(kind, Kind::Pie | Kind::Exec);
        assert_eq!(elf.interpreter().is_some(), loaded, "{name}");
        assert_eq!(elf.header_address().is_none(), kind == Kind::Other);
    }
}

#[test]
fn reads_the_dynamic_section() {
    let dir = tempfile::tempdir().unwrap();
    let args = [
        "-shared",
        "-fPIC",
        "-Wl,-rpath,$ORIGIN/../lib:/opt/lib",
        "-Wl,--enable-new-dtags",
        "-Wl,--no-as-needed",
        "-lm",
    ];
    let path = build(dir.path(), "libuser.so", USER, &args);
    let elf = open(&path);
    let dynamic = elf.dynamic().unwrap();
    assert_eq!(
        dynamic.runpath.as_deref(),
        Some(&b"$ORIGIN/../lib:/opt/lib"[..])
    );
    assert_eq!(dynamic.rpath, None);
    assert_eq!(dynamic.needed, [&b"libm.so.6"[..], b"libc.so.6"]);
}

#[test]
fn defined_and_undefined_symbols() {
    let dir = tempfile::tempdir().unwrap();
    let own = open(&build(dir.path(), "own", OWN, &["-rdynamic"]));
    assert!(own.defines("malloc").unwrap() && !own.defines("mallocx").unwrap());
    assert_eq!(refers_to(&own, &["malloc", "mallocx"]), None);
    let user = open(&build(dir.path(), "user", USER, &["-shared", "-fPIC"]));
    assert!(user.defines("user").unwrap() && user.defines("xmallocx").unwrap());
    assert!(!user.defines("mallocx").unwrap());
    assert_eq!(refers_to(&user, &["mallocx"]).as_deref(), Some("mallocx"));
    assert_eq!(refers_to(&user, &["sdallocx", "allocx", "user"]), None);
}

fn refers_to(elf: &Elf, names: &[&str]) -> Option<String> {
    let is_wanted = |found: &[u8]| names.iter().any(|name| name.as_bytes() == found);
    let found = elf.refers_to(is_wanted).unwrap();
    found.map(|name| String::from_utf8(name).unwrap())
}

#[test]
fn finds_notes_by_name() {
    let dir = tempfile::tempdir().unwrap();
    let elf = open(&build(dir.path(), "linked", MAIN, &["-Wl,--build-id"]));
    assert!(elf.has_note(b"GNU").unwrap());
    assert!(!elf.has_note(b"Go").unwrap());
}

#[test]
fn relro_lies_in_a_writable_segment() {
    let dir = tempfile::tempdir().unwrap();
    let flags = ["-Wl,-z,relro,-z,now"];
    let elf = open(&build(dir.path(), "closed", MAIN, &flags));
    let relro = elf.relro().unwrap();
    let data = elf.loads().iter().find(|load| load.writable).unwrap();
    assert!(data.address <= relro.start && relro.start < relro.end && relro.end <= data.end());
    let plain = open(&build(dir.path(), "open", MAIN, &["-Wl,-z,norelro"]));
    assert_eq!(plain.relro(), None);
}

/// A minimal header for another architecture.
fn foreign() -> Vec<u8> {
    let mut bytes = vec![0; 52];
    bytes[..7].copy_from_slice(b"\x7fELF\x01\x02\x01");
    bytes[16..20].copy_from_slice(&[0, 2, 0, 20]);
    bytes[23] = 1;
    bytes
}

#[test]
fn reads_files_of_other_architectures() {
    let bytes = foreign();
    let elf = Elf::read(&bytes[..]).unwrap();
    assert_eq!(elf.ident().to_string(), "32-bit big-endian ppc");
    assert_eq!(
        (elf.ident().class, elf.kind()),
        (Class::Elf32, Kind::Static)
    );
    assert!(!elf.defines("malloc").unwrap());
}

#[test]
fn directories_name_byte_order_and_class() {
    use crate::constants::{EM_PPC64, EM_RISCV, EM_S390};
    for (machine, endian, name) in [
        (EM_PPC64, Endian::Little, "powerpc64le"),
        (EM_PPC64, Endian::Big, "powerpc64"),
        (EM_RISCV, Endian::Little, "riscv64"),
        (EM_S390, Endian::Big, "s390x"),
    ] {
        let class = Class::Elf64;
        let ident = Ident {
            class,
            endian,
            machine,
        };
        assert_eq!(ident.directory_name(), name);
    }
}

#[test]
fn errors_of_files_that_are_not_elf() {
    let text = |bytes: &[u8]| Elf::read(bytes).unwrap_err().to_string();
    assert_eq!(text(b"#!/bin/sh\n"), "not an ELF file");
    assert_eq!(text(b""), "not an ELF file");
    assert_eq!(text(b"\x7fELF"), "not an ELF file");
    assert_eq!(text(b"\x7fELF\x03\x01\x01"), "not an ELF file");
    let header = "its header is cut off or invalid";
    assert_eq!(text(&foreign()[..40]), header);
}

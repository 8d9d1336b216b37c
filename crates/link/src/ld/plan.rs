//! Builds the command line for the real linker.

use std::ffi::{OsStr, OsString};
use std::os::unix::ffi::OsStrExt;

use super::find::Library;
use super::request::{Kind, Request};

/// Differences between linkers in options.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Dialect {
    /// GNU ld and gold.
    Gnu,
    /// LLVM's lld.
    Lld,
}

/// Facts about the linker and the target.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Facts {
    pub(crate) dialect: Dialect,
    /// The alignment of segments in bytes.
    pub(crate) size: u64,
    /// GNU ld's default address for programs with fixed addresses.
    pub(crate) base: Option<u64>,
    /// Our library for the target, if installed.
    pub(crate) library: Option<Library>,
}

/// Libraries that compilers append to every link. Ours must precede them, or their symbols win.
const COMPILER_LIBRARIES: [&str; 4] = ["-lgcc", "-lgcc_s", "-lgcc_eh", "-lc"];

/// Builds the whole command line of a link that is not relocatable.
pub(crate) fn plan(request: &Request, facts: &Facts) -> Vec<OsString> {
    let (options, operands) = request.args.split_at(request.options_end);
    let mut line = options.to_vec();
    if !request.is_static {
        let is_compilers = |arg: &OsString| COMPILER_LIBRARIES.iter().any(|name| arg == name);
        let at = line.iter().position(is_compilers).unwrap_or(line.len());
        line.splice(at..at, library());
        if let Some(library) = &facts.library {
            line.push(joined("-L", library.dir.as_os_str()));
            if let Some(dir) = &library.rpath {
                line.extend(["-rpath".into(), dir.clone().into_os_string()]);
            }
        }
    }
    line.extend(alignment(request, facts));
    line.extend_from_slice(operands);
    line
}

/// Arguments that link our library even without a reference to it, despite the compiler's
/// `--as-needed`.
fn library() -> impl Iterator<Item = OsString> {
    let words = [
        "--push-state",
        "-Bdynamic",
        "--no-as-needed",
        "-lhugetlbfs",
        "--pop-state",
    ];
    words.into_iter().map(OsString::from)
}

fn alignment(request: &Request, facts: &Facts) -> Vec<OsString> {
    let size = facts.size;
    let mut words: Vec<OsString> = vec!["-z".into(), format!("max-page-size={size}").into()];
    // RELRO ends at a multiple of common-page-size. lld puts RELRO into its own segment and would
    // round its end up beyond that segment, which no loader can protect.
    if facts.dialect == Dialect::Gnu {
        words.extend(["-z".into(), format!("common-page-size={size}").into()]);
    }
    if let (Kind::Fixed, false, Some(default)) = (request.kind, request.sets_addresses, facts.base)
    {
        let base = (default - default % size).max(size);
        match facts.dialect {
            Dialect::Gnu if base == default => {}
            Dialect::Gnu => words.push(format!("-Ttext-segment={base:#x}").into()),
            // lld's default base differs, so always set it.
            Dialect::Lld => words.push(format!("--image-base={base:#x}").into()),
        }
    }
    words
}

fn joined(option: &str, value: &OsStr) -> OsString {
    let bytes = [option.as_bytes(), value.as_bytes()].concat();
    OsStr::from_bytes(&bytes).to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn planned(line: &str, facts: &Facts) -> String {
        let args = line.split(' ').map(OsString::from).collect();
        let line = plan(&Request::new(args).unwrap(), facts);
        let line: Vec<&str> = line.iter().map(|arg| arg.to_str().unwrap()).collect();
        line.join(" ")
    }

    #[test]
    fn our_library_precedes_the_compilers_libraries() {
        let gnu = Facts {
            dialect: Dialect::Gnu,
            size: 2 << 20,
            base: None,
            library: None,
        };
        assert_eq!(
            planned("-pie -o x a.o -lz -lgcc_s -lc crtn.o", &gnu),
            "-pie -o x a.o -lz \
             --push-state -Bdynamic --no-as-needed -lhugetlbfs --pop-state \
             -lgcc_s -lc crtn.o -z max-page-size=2097152 -z common-page-size=2097152"
        );
    }

    #[test]
    fn fixed_programs_start_at_a_huge_page() {
        let facts = |size, base, dialect| Facts {
            dialect,
            size,
            base: Some(base),
            library: None,
        };
        let base = |line, facts: &Facts| {
            let line = planned(line, facts);
            let last = line.rsplit(' ').next().unwrap_or_default().to_owned();
            last.starts_with('-').then_some(last)
        };
        let (gnu, lld) = (Dialect::Gnu, Dialect::Lld);
        let option = |text: &str| Some(text.to_owned());
        assert_eq!(base("-static a", &facts(2 << 20, 0x40_0000, gnu)), None);
        let arm = facts(2 << 20, 0x1_0000, gnu);
        assert_eq!(base("a", &arm), option("-Ttext-segment=0x200000"));
        assert_eq!(base("-pie a", &arm), None);
        assert_eq!(base("-Ttext=0 a", &arm), None);
        let i386 = facts(4 << 20, 0x804_8000, gnu);
        assert_eq!(base("a", &i386), option("-Ttext-segment=0x8000000"));
        let large = facts(1 << 30, 0x40_0000, lld);
        assert_eq!(base("a", &large), option("--image-base=0x40000000"));
        let usual = facts(2 << 20, 0x40_0000, lld);
        assert_eq!(base("a", &usual), option("--image-base=0x400000"));
    }
}

//! Parses the linker's command line as far as ld.hugetlbfs needs.

use std::ffi::OsString;
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::path::PathBuf;

use hugetools_elf::Marks;
use hugetools_model::PageSize;

use crate::change::Align;
use crate::failure::Failure;

/// The kind of output.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Kind {
    /// A relocatable object file (`-r`), which has no segments.
    Relocatable,
    /// A program with fixed addresses.
    Fixed,
    /// A position-independent program or library.
    PositionIndependent,
}

/// A parsed command line.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Request {
    /// The alignment of segments, if requested.
    pub(crate) align: Option<Align>,
    /// The segments to mark, if requested.
    pub(crate) marks: Option<Marks>,
    pub(crate) kind: Kind,
    /// Whether static linking is on at the end of the line (`-static` and its synonyms).
    pub(crate) is_static: bool,
    /// Whether the command line sets addresses (`-T...`, `--script`, `--image-base`).
    pub(crate) sets_addresses: bool,
    pub(crate) output: PathBuf,
    /// The command line without our own options.
    pub(crate) args: Vec<OsString>,
    /// Index of `--` in `args`; `args.len()` without one.
    pub(crate) options_end: usize,
}

/// The smallest huge page of the supported architectures (bytes). Smaller sizes are refused.
const MIN_SIZE: u64 = 64 << 10;

/// The prefix of our options.
const OURS: &[u8] = b"--hugetlbfs-";

/// Whether the command line has one of our options.
pub(crate) fn has_our_options(args: &[OsString]) -> bool {
    let options = args.iter().take_while(|arg| *arg != "--");
    options
        .into_iter()
        .any(|arg| arg.as_bytes().starts_with(OURS))
}

impl Request {
    /// Parses a command line with expanded response files. Fails if one of our options is invalid.
    pub(crate) fn new(line: Vec<OsString>) -> Result<Request, Failure> {
        let mut request = Request {
            align: None,
            marks: None,
            kind: Kind::Fixed,
            is_static: false,
            sets_addresses: false,
            output: PathBuf::from("a.out"),
            args: Vec::with_capacity(line.len()),
            options_end: 0,
        };
        let mut line = line.into_iter();
        while let Some(arg) = line.next() {
            if arg == "--" {
                request.options_end = request.args.len();
                request.args.push(arg);
                request.args.extend(line);
                return Ok(request);
            }
            if arg.as_bytes().starts_with(OURS) {
                request.parse_ours(&arg.to_string_lossy())?;
                continue;
            }
            let wants_value = request.record(&arg);
            request.args.push(arg);
            let value = wants_value.and_then(|set| Some((set, line.next()?)));
            if let Some((set, value)) = value {
                set(&mut request, &value);
                request.args.push(value);
            }
        }
        request.options_end = request.args.len();
        Ok(request)
    }

    fn parse_ours(&mut self, option: &str) -> Result<(), Failure> {
        let invalid = |what: &str| Err(Failure::new(format!("{option}: {what}")));
        match option.split_once('=') {
            None if option == "--hugetlbfs-align" => self.align = Some(Align::Usual),
            Some(("--hugetlbfs-align", size)) => match size.parse::<PageSize>() {
                Ok(size) if size.get() < MIN_SIZE => {
                    return invalid("too small: huge pages have 64kB or more");
                }
                Ok(size) if size.get().is_power_of_two() => {
                    self.align = Some(Align::To(size.get()))
                }
                Ok(_) => return invalid("the size is not a power of two"),
                Err(error) => return invalid(&error.to_string()),
            },
            Some(("--hugetlbfs-link", "B")) => self.mark(false),
            Some(("--hugetlbfs-link", "BDT")) => self.mark(true),
            Some(("--hugetlbfs-link", _)) => {
                return invalid("write B (bss and data) or BDT (text, too)");
            }
            // We ship no linker scripts, so the path is ignored.
            Some(("--hugetlbfs-script-path", _)) => {}
            _ => {
                return invalid(
                    "no such option\n  the options are --hugetlbfs-align[=SIZE] and --hugetlbfs-link=B|BDT",
                );
            }
        }
        Ok(())
    }

    fn mark(&mut self, text: bool) {
        self.marks = Some(Marks { text, data: true });
        self.align = self.align.or(Some(Align::Usual));
    }

    /// Records an argument. If its value is the next argument, returns a function
    /// that records the value.
    fn record(&mut self, arg: &OsString) -> Option<fn(&mut Request, &OsString)> {
        let bytes = arg.as_bytes();
        match bytes {
            b"-o" | b"--output" => return Some(|request, value| request.output = value.into()),
            b"-r" | b"-i" | b"-Ur" => self.kind = Kind::Relocatable,
            b"-dn" => self.is_static = true,
            b"-dy" => self.is_static = false,
            [b'-', b'o', name @ ..] => self.output = OsString::from_vec(name.to_vec()).into(),
            _ => self.record_long(bytes),
        }
        None
    }

    /// Records an option of several letters, which may begin with one dash or two.
    fn record_long(&mut self, arg: &[u8]) {
        let Some(name) = arg.strip_prefix(b"--").or_else(|| arg.strip_prefix(b"-")) else {
            return;
        };
        let relocatable = self.kind == Kind::Relocatable;
        match name {
            b"relocatable" => self.kind = Kind::Relocatable,
            b"pie" | b"pic-executable" | b"shared" | b"Bshareable" if !relocatable => {
                self.kind = Kind::PositionIndependent;
            }
            b"no-pie" | b"no-pic-executable" if !relocatable => self.kind = Kind::Fixed,
            b"static" | b"Bstatic" | b"non_shared" => self.is_static = true,
            b"Bdynamic" | b"call_shared" => self.is_static = false,
            [b'T', ..] | b"dT" | b"script" | b"default-script" | b"image-base" => {
                self.sets_addresses = true
            }
            _ => {
                let starts = |prefix: &[u8]| name.starts_with(prefix);
                self.sets_addresses |= starts(b"script=") || starts(b"image-base=");
                if let Some(output) = arg.strip_prefix(b"--output=") {
                    self.output = OsString::from_vec(output.to_vec()).into();
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn args(line: &str) -> Vec<OsString> {
        line.split(' ').map(OsString::from).collect()
    }

    fn read(line: &str) -> Request {
        Request::new(args(line)).unwrap()
    }

    #[test]
    fn parses_alignment_and_marks() {
        let marks = |text| Some(Marks { text, data: true });
        let asked = |line| (read(line).align, read(line).marks);
        assert_eq!(asked("--hugetlbfs-align"), (Some(Align::Usual), None));
        let size = Some(Align::To(32 << 20));
        assert_eq!(asked("--hugetlbfs-align=32MB"), (size, None));
        assert_eq!(
            asked("--hugetlbfs-link=B"),
            (Some(Align::Usual), marks(false))
        );
        assert_eq!(
            asked("--hugetlbfs-link=BDT --hugetlbfs-align=32M"),
            (size, marks(true))
        );
        assert_eq!(
            asked("--hugetlbfs-align=32M --hugetlbfs-link=BDT"),
            (size, marks(true))
        );
        assert_eq!(asked("--hugetlbfs-script-path=x"), (None, None));
    }

    #[test]
    fn parses_every_form_of_the_output_option() {
        let output = |line| read(line).output.to_str().unwrap().to_owned();
        assert_eq!(output("a.o"), "a.out");
        assert_eq!(output("a.o -o x"), "x");
        assert_eq!(output("-ox a.o -oy"), "y");
        assert_eq!(output("--output=x --oformat=elf64-x86-64"), "x");
        assert_eq!(output("--output x --omagic"), "x");
        assert_eq!(output("a.o -o"), "a.out");
        assert_eq!(read("a -o -- -r").kind, Kind::Relocatable);
    }

    #[test]
    fn kinds_of_output() {
        let kind = |line| read(line).kind;
        assert_eq!(kind("a.o"), Kind::Fixed);
        assert_eq!(kind("-pie a.o"), Kind::PositionIndependent);
        assert_eq!(kind("--pie --no-pie"), Kind::Fixed);
        assert_eq!(kind("-shared -r -pie"), Kind::Relocatable);
        assert_eq!(kind("-rpath=/x -retain-symbols-file"), Kind::Fixed);
    }

    #[test]
    fn the_last_static_option_wins_and_options_can_place_text() {
        assert!(read("-static a.o").is_static);
        assert!(!read("-Bstatic -lx -Bdynamic -lc").is_static);
        assert!(read("-dy -dn").is_static);
        assert!(!read("-static-x -nostdlib").is_static);
        for line in [
            "-Ttext-segment=0x1",
            "-T x",
            "-Tx",
            "--image-base=0",
            "--script=x",
        ] {
            assert!(read(line).sets_addresses, "{line}");
        }
        assert!(!read("-t --trace").sets_addresses);
    }
}

//! Files with a signature for the kernel's integrity checks (IMA, EVM).

use super::made::{Made, X86_64};
use super::place::Place;
use crate::support::live::skip;

/// Sets an attribute in the security namespace. Returns false if the file system refuses
/// it.
fn set(place: &Place, name: &str, attribute: &str, first: u8) -> bool {
    let script = format!("import os; os.setxattr('{name}', '{attribute}', bytes([{first}, 2, 4]))");
    place.shell(&format!("python3 -c \"{script}\"")).status == 0
}

#[test]
fn a_signed_file_is_not_changed() {
    let test = "a_signed_file_is_not_changed";
    let place = Place::new();
    let names = [
        ("security.ima", 3),
        ("security.ima", 6),
        ("security.evm", 5),
    ];
    for (attribute, kind) in names {
        place.file("program", Made::usual(X86_64).bytes());
        if !set(&place, "program", attribute, kind) {
            return skip(test, "no signature can be attached here").unwrap_or(());
        }
        let before = place.snapshot();
        let done = place.shell("hugeedit --text program");
        assert_eq!(done.status, 1);
        assert_eq!(
            done.err,
            format!(
                "hugeedit: error: program: is signed ({attribute}): a change would break the \
                 signature\n  change an unsigned copy, then sign the copy\n"
            )
        );
        assert_eq!(place.snapshot(), before);
        // A run without changes keeps the signature valid, and a copy has no signature.
        place.ok("hugeedit --disable program");
        place.ok("cp program copy && hugeedit --text copy && rm program copy");
    }
}

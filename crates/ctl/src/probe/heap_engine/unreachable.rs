//! Programs that no library of ours can be added to.

use hugetools_elf::Ident;

use crate::probe::target::{Image, Target};
use crate::say::shortfall::Shortfall;
use crate::say::subject::Subject;

/// Why nothing of ours can get into the program.
pub(super) fn unreachable(target: &Target) -> Option<Shortfall> {
    let name = target.program.display();
    let (fact, value) = match (target.secure, &target.image) {
        (Some(secure), _) => (
            format!(
                "{name} is {secure}, and the loader of such a program takes no library from its user"
            ),
            secure.to_string(),
        ),
        (None, Image::Foreign(ident)) => (
            format!(
                "{name} is for {ident}, our libraries are for {}, and where neither this kernel \
                 nor an emulator (binfmt_misc) runs such programs, it ends with status 126",
                Ident::native()
            ),
            ident.to_string(),
        ),
        _ => return None,
    };
    let short = Shortfall::new(Subject::ALL, fact).says(name, value);
    Some(
        match target.secure.map(|secure| secure.instead(&target.program)) {
            Some(instead) => short.advise(instead),
            None => short,
        },
    )
}

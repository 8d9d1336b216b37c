//! Pool pages that a program takes by its own option at its start, as a Java heap does: the
//! size is on its command line, and the kernel promises all of them or none.

use hugetools_model::FileError;

use super::Scene;
use crate::say::note::{Level, Note};
use crate::say::shortfall::Shortfall;
use crate::say::subject::Subject;

/// What the default pool lacks for that.
pub(super) fn look(scene: &Scene<'_>) -> Result<Option<Note>, FileError> {
    let known = scene.known.and_then(|entry| {
        let (bytes, word) = entry.takes(&scene.run.command, scene.caller)?;
        Some((entry, bytes, word))
    });
    let Some((entry, bytes, word)) = known else {
        return Ok(None);
    };
    let Some(source) = scene.kernel.default_source(scene.root)? else {
        return Ok(None);
    };
    let available = source.available();
    if available >= bytes {
        return Ok(None);
    }
    let size = source.pool.size;
    let fact = format!(
        "{} takes {bytes} of {size} pages at its start ({word}), and the pool has {available} left",
        entry.name
    );
    let is_on_thp = scene.served.anon.is_some() && scene.kernel.serves_private();
    let then = match is_on_thp {
        true => "it gets none of them, and its memory goes to transparent huge pages",
        false => "it gets none of them, and its memory stays on base pages",
    };
    let short = Shortfall::new(Subject::HEAP | Subject::ANON, fact).then(then);
    let missing = bytes.get().saturating_sub(available.get());
    let pages = missing.div_ceil(size.get());
    let short = source.remedy(short, pages);
    Ok(Some(Note::short(Level::Warning, short)))
}

//! The library that is preloaded.

use std::ffi::{OsStr, OsString};
use std::os::unix::ffi::OsStrExt;
use std::path::Path;

use super::Maker;
use crate::plan::Bundled;
use crate::probe::dynamic_loader::ld_preload;
use crate::probe::heap_engine::Engine;
use crate::probe::library::Found;
use crate::say::shortfall::Shortfall;
use crate::say::subject::Subject;

impl Maker<'_> {
    pub(super) fn preload(&mut self) {
        let (path, exists) = match &self.findings.library {
            None => return,
            Some(Found::Missing(why)) => {
                let short = Shortfall::new(Subject::ALL, why);
                let then = "the program runs without it, on its usual pages";
                return self.fall_short(short.consequence(then));
            }
            Some(Found::At(path)) => (path, true),
            Some(Found::Inside { path, exists, .. }) => (path, *exists),
        };
        let list = self.caller.var("LD_PRELOAD").unwrap_or_default();
        self.info(format!("library: {}", path.display()));
        if !exists {
            self.warn(format!(
                "{} does not exist yet: the first start writes hugectl's copy there",
                path.display()
            ));
        }
        if self.findings.decision.engine == Engine::Arena {
            for (name, is_reached_by_anon) in ld_preload::other_mallocs(list) {
                let advice = match is_reached_by_anon {
                    true => "to keep it, on huge pages: --anon instead of --heap",
                    false => "to use both, start hugectl first: hugectl --heap TOOL PROGRAM",
                };
                self.warn(format!(
                    "--heap replaces the malloc of {name} (LD_PRELOAD); {advice}"
                ));
            }
        }
        self.set("LD_PRELOAD", self.merged(path));
    }

    fn merged(&self, path: &Path) -> OsString {
        ld_preload::merge(path.as_os_str(), self.caller.var("LD_PRELOAD"))
    }

    /// Returns hugectl's copy of the library, if a start writes it to disk.
    pub(super) fn bundled(&self) -> Option<Bundled> {
        let Some(Found::Inside { name, path, .. }) = &self.findings.library else {
            return None;
        };
        let merged = self.merged(path);
        let rest = merged.as_bytes().get(path.as_os_str().len()..)?;
        Some(Bundled {
            name,
            path: path.clone(),
            rest: OsStr::from_bytes(rest).to_owned(),
        })
    }
}

//! `[thp]`, `[shm]`, `[userfaultfd]` and `[memory]`.

use std::fmt::Display;
use std::ops::Range;

use hugetools_model::memory::sysctl;
use hugetools_model::units::size::Quantity;
use hugetools_model::{Bytes, KPath, thp};
use toml::Spanned;

use super::RequestBuilder;
use crate::args::{Args, DEFRAG, ENABLED, SHMEM};
use crate::config::source::{Key, Source};
use crate::config::table::{Amount, File, Thp};
use crate::request::settings::{self, THP_NUMBERS};
use crate::request::{GroupOption, shown};

/// The word that stands for a recommended value.
const RECOMMENDED: &str = "recommended";

/// A value and its place in the file.
type Given<T> = Option<(Range<usize>, T)>;

fn given<T, V>(value: &Option<Spanned<T>>, of: impl Fn(&T) -> V) -> Given<V> {
    value.as_ref().map(|it| (it.span(), of(it.get_ref())))
}

impl RequestBuilder<'_> {
    pub(super) fn thp(&mut self, thp: &Thp, source: &Source) -> Result<(), String> {
        let machine = self.facts.machine;
        let words = [
            ("enabled", "enabled", &ENABLED[..], &thp.enabled),
            ("defrag", "defrag", &DEFRAG, &thp.defrag),
            ("shmem", "shmem_enabled", &SHMEM, &thp.shmem),
        ];
        for (name, file, words, given) in words {
            if let Some(word) = given {
                let key = self.key("thp", name, &word.span(), source)?.to_string();
                let word = word.get_ref().as_str();
                if !words.contains(&word) {
                    return Err(format!("{key}: write one of {}", words.join(", ")));
                }
                let setting = settings::word(machine, key, thp::dir().join(file), word);
                self.request.settings.push(setting);
            }
        }
        let numbers = [
            given(&thp.khugepaged_pages, |it| u64::from(it.get())),
            given(&thp.khugepaged_alloc_sleep, |it| u64::from(*it)),
            given(&thp.khugepaged_scan_sleep, |it| u64::from(*it)),
            given(&thp.max_ptes_none, |it| u64::from(*it)),
            given(&thp.use_zero_page, |on| u64::from(*on)),
        ];
        for ((name, file), given) in THP_NUMBERS.into_iter().zip(numbers) {
            if let Some((span, number)) = given {
                let name = name.replace('-', "_");
                let key = self.key("thp", &name, &span, source)?.to_string();
                let setting = settings::thp_number(machine, key, file, number);
                self.request.settings.push(setting);
            }
        }
        for (size, mode) in &thp.sizes {
            let size = size.get_ref();
            let key = self.key("thp", size, &mode.span(), source)?.to_string();
            let spec = format!("{size}:{}", mode.get_ref());
            let setting = settings::thp_size(machine, key.clone(), &spec);
            let setting = setting.map_err(|why| format!("{key}: {why}"))?;
            self.request.settings.push(setting);
        }
        Ok(())
    }

    /// Returns the key, or an error if it was set before.
    fn key(
        &mut self,
        section: &str,
        name: &str,
        span: &Range<usize>,
        source: &Source,
    ) -> Result<Key, String> {
        let key = source.key(name, span);
        self.once(&format!("{name} of [{section}]"), &key)?;
        Ok(key)
    }

    pub(super) fn limits(&mut self, file: &File, source: &Source) -> Result<(), String> {
        if let Some(group) = &file.shm.group {
            if let Some(group) = self.group("shm", group, source, |args, name| {
                args.limits.set_shm_group = Some(name);
                "--set-shm-group"
            })? {
                self.request.shm_group = Some(group);
            }
        }
        if let Some(group) = &file.userfaultfd.group {
            if let Some(group) = self.group("userfaultfd", group, source, |args, name| {
                args.limits.set_userfaultfd_group = Some(name);
                "--set-userfaultfd-group"
            })? {
                self.request.userfaultfd_group = Some(group);
            }
        }
        if let Some(max) = &file.shm.max {
            let key = self.key("shm", "max", &max.span(), source)?;
            match max.get_ref().0.as_str() {
                RECOMMENDED => self.request.shmmax = Some(key.to_string()),
                text => self.number(&key, sysctl::shmmax_path(), bytes(&key, text)?),
            }
        }
        if let Some(least) = &file.memory.min_free {
            let key = self.key("memory", "min_free", &least.span(), source)?;
            match least.get_ref().0.as_str() {
                RECOMMENDED => self.request.min_free = Some(key.to_string()),
                text => {
                    let kilobytes = bytes(&key, text)? >> 10;
                    check_min_free(kilobytes, self.facts.machine.meminfo.total)
                        .map_err(|why| format!("{key}: {why}"))?;
                    self.number(&key, sysctl::min_free_path(), kilobytes);
                }
            }
        }
        if let Some(on) = &file.memory.hvo {
            let key = self.key("memory", "hvo", &on.span(), source)?.to_string();
            let setting = settings::hvo(self.facts.machine, key, *on.get_ref());
            self.request.settings.push(setting);
        }
        Ok(())
    }

    /// Returns a numeric group, which need not exist: `--save` writes the kernel's number. Adds a
    /// named one to the request itself and returns `None`.
    fn group(
        &mut self,
        section: &str,
        group: &Spanned<Amount>,
        source: &Source,
        set: impl FnOnce(&mut Args, String) -> &'static str,
    ) -> Result<Option<GroupOption>, String> {
        let key = self.key(section, "group", &group.span(), source)?;
        let name = &group.get_ref().0;
        let option = key.to_string();
        if let Ok(gid) = name.parse() {
            return Ok(Some(GroupOption { option, gid }));
        }
        let mut args = Args::default();
        let option = set(&mut args, name.clone());
        self.add(&args, &[(format!("{option} {}", shown(name)), key)])?;
        Ok(None)
    }

    fn number(&mut self, key: &Key, path: KPath, number: u64) {
        let setting = settings::number(key.to_string(), path, number, None);
        self.request.settings.push(setting);
    }
}

/// Refuses an amount that would leave programs too little memory.
pub(in crate::config) fn check_min_free(kilobytes: u64, memory: Bytes) -> Result<(), String> {
    let most = memory.get() / 2048;
    match (1..=most).contains(&kilobytes) {
        true => Ok(()),
        false => Err(format!(
            "{kilobytes} kB; write 1 kB to half of the memory, {most} kB"
        )),
    }
}

fn bytes(key: &Key, text: &str) -> Result<u64, String> {
    let wrong = |why: &dyn Display| {
        format!("{key}: {why}; write bytes, a size such as \"64MB\", or \"{RECOMMENDED}\"")
    };
    let quantity: Quantity = text.parse().map_err(|why| wrong(&why))?;
    let bytes = quantity.bytes().map_err(|why| wrong(&why))?;
    Ok(bytes.get())
}

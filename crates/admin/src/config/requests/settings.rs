//! Transparent huge pages, shared memory, and the page allocator.

use std::fmt::Display;

use hugetools_model::KPath;
use hugetools_model::memory::sysctl;
use hugetools_model::units::size::Quantity;
use toml::Spanned;

use super::Making;
use crate::args::Args;
use crate::config::source::{Key, Source};
use crate::config::table::{Amount, File, Thp};
use crate::request::{GroupOption, Setting, SettingValue, shown};

/// The word that stands for a recommended value.
const RECOMMENDED: &str = "recommended";

impl Making<'_> {
    /// Adds a key that is an option. `set` puts its value into the arguments, and returns the
    /// value as the option's messages have it.
    fn option<T>(
        &mut self,
        (section, name): (&str, &str),
        value: Option<&Spanned<T>>,
        source: &Source,
        set: impl FnOnce(&mut Args, &T) -> String,
    ) -> Result<(), String> {
        let Some(value) = value else { return Ok(()) };
        let key = source.key(name, &value.span());
        self.once(&format!("{name} of [{section}]"), &key)?;
        let mut args = Args::default();
        let option = set(&mut args, value.get_ref());
        self.add(&args, &[(option, key)])
    }

    pub(super) fn thp(&mut self, thp: &Thp, source: &Source) -> Result<(), String> {
        let of = |name| ("thp", name);
        self.option(of("enabled"), thp.enabled.as_ref(), source, |args, word| {
            let args = &mut args.thp;
            match word.word() {
                "always" => args.thp_always = true,
                "madvise" => args.thp_madvise = true,
                _ => args.thp_never = true,
            }
            format!("--thp-{}", word.word())
        })?;
        self.option(of("defrag"), thp.defrag.as_ref(), source, |args, word| {
            args.thp.thp_defrag = Some(word.word().to_owned());
            format!("--thp-defrag {}", word.word())
        })?;
        self.option(of("shmem"), thp.shmem.as_ref(), source, |args, word| {
            args.thp.thp_shmem = Some(word.word().to_owned());
            format!("--thp-shmem {}", word.word())
        })?;
        let switch = thp.use_zero_page.as_ref();
        self.option(of("use_zero_page"), switch, source, |args, on| {
            args.thp.thp_use_zero_page = Some(word(*on));
            format!("--thp-use-zero-page {}", word(*on))
        })?;
        let pages = thp.khugepaged_pages.as_ref();
        self.option(of("khugepaged_pages"), pages, source, |args, pages| {
            args.thp.thp_khugepaged_pages = Some(pages.get());
            format!("--thp-khugepaged-pages {pages}")
        })?;
        let time = thp.khugepaged_alloc_sleep.as_ref();
        self.option(of("khugepaged_alloc_sleep"), time, source, |args, time| {
            args.thp.thp_khugepaged_alloc_sleep = Some(*time);
            format!("--thp-khugepaged-alloc-sleep {time}")
        })?;
        let time = thp.khugepaged_scan_sleep.as_ref();
        self.option(of("khugepaged_scan_sleep"), time, source, |args, time| {
            args.thp.thp_khugepaged_scan_sleep = Some(*time);
            format!("--thp-khugepaged-scan-sleep {time}")
        })?;
        let pages = thp.max_ptes_none.as_ref();
        self.option(of("max_ptes_none"), pages, source, |args, pages| {
            args.thp.thp_max_ptes_none = Some(*pages);
            format!("--thp-max-ptes-none {pages}")
        })?;
        for (size, mode) in &thp.sizes {
            let size = size.get_ref();
            self.option(of(size), Some(mode), source, |args, mode| {
                let spec = format!("{size}:{}", mode.word());
                args.thp.thp_size.push(spec.clone());
                format!("--thp-size {}", shown(&spec))
            })?;
        }
        Ok(())
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
            let key = source.key("max", &max.span());
            self.once("max of [shm]", &key)?;
            match max.get_ref().0.as_str() {
                RECOMMENDED => self.request.shmmax = Some(key.to_string()),
                text => self.number(&key, sysctl::shmmax_path(), bytes(&key, text)?),
            }
        }
        if let Some(least) = &file.memory.min_free {
            let key = source.key("min_free", &least.span());
            self.once("min_free of [memory]", &key)?;
            match least.get_ref().0.as_str() {
                RECOMMENDED => self.request.min_free = Some(key.to_string()),
                text => self.number(&key, sysctl::min_free_path(), bytes(&key, text)? >> 10),
            }
        }
        let switch = file.memory.hvo.as_ref();
        self.option(("memory", "hvo"), switch, source, |args, on| {
            args.pools.hvo = Some(word(*on));
            format!("--hvo {}", word(*on))
        })
    }

    /// Looks up a group by its name. A number needs no entry in the database, since `--save`
    /// writes the kernel's number.
    fn group(
        &mut self,
        section: &str,
        group: &Spanned<Amount>,
        source: &Source,
        set: impl FnOnce(&mut Args, String) -> &'static str,
    ) -> Result<Option<GroupOption>, String> {
        let key = source.key("group", &group.span());
        self.once(&format!("group of [{section}]"), &key)?;
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
        self.request.settings.push(Setting {
            option: key.to_string(),
            path,
            value: SettingValue::Number(number),
            impossible: None,
        });
    }
}

fn word(on: bool) -> String {
    if on { "on" } else { "off" }.to_owned()
}

fn bytes(key: &Key, text: &str) -> Result<u64, String> {
    let wrong = |why: &dyn Display| {
        format!("{key}: {why}; write bytes, a size such as \"64MB\", or \"{RECOMMENDED}\"")
    };
    let quantity: Quantity = text.parse().map_err(|why| wrong(&why))?;
    let bytes = quantity.bytes().map_err(|why| wrong(&why))?;
    Ok(bytes.get())
}

//! Settings in kernel files: ZONE_MOVABLE, transparent huge pages, HVO. Their order is that of
//! libhugetlbfs' hugeadm.

use hugetools_model::memory::sysctl;
use hugetools_model::units::size::SizeError;
use hugetools_model::{KPath, Machine, PageSize, thp};

use super::{Request, Setting, shown};
use crate::args::{Args, Thp};
use crate::step::{SelectWord, Step, Value};

const MODES: [&str; 4] = ["always", "inherit", "madvise", "never"];

/// Numeric THP settings: the option without `--thp-`, and the kernel's file. Keys of
/// `hugetools.toml` have `_` for `-`.
pub(crate) const THP_NUMBERS: [(&str, &str); 5] = [
    ("khugepaged-pages", "khugepaged/pages_to_scan"),
    ("khugepaged-alloc-sleep", "khugepaged/alloc_sleep_millisecs"),
    ("khugepaged-scan-sleep", "khugepaged/scan_sleep_millisecs"),
    ("max-ptes-none", "khugepaged/max_ptes_none"),
    ("use-zero-page", "use_zero_page"),
];

/// Why the machine lacks a setting, and advice.
pub(crate) type Unsupported = (&'static str, &'static str);

const NO_HVO: Unsupported = (
    "this kernel has no HVO (Linux 5.19)",
    "use a newer kernel, built with CONFIG_HUGETLB_PAGE_OPTIMIZE_VMEMMAP",
);

const NOT_MOVABLE: Unsupported = (
    "Linux 4.16 removed this setting",
    "movable huge pages always use ZONE_MOVABLE: set its size at boot with movablecore=AMOUNT",
);

const NO_THP: Unsupported = (
    "this machine has no transparent huge pages",
    "they require processor support and CONFIG_TRANSPARENT_HUGEPAGE",
);

const NO_SETTING: Unsupported = (
    "this kernel has no such setting",
    "a newer kernel may have it",
);

pub(super) fn check(
    args: &Args,
    machine: &Machine,
    request: &mut Request,
    errors: &mut Vec<String>,
) {
    let settings = &mut request.settings;
    let zone_movable = [
        (args.limits.enable_zone_movable, "--enable-zone-movable"),
        (args.limits.disable_zone_movable, "--disable-zone-movable"),
    ];
    for (_, option) in zone_movable.into_iter().filter(|(is_given, _)| *is_given) {
        let (why, hint) = NOT_MOVABLE;
        settings.push(Setting {
            option: option.to_owned(),
            step: Step::impossible("/proc/sys/vm/hugepages_treat_as_movable", why, hint),
        });
    }
    settings.extend(modes(&args.thp, machine));
    settings.extend(numbers(&args.thp, machine));
    for text in &args.thp.thp_size {
        let option = format!("--thp-size {}", shown(text));
        match thp_size(machine, option.clone(), text) {
            Ok(setting) => settings.push(setting),
            Err(error) => errors.push(format!("{option}: {error}")),
        }
    }
    if let Some(switch) = &args.pools.hvo {
        settings.push(hvo(machine, format!("--hvo {switch}"), switch == "on"));
    }
}

fn modes(args: &Thp, machine: &Machine) -> Vec<Setting> {
    let given = |is_given: bool, mode| is_given.then(|| (format!("--thp-{mode}"), "enabled", mode));
    let defrag = args.thp_defrag.as_deref();
    let shmem = args.thp_shmem.as_deref();
    let all = [
        given(args.thp_always, "always"),
        given(args.thp_madvise, "madvise"),
        given(args.thp_never, "never"),
        defrag.map(|mode| (format!("--thp-defrag {mode}"), "defrag", mode)),
        shmem.map(|mode| (format!("--thp-shmem {mode}"), "shmem_enabled", mode)),
    ];
    let setting = |(option, file, mode)| word(machine, option, thp::dir().join(file), mode);
    all.into_iter().flatten().map(setting).collect()
}

fn numbers(args: &Thp, machine: &Machine) -> Vec<Setting> {
    let switch = args.thp_use_zero_page.as_deref();
    let plain = |given: Option<u32>| given.map(|number| (number.to_string(), u64::from(number)));
    let given = [
        plain(args.thp_khugepaged_pages),
        plain(args.thp_khugepaged_alloc_sleep),
        plain(args.thp_khugepaged_scan_sleep),
        plain(args.thp_max_ptes_none),
        switch.map(|switch| (switch.to_owned(), u64::from(switch == "on"))),
    ];
    let numbers = THP_NUMBERS.into_iter().zip(given);
    let setting = |((name, file), given): (_, Option<(String, u64)>)| {
        let (written, number) = given?;
        let option = format!("--thp-{name} {written}");
        Some(thp_number(machine, option, file, number))
    };
    numbers.filter_map(setting).collect()
}

/// Plans to write a numeric THP setting. `file` is one of [`thp::NUMBERS`].
pub(crate) fn thp_number(machine: &Machine, option: String, file: &str, value: u64) -> Setting {
    let exists = machine.thp_settings.numbers.contains_key(file);
    let unsupported = (!exists).then(|| why_unsupported(machine));
    number(option, thp::dir().join(file), value, unsupported)
}

pub(crate) fn hvo(machine: &Machine, option: String, on: bool) -> Setting {
    let is_missing = machine.sysctl.hugetlb_optimize_vmemmap.is_none();
    let path = sysctl::optimize_vmemmap_path();
    number(option, path, u64::from(on), is_missing.then_some(NO_HVO))
}

/// Plans to write a number, unless this machine lacks the setting.
pub(crate) fn number(
    option: String,
    path: KPath,
    number: u64,
    unsupported: Option<Unsupported>,
) -> Setting {
    let step = match unsupported {
        None => Step::write(path, Value::Plain(number)),
        Some((why, hint)) => Step::impossible(path.to_string(), why, hint),
    };
    Setting { option, step }
}

/// Plans to select a word in a file of THP settings, unless this machine lacks it.
pub(crate) fn word(machine: &Machine, option: String, path: KPath, word: &str) -> Setting {
    let step = match machine.thp_settings.words.get(&path) {
        None => {
            let (why, hint) = why_unsupported(machine);
            Step::impossible(path.to_string(), why, hint)
        }
        Some(words) if !words.is_empty() && !words.iter().any(|offered| offered == word) => {
            Step::impossible(
                path.to_string(),
                format!("this kernel doesn't offer {word}"),
                format!("it offers {}", words.join(", ")),
            )
        }
        Some(_) => Step::SelectWord(SelectWord {
            path,
            word: word.to_owned(),
        }),
    };
    Setting { option, step }
}

/// Plans the mode of one THP size, from a text such as `64kB:always`.
pub(crate) fn thp_size(machine: &Machine, option: String, text: &str) -> Result<Setting, String> {
    let (size, mode) = parse_size_mode(text, machine)?;
    let path = thp::size_dir(size).join("enabled");
    Ok(word(machine, option, path, mode))
}

fn why_unsupported(machine: &Machine) -> Unsupported {
    match machine.thp {
        None => NO_THP,
        Some(_) => NO_SETTING,
    }
}

fn parse_size_mode<'a>(text: &'a str, machine: &Machine) -> Result<(PageSize, &'a str), String> {
    let (size, mode) = text
        .split_once(':')
        .ok_or("no mode: write SIZE:MODE, as in 64kB:always")?;
    let size: PageSize = size
        .parse()
        .map_err(|why: SizeError| format!("page size {size:?}: {why}"))?;
    if !MODES.contains(&mode) {
        return Err(format!("mode {mode:?}: not one of {}", MODES.join(", ")));
    }
    // A size that serves only shared memory has no `enabled` file.
    let sizes = machine.thp.iter().flat_map(|thp| &thp.sizes);
    let sizes = sizes.filter(|size| size.enabled.is_some());
    let sizes: Vec<PageSize> = sizes.map(|size| size.size).collect();
    if sizes.is_empty() {
        return Err("this kernel has no multi-size THP (Linux 6.8)".to_owned());
    }
    match sizes.contains(&size) {
        true => Ok((size, mode)),
        false => {
            let sizes: Vec<String> = sizes.iter().map(PageSize::to_string).collect();
            Err(format!(
                "this machine has no transparent huge pages of {size}, only of {}",
                sizes.join(", ")
            ))
        }
    }
}

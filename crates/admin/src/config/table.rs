//! The keys of a configuration file.

use std::collections::BTreeMap;
use std::num::NonZeroU32;

use serde::Deserialize;
use toml::Spanned;

#[derive(Debug, Clone, Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub(super) struct File {
    pub(super) when: Option<When>,
    pub(super) pool: Vec<Pool>,
    pub(super) mount: Vec<Mount>,
    pub(super) thp: Thp,
    pub(super) shm: Shm,
    pub(super) userfaultfd: Userfaultfd,
    pub(super) memory: Memory,
}

/// A table whose keys and values have positions.
pub(super) type Map<T> = BTreeMap<Spanned<String>, Spanned<T>>;

/// Conditions of a file, a pool or a mount.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct When {
    pub(super) host: Option<String>,
    pub(super) memory: Option<Spanned<String>>,
    pub(super) nodes: Option<Spanned<Amount>>,
}

#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Pool {
    pub(super) size: Spanned<String>,
    pub(super) min: Option<Spanned<Amount>>,
    pub(super) nodes: Option<Spanned<Map<Amount>>>,
    pub(super) spread: Option<Spanned<Amount>>,
    pub(super) weights: Option<Spanned<BTreeMap<String, NonZeroU32>>>,
    pub(super) max: Option<Spanned<Amount>>,
    #[serde(default = "yes")]
    pub(super) essential: bool,
    pub(super) r#try: Option<Try>,
    pub(super) r#for: Option<Spanned<String>>,
    pub(super) when: Option<When>,
}

fn yes() -> bool {
    true
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub(super) enum Try {
    Hard,
}

#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Mount {
    pub(super) r#for: Spanned<String>,
    pub(super) size: Option<Spanned<String>>,
    pub(super) max_size: Option<Spanned<Amount>>,
    pub(super) max_inodes: Option<u64>,
    pub(super) mode: Option<Spanned<String>>,
    pub(super) when: Option<When>,
}

#[derive(Debug, Clone, Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub(super) struct Thp {
    pub(super) enabled: Option<Spanned<String>>,
    pub(super) defrag: Option<Spanned<String>>,
    pub(super) shmem: Option<Spanned<String>>,
    pub(super) use_zero_page: Option<Spanned<bool>>,
    pub(super) max_ptes_none: Option<Spanned<u32>>,
    pub(super) khugepaged_pages: Option<Spanned<NonZeroU32>>,
    pub(super) khugepaged_alloc_sleep: Option<Spanned<u32>>,
    pub(super) khugepaged_scan_sleep: Option<Spanned<u32>>,
    pub(super) sizes: Map<String>,
}

#[derive(Debug, Clone, Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub(super) struct Shm {
    pub(super) group: Option<Spanned<Amount>>,
    pub(super) max: Option<Spanned<Amount>>,
}

#[derive(Debug, Clone, Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub(super) struct Userfaultfd {
    pub(super) group: Option<Spanned<Amount>>,
}

#[derive(Debug, Clone, Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub(super) struct Memory {
    pub(super) min_free: Option<Spanned<Amount>>,
    pub(super) hvo: Option<Spanned<bool>>,
}

/// A number or a text, as text.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(from = "NumberOrText")]
pub(super) struct Amount(pub(super) String);

#[derive(Deserialize)]
#[serde(
    untagged,
    expecting = "write a number from 0, or a text such as \"2048MB\" or \"50%\""
)]
enum NumberOrText {
    Number(u64),
    Text(String),
}

impl From<NumberOrText> for Amount {
    fn from(amount: NumberOrText) -> Amount {
        match amount {
            NumberOrText::Number(number) => Amount(number.to_string()),
            NumberOrText::Text(text) => Amount(text),
        }
    }
}

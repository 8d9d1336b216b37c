//! The keys of a configuration file.

use std::collections::BTreeMap;
use std::fmt;
use std::num::NonZeroU32;

use serde::de::{self, Visitor};
use serde::{Deserialize, Deserializer};
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
    pub(super) enabled: Option<Spanned<Enabled>>,
    pub(super) defrag: Option<Spanned<Defrag>>,
    pub(super) shmem: Option<Spanned<Shmem>>,
    pub(super) use_zero_page: Option<Spanned<bool>>,
    pub(super) max_ptes_none: Option<Spanned<u32>>,
    pub(super) khugepaged_pages: Option<Spanned<NonZeroU32>>,
    pub(super) khugepaged_alloc_sleep: Option<Spanned<u32>>,
    pub(super) khugepaged_scan_sleep: Option<Spanned<u32>>,
    pub(super) sizes: Map<SizeMode>,
}

macro_rules! words {
    ($name:ident: $($variant:ident = $word:literal),*) => {
        #[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
        pub(super) enum $name {
            $(#[serde(rename = $word)] $variant),*
        }

        impl $name {
            pub(super) fn word(self) -> &'static str {
                match self {
                    $($name::$variant => $word),*
                }
            }
        }
    };
}

words!(Enabled: Always = "always", Madvise = "madvise", Never = "never");
words!(Defrag: Always = "always", Defer = "defer", DeferMadvise = "defer+madvise",
    Madvise = "madvise", Never = "never");
words!(Shmem: Always = "always", WithinSize = "within_size", Advise = "advise",
    Never = "never", Deny = "deny", Force = "force");
words!(SizeMode: Always = "always", Inherit = "inherit", Madvise = "madvise", Never = "never");

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
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Amount(pub(super) String);

impl<'de> Deserialize<'de> for Amount {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Amount, D::Error> {
        deserializer.deserialize_any(AmountVisitor)
    }
}

struct AmountVisitor;

impl Visitor<'_> for AmountVisitor {
    type Value = Amount;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a number, or a text such as \"2048MB\" or \"50%\"")
    }

    fn visit_i64<E: de::Error>(self, number: i64) -> Result<Amount, E> {
        match u64::try_from(number) {
            Ok(number) => self.visit_u64(number),
            Err(_) => Err(E::custom("it must not be negative")),
        }
    }

    fn visit_u64<E>(self, number: u64) -> Result<Amount, E> {
        Ok(Amount(number.to_string()))
    }

    fn visit_str<E>(self, text: &str) -> Result<Amount, E> {
        Ok(Amount(text.to_owned()))
    }
}

//! What is known of a program: one entry of a table, as it is written, and what must hold
//! of it. The build script reads the tables that come with hugectl by this, too.

use std::borrow::Cow;

use serde::Deserialize;

/// A text, of the program's own or one that was read.
pub(crate) type Text = Cow<'static, str>;

/// Texts.
pub(crate) type List = Cow<'static, [Text]>;

/// A table: the contents of one file.
#[derive(Debug, Clone, PartialEq, Eq, Default, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Table {
    /// Its entries, `[[program]]` each.
    #[serde(default)]
    pub(crate) program: Vec<Entry>,
}

/// How a program is known, what `--heap` does not reach of it, and what `--auto` asks
/// for. It fits a program of which one of `exe`, `needed`, `symbols` and `inside` holds.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Entry {
    /// By which name it is spoken of.
    pub(crate) name: Text,
    /// Names of its file, a version behind them or not.
    #[serde(default)]
    pub(crate) exe: List,
    /// Libraries that it needs: how their names begin.
    #[serde(default)]
    pub(crate) needed: List,
    /// Symbols that it shows to others.
    #[serde(default)]
    pub(crate) symbols: List,
    /// What is found in its file.
    pub(crate) inside: Option<Inside>,
    /// What of its memory is not malloc's.
    pub(crate) memory: Option<Text>,
    /// How much of that `--anon` reaches, where it is known.
    pub(crate) anon: Option<Reach>,
    /// What the program takes from the default pool at its start, all of it or none.
    pub(crate) takes: Option<Takes>,
    /// Whether it turns transparent huge pages off for itself.
    #[serde(default)]
    pub(crate) bans: bool,
    /// What of its own reaches that, or does better than hugectl.
    pub(crate) own: Option<Text>,
    /// When that was done.
    #[serde(default)]
    pub(crate) done: Done,
    /// The options that `--auto` takes.
    #[serde(default)]
    pub(crate) auto: List,
    /// Why these.
    pub(crate) why: Option<Text>,
    /// What to look out for.
    pub(crate) beware: Option<Text>,
}

/// What a file can be looked through for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub(crate) enum Inside {
    /// What Go writes at the start of the data.
    Go,
    /// The run-time system of Haskell.
    Haskell,
    /// A jemalloc whose names are its own.
    Jemalloc,
    /// A jemalloc as Rust programs have it, whose names begin with `_rjem_`.
    PrefixedJemalloc,
}

/// How much of a program's own memory an option reaches.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(untagged)]
pub(crate) enum Reach {
    /// All of it, or nothing.
    All(bool),
    /// Some of it.
    Some(Part),
}

/// The word for some of it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub(crate) enum Part {
    /// `part`
    Part,
}

/// Pool pages that a program takes by itself, as many as its command line says.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Takes {
    /// The options that make it take them.
    pub(crate) with: List,
    /// The options with the size, which follows at once.
    pub(crate) size: List,
}

/// How it shows that what reaches the memory was done.
#[derive(Debug, Clone, PartialEq, Eq, Default, Deserialize)]
#[serde(untagged)]
pub(crate) enum Done {
    /// A word.
    Word(Word),
    /// A variable has this in its value.
    Variable {
        /// Its name.
        variable: Text,
        /// The part.
        has: Text,
    },
    /// One of the arguments, or of those in some variables, begins so.
    Argument {
        /// How they begin.
        arguments: List,
        /// The variables.
        #[serde(default)]
        variables: List,
    },
    /// Nothing does.
    #[default]
    Never,
}

/// What needs no more than a word.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub(crate) enum Word {
    /// Transparent huge pages are set to `always`.
    ThpAlways,
}

/// The options that an entry may have: what goes on huge pages, and nothing that names a
/// file or starts another program.
const OPTIONS: [&str; 12] = [
    "--anon",
    "--stack",
    "--stack-depth",
    "--text",
    "--text-libs",
    "--data",
    "--bss",
    "--heap",
    "--shm",
    "--thp",
    "--thp-policy",
    "--fallback",
];

impl Table {
    /// Whether all of it can be used.
    ///
    /// # Errors
    /// The entry, and what is wrong with it.
    pub(crate) fn check(&self) -> Result<(), String> {
        let wrong = |entry: &Entry| Some(format!("{}: {}", entry.name, entry.fault()?));
        self.program.iter().find_map(wrong).map_or(Ok(()), Err)
    }
}

impl Entry {
    /// Whether it fits each program that no other entry fits.
    pub(crate) fn is_for_others(&self) -> bool {
        let lists = [&self.exe, &self.needed, &self.symbols];
        self.inside.is_none() && lists.iter().all(|list| list.is_empty())
    }

    fn fault(&self) -> Option<String> {
        if self.name.is_empty() {
            return Some("an entry needs a name".to_owned());
        }
        if self.memory.is_some() && (self.own.is_none() || self.is_for_others()) {
            return Some("memory needs own, and a program that it is of".to_owned());
        }
        if !self.auto.is_empty() && self.why.is_none() {
            return Some("auto needs why".to_owned());
        }
        let name = |option: &str| option.split('=').next().unwrap_or_default().to_owned();
        let mut unknown = self.auto.iter();
        let unknown = unknown.find(|option| !OPTIONS.contains(&name(option).as_str()))?;
        Some(format!("auto: {unknown} is none of {}", OPTIONS.join(", ")))
    }
}

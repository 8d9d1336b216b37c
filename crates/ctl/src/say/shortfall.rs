//! A shortfall: a fact, the file that says so, the consequence, and the remedy. The
//! warning before a start and `--explain` print it.

use std::fmt;

use serde::{Serialize, Serializer};

use crate::say::subject::Subject;

#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub(crate) struct Shortfall {
    /// The segments that get less.
    #[serde(skip)]
    pub(crate) subject: Subject,
    pub(crate) fact: String,
    pub(crate) then: Option<String>,
    /// The file that says so, or the limit's name if no file has it.
    pub(crate) file: Option<String>,
    pub(crate) value: Option<String>,
    #[serde(rename = "command", serialize_with = "command")]
    pub(crate) remedy: Option<Remedy>,
    /// Whether the sentence begins with the consequence.
    #[serde(skip)]
    consequence_is_first: bool,
    /// A second fact that has the same consequence.
    #[serde(skip)]
    also: Option<Box<Shortfall>>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Remedy {
    /// A command and its purpose: `to fill it`.
    Command {
        purpose: &'static str,
        command: String,
    },
    Advice(String),
    /// Advice that takes time, such as to rebuild the program. Only `--explain` shows it.
    SomeDay(String),
}

fn command<S: Serializer>(remedy: &Option<Remedy>, to: S) -> Result<S::Ok, S::Error> {
    remedy.as_ref().map(Remedy::command).serialize(to)
}

impl Remedy {
    fn command(&self) -> &str {
        match self {
            Remedy::Command { command, .. } => command,
            Remedy::Advice(advice) | Remedy::SomeDay(advice) => advice,
        }
    }
}

impl fmt::Display for Remedy {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Remedy::Command { purpose, command } => write!(f, "{purpose}: {command}"),
            Remedy::Advice(advice) | Remedy::SomeDay(advice) => f.write_str(advice),
        }
    }
}

impl Shortfall {
    pub(crate) fn new(subject: Subject, fact: impl Into<String>) -> Shortfall {
        Shortfall {
            subject,
            fact: fact.into(),
            then: None,
            file: None,
            value: None,
            remedy: None,
            consequence_is_first: false,
            also: None,
        }
    }

    pub(crate) fn consequence(self, then: impl Into<String>) -> Shortfall {
        Shortfall {
            then: Some(then.into()),
            ..self
        }
    }

    /// Adds the consequence, and begins the sentence with it.
    pub(crate) fn consequence_first(self, consequence: impl Into<String>) -> Shortfall {
        Shortfall {
            consequence_is_first: true,
            ..self.consequence(consequence)
        }
    }

    pub(crate) fn source(self, file: impl fmt::Display, value: impl fmt::Display) -> Shortfall {
        Shortfall {
            file: Some(file.to_string()),
            value: Some(value.to_string()),
            ..self
        }
    }

    /// Adds the command that mends the shortfall.
    pub(crate) fn mend(self, purpose: &'static str, command: impl Into<String>) -> Shortfall {
        let command = command.into();
        self.remedy(Remedy::Command { purpose, command })
    }

    pub(crate) fn mend_some_day(self, advice: impl Into<String>) -> Shortfall {
        self.remedy(Remedy::SomeDay(advice.into()))
    }

    pub(crate) fn advise(self, advice: impl Into<String>) -> Shortfall {
        self.remedy(Remedy::Advice(advice.into()))
    }

    pub(crate) fn remedy(self, remedy: Remedy) -> Shortfall {
        Shortfall {
            remedy: Some(remedy),
            ..self
        }
    }

    /// Adds a second fact with the same consequence.
    pub(crate) fn and(self, also: Shortfall) -> Shortfall {
        Shortfall {
            also: Some(Box::new(also)),
            ..self
        }
    }

    /// Returns the facts of the sentence, each with its source and remedy.
    pub(crate) fn each(&self) -> impl Iterator<Item = &Shortfall> {
        std::iter::successors(Some(self), |short| short.also.as_deref())
    }

    pub(crate) fn command(&self) -> Option<&str> {
        self.remedy.as_ref().map(Remedy::command)
    }
}

impl fmt::Display for Shortfall {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let facts: Vec<&str> = self.each().map(|short| short.fact.as_str()).collect();
        let facts = facts.join(", and ");
        match (&self.then, self.consequence_is_first) {
            (None, _) => f.write_str(&facts)?,
            (Some(then), false) => write!(f, "{facts}: {then}")?,
            (Some(then), true) => write!(f, "{then}: {facts}")?,
        }
        let mut remedies: Vec<&Remedy> = self.each().filter_map(|s| s.remedy.as_ref()).collect();
        // Two pools may share one piece of advice.
        remedies.dedup();
        remedies.retain(|remedy| !matches!(remedy, Remedy::SomeDay(_)));
        remedies
            .into_iter()
            .try_for_each(|remedy| write!(f, "; {remedy}"))
    }
}

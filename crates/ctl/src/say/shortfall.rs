//! What falls short of a request: the fact behind it, where the kernel or a file
//! says so, what follows, and what mends it. The line before the start and
//! `--explain` both come from this one value. The reasons themselves are found in
//! [`crate::probe::preflight`], and where the plan is made.

use std::fmt;

use serde::Serialize;

use crate::say::subject::Subject;

/// One thing that falls short.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Shortfall {
    /// Whose pages are concerned.
    pub(crate) subject: Subject,
    /// What is so.
    pub(crate) fact: String,
    /// The file that says it, and what it says.
    pub(crate) cause: Option<Cause>,
    /// What follows from it.
    pub(crate) then: Option<String>,
    /// Whether what follows stands before the fact in a sentence.
    then_first: bool,
    /// What mends it; nothing does, where there is none.
    pub(crate) remedy: Option<Remedy>,
    /// What keeps the same memory from the next rung, and is said in the same sentence.
    also: Option<Box<Shortfall>>,
}

/// Where a fact stands.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub(crate) struct Cause {
    /// The file, or the limit's name where no file has it.
    pub(crate) file: String,
    /// What it says.
    pub(crate) value: String,
}

/// What mends it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Remedy {
    /// A command, and what it is for: `to fill it`. Behind the command there may
    /// be what is to be known of its figures.
    Command {
        purpose: &'static str,
        command: String,
        tail: &'static str,
    },
    /// Something else, in words.
    Advice(String),
    /// Something that takes more than a moment, such as a program built anew.
    SomeDay(String),
}

impl Shortfall {
    /// A fact, from which something follows for some memory.
    pub(crate) fn new(subject: Subject, fact: impl Into<String>) -> Shortfall {
        Shortfall {
            subject,
            fact: fact.into(),
            cause: None,
            then: None,
            then_first: false,
            remedy: None,
            also: None,
        }
    }

    /// What follows from it.
    pub(crate) fn then(self, then: impl Into<String>) -> Shortfall {
        Shortfall {
            then: Some(then.into()),
            ..self
        }
    }

    /// What follows from it, said before the fact.
    pub(crate) fn outcome(self, then: impl Into<String>) -> Shortfall {
        Shortfall {
            then_first: true,
            ..self.then(then)
        }
    }

    /// Where the fact stands.
    pub(crate) fn says(self, file: impl fmt::Display, value: impl fmt::Display) -> Shortfall {
        let (file, value) = (file.to_string(), value.to_string());
        Shortfall {
            cause: Some(Cause { file, value }),
            ..self
        }
    }

    /// The command that mends it.
    pub(crate) fn mend(self, purpose: &'static str, command: impl Into<String>) -> Shortfall {
        self.mend_at_least(purpose, command, "")
    }

    /// The same, with what is to be known of the command's figures.
    pub(crate) fn mend_at_least(
        self,
        purpose: &'static str,
        command: impl Into<String>,
        tail: &'static str,
    ) -> Shortfall {
        let command = command.into();
        Shortfall {
            remedy: Some(Remedy::Command {
                purpose,
                command,
                tail,
            }),
            ..self
        }
    }

    /// What mends it, which is not said in the sentence: it takes more than a
    /// moment.
    pub(crate) fn mend_some_day(self, advice: impl Into<String>) -> Shortfall {
        Shortfall {
            remedy: Some(Remedy::SomeDay(advice.into())),
            ..self
        }
    }

    /// What mends it, where no single command does.
    pub(crate) fn advise(self, advice: impl Into<String>) -> Shortfall {
        Shortfall {
            remedy: Some(Remedy::Advice(advice.into())),
            ..self
        }
    }

    /// Says in the same sentence what keeps this memory from the next rung, too: what
    /// follows was said already.
    pub(crate) fn and(&mut self, also: Shortfall) {
        self.also = Some(Box::new(also));
    }

    /// Each fact of the sentence.
    pub(crate) fn each(&self) -> impl Iterator<Item = &Shortfall> {
        std::iter::successors(Some(self), |short| short.also.as_deref())
    }

    /// What mends it, as it is to be typed or done.
    pub(crate) fn command(&self) -> Option<&str> {
        match self.remedy.as_ref()? {
            Remedy::Command { command, .. } => Some(command),
            Remedy::Advice(advice) | Remedy::SomeDay(advice) => Some(advice),
        }
    }
}

impl fmt::Display for Shortfall {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let facts: Vec<&str> = self.each().map(|short| short.fact.as_str()).collect();
        let facts = facts.join(", and ");
        match (&self.then, self.then_first) {
            (None, _) => f.write_str(&facts)?,
            (Some(then), false) => write!(f, "{facts}: {then}")?,
            (Some(then), true) => write!(f, "{then}: {facts}")?,
        }
        let mut remedies = self.each().filter_map(|short| short.remedy.as_ref());
        remedies.try_for_each(|remedy| remedy.fmt(f))
    }
}

impl fmt::Display for Remedy {
    /// As it stands behind a fact.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Remedy::SomeDay(_) => Ok(()),
            Remedy::Command {
                purpose,
                command,
                tail,
            } => write!(f, "; {purpose}: {command}{tail}"),
            Remedy::Advice(advice) => write!(f, "; {advice}"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_sentence_of_its_parts() {
        let short = Shortfall::new(Subject::HEAP, "the pool is empty");
        assert_eq!(short.to_string(), "the pool is empty");
        let full = short.then("the heap goes to base pages");
        let full = full.mend_at_least("to fill it", "hugeadm X", " or more");
        assert_eq!(
            full.to_string(),
            "the pool is empty: the heap goes to base pages; to fill it: hugeadm X or more"
        );
        assert_eq!(full.command(), Some("hugeadm X"));
        let other = Shortfall::new(Subject::TEXT, "it is static").outcome("text stays");
        let other = other.advise("link it otherwise");
        assert_eq!(
            other.to_string(),
            "text stays: it is static; link it otherwise"
        );
    }

    #[test]
    fn two_facts_in_one_sentence() {
        let pool = Shortfall::new(Subject::HEAP, "the pool is empty");
        let mut pool = pool.then("it goes to base pages").mend("to fill it", "X");
        let thp = Shortfall::new(Subject::HEAP, "there are no others");
        pool.and(thp.then("it stays on base pages").mend("to have them", "Y"));
        assert_eq!(
            pool.to_string(),
            "the pool is empty, and there are no others: it goes to base pages; to fill it: X; \
             to have them: Y"
        );
        assert_eq!(pool.each().filter_map(Shortfall::command).count(), 2);
    }
}

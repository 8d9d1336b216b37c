//! Whose pages a message speaks of.

use std::ops::BitOr;

use hugetools_contract::env::{Require, Share};
use hugetools_contract::segment::Segment;

/// Kinds of memory, one or more.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) struct Subject {
    pub(crate) heap: bool,
    pub(crate) shm: bool,
    /// Private mappings of the program's own.
    pub(crate) anon: bool,
    /// Stacks.
    pub(crate) stack: bool,
    pub(crate) text: bool,
    pub(crate) data: bool,
    /// Whether the heap is not all that people call so: the program has more, past malloc.
    pub(crate) past_malloc: bool,
}

impl Subject {
    pub(crate) const NONE: Subject = Subject {
        heap: false,
        shm: false,
        anon: false,
        stack: false,
        text: false,
        data: false,
        past_malloc: false,
    };
    pub(crate) const HEAP: Subject = Subject {
        heap: true,
        ..Subject::NONE
    };
    pub(crate) const SHM: Subject = Subject {
        shm: true,
        ..Subject::NONE
    };
    pub(crate) const ANON: Subject = Subject {
        anon: true,
        ..Subject::NONE
    };
    pub(crate) const STACK: Subject = Subject {
        stack: true,
        ..Subject::NONE
    };
    pub(crate) const TEXT: Subject = Subject {
        text: true,
        ..Subject::NONE
    };
    pub(crate) const DATA: Subject = Subject {
        data: true,
        ..Subject::NONE
    };

    pub(crate) const SEGMENTS: Subject = Subject {
        text: true,
        data: true,
        ..Subject::NONE
    };
    pub(crate) const ALL: Subject = Subject {
        heap: true,
        shm: true,
        anon: true,
        stack: true,
        text: true,
        data: true,
        past_malloc: false,
    };

    /// What is required whole: a request for it fails rather than fall.
    pub(crate) fn strict(require: Require) -> Subject {
        let is_whole = |segment| require.share(segment) == Some(Share::Whole);
        Subject {
            heap: is_whole(Segment::Heap),
            shm: is_whole(Segment::Shm),
            anon: is_whole(Segment::Anon),
            stack: is_whole(Segment::Stack),
            ..Subject::NONE
        }
    }

    /// Whether both have something in common.
    pub(crate) fn meets(self, other: Subject) -> bool {
        self.heap && other.heap
            || self.shm && other.shm
            || self.anon && other.anon
            || self.stack && other.stack
            || self.text && other.text
            || self.data && other.data
    }

    /// Without shared memory.
    pub(crate) fn private(self) -> Subject {
        Subject { shm: false, ..self }
    }

    /// What is taken once the program runs.
    pub(crate) fn taken_later(self) -> Subject {
        Subject {
            text: false,
            data: false,
            ..self
        }
    }

    pub(crate) fn is_none(self) -> bool {
        self == Subject::NONE
    }

    /// Whether text, data and bss are all there is.
    pub(crate) fn is_segments(self) -> bool {
        !self.heap && !self.shm && !self.anon && !self.stack
    }

    /// `the heap`, `text, data and bss`.
    pub(crate) fn names(self) -> String {
        let heap = match self.past_malloc {
            true => "what it takes from malloc",
            false => "heap",
        };
        let all = [
            (self.heap, heap),
            (self.shm, "shared memory"),
            (self.anon, "private mappings"),
            (self.stack, "stacks"),
            (self.text, "text"),
            (self.data, "data"),
            (self.data, "bss"),
        ];
        let names = all.iter().filter(|(is_meant, _)| *is_meant);
        let names: Vec<&str> = names.map(|(_, name)| *name).collect();
        match names.as_slice() {
            ["heap"] => "the heap".to_owned(),
            [one] => (*one).to_owned(),
            [all @ .., last] => format!("{} and {last}", all.join(", ")),
            [] => String::new(),
        }
    }

    /// The verb that follows: `the heap goes`, `data and bss go`.
    pub(crate) fn verb(self, one: &'static str, many: &'static str) -> &'static str {
        // Mappings are many, and so are stacks.
        let many_each = [self.anon, self.anon, self.stack, self.stack];
        let kinds = [self.heap, self.shm, self.text, self.data, self.data];
        let kinds = kinds.iter().chain(&many_each);
        match kinds.filter(|is_meant| **is_meant).count() {
            1 => one,
            _ => many,
        }
    }
}

impl BitOr for Subject {
    type Output = Subject;

    fn bitor(self, other: Subject) -> Subject {
        Subject {
            heap: self.heap || other.heap,
            shm: self.shm || other.shm,
            anon: self.anon || other.anon,
            stack: self.stack || other.stack,
            text: self.text || other.text,
            data: self.data || other.data,
            past_malloc: self.past_malloc || other.past_malloc,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_and_their_verbs() {
        let said = |subject: Subject| format!("{} {}", subject.names(), subject.verb("is", "are"));
        assert_eq!(said(Subject::HEAP), "the heap is");
        assert_eq!(said(Subject::SHM), "shared memory is");
        assert_eq!(
            said(Subject::HEAP | Subject::SHM),
            "heap and shared memory are"
        );
        assert_eq!(said(Subject::ANON), "private mappings are");
        assert_eq!(said(Subject::STACK), "stacks are");
        assert_eq!(said(Subject::TEXT), "text is");
        assert_eq!(said(Subject::DATA), "data and bss are");
        let segments = Subject::TEXT | Subject::DATA;
        assert_eq!(said(segments), "text, data and bss are");
        assert_eq!(
            said(segments | Subject::HEAP),
            "heap, text, data and bss are"
        );
    }
}

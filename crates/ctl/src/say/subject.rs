//! The segments that a message is about.

use std::ops::BitOr;

use hugetools_contract::segment::Segment;

/// A set of segments. Data and bss count as one: they share a LOAD header.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) struct Subject(u8);

impl Subject {
    pub(crate) const NONE: Subject = Subject(0);
    pub(crate) const HEAP: Subject = Subject(1);
    pub(crate) const SHM: Subject = Subject(1 << 1);
    /// The program's own private mappings.
    pub(crate) const ANON: Subject = Subject(1 << 2);
    pub(crate) const STACK: Subject = Subject(1 << 3);
    pub(crate) const TEXT: Subject = Subject(1 << 4);
    /// Data and bss.
    pub(crate) const DATA: Subject = Subject(1 << 5);
    /// Text, data and bss.
    pub(crate) const OF_FILE: Subject = Subject(Subject::TEXT.0 | Subject::DATA.0);
    pub(crate) const ALL: Subject = Subject((1 << 6) - 1);

    pub(crate) fn of(segment: Segment) -> Subject {
        match segment {
            Segment::Heap => Subject::HEAP,
            Segment::Shm => Subject::SHM,
            Segment::Anon => Subject::ANON,
            Segment::Stack => Subject::STACK,
            Segment::Text => Subject::TEXT,
            Segment::Data | Segment::Bss => Subject::DATA,
            Segment::File => Subject::NONE,
        }
    }

    /// Returns the set itself if `is_meant`, else the empty set.
    pub(crate) fn when(self, is_meant: bool) -> Subject {
        if is_meant { self } else { Subject::NONE }
    }

    /// Whether the sets have a segment in common.
    pub(crate) fn meets(self, other: Subject) -> bool {
        self.0 & other.0 != 0
    }

    /// Whether it has all segments of `other`.
    pub(crate) fn contains(self, other: Subject) -> bool {
        self.0 & other.0 == other.0
    }

    pub(crate) fn is_none(self) -> bool {
        self == Subject::NONE
    }

    /// Whether it has only text, data and bss, whose size is known.
    pub(crate) fn is_of_file(self) -> bool {
        Subject::OF_FILE.contains(self)
    }

    /// Returns `the heap`, or `text, data and bss`.
    pub(crate) fn names(self) -> String {
        const NAMES: [(Subject, &str); 7] = [
            (Subject::HEAP, "heap"),
            (Subject::SHM, "shared memory"),
            (Subject::ANON, "private mappings"),
            (Subject::STACK, "stacks"),
            (Subject::TEXT, "text"),
            (Subject::DATA, "data"),
            (Subject::DATA, "bss"),
        ];
        let names = NAMES.iter().filter(|(subject, _)| self.meets(*subject));
        let names: Vec<&str> = names.map(|(_, name)| *name).collect();
        match names.as_slice() {
            ["heap"] => "the heap".to_owned(),
            [one] => (*one).to_owned(),
            [all @ .., last] => format!("{} and {last}", all.join(", ")),
            [] => String::new(),
        }
    }

    /// Returns the verb's form after these names: `the heap goes`, `data and bss go`.
    pub(crate) fn verb(self, one: &'static str, many: &'static str) -> &'static str {
        match [Subject::HEAP, Subject::SHM, Subject::TEXT].contains(&self) {
            true => one,
            false => many,
        }
    }
}

impl BitOr for Subject {
    type Output = Subject;

    fn bitor(self, other: Subject) -> Subject {
        Subject(self.0 | other.0)
    }
}

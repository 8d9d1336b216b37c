//! The grammar of `--pool-pages-min` and `--pool-pages-max`:
//!
//! ```text
//! SPEC   = SIZE [ "@" NODES ] ":" [ "+" | "-" ] AMOUNT
//! SIZE   = "DEFAULT" | QUANTITY
//! NODES  = the kernel's list syntax: 0   0-3   0,2   0-7:1/2
//! AMOUNT = a page count | QUANTITY with a unit | a number "%"
//! ```
//!
//! `--demote` has the same grammar without a sign; [`spread`] has the grammar of
//! `--pool-spread`.
//!
//! Only parses the text. [`crate::request`] checks sizes, nodes and amounts against the
//! machine.

pub mod spread;

use std::collections::BTreeSet;
use std::fmt;
use std::str::FromStr;

use hugetools_model::hugetlb::node::NodeId;
use hugetools_model::units::list::parse_list;
use hugetools_model::units::size::{Quantity, SizeError};
use hugetools_model::{Bytes, PageCount, PageSize};

/// A parsed pool specification.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Spec {
    /// The page size; `None` is `DEFAULT`.
    pub size: Option<PageSize>,
    /// The nodes; `None` is the pool as a whole.
    pub nodes: Option<BTreeSet<NodeId>>,
    /// Whether the amount is absolute or a difference.
    pub direction: Direction,
    /// The amount, for each node if there are nodes.
    pub amount: Amount,
}

/// The meaning of the amount.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Direction {
    /// Set this number of pages.
    To,
    /// `+`: add this number.
    Up,
    /// `-`: remove this number.
    Down,
}

/// An amount.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Amount {
    /// A number of pages.
    Pages(PageCount),
    /// An amount of memory.
    Memory(Bytes),
    /// A percentage of the memory.
    Percent(u64),
}

/// Why a specification is invalid.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum SpecError {
    /// The `:` is missing.
    NoAmount,
    /// The text before the `:` or `@` is not a page size.
    Size(String, SizeError),
    /// The text after the `@` is not a list of nodes.
    Nodes(String),
    /// The text after the `:` is not an amount.
    Amount(String, SizeError),
    /// The percentage is over 100.
    Percent(u64),
    /// The text after a `*` is not a weight.
    Weight(String),
    /// A node is given twice.
    Twice(NodeId),
}

impl fmt::Display for SpecError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            SpecError::NoAmount => f.write_str("no amount: write SIZE:AMOUNT, as in DEFAULT:64"),
            SpecError::Size(text, SizeError::NoNumber) if is_word(text) => write!(
                f,
                "unknown page size {text:?}: write DEFAULT, or a size such as 2MB"
            ),
            SpecError::Size(text, why) => write!(f, "page size {text:?}: {why}"),
            SpecError::Nodes(text) => {
                write!(f, "nodes {text:?}: not a list such as 0, 0-3 or 0,2")
            }
            SpecError::Amount(text, why) => write!(f, "amount {text:?}: {why}"),
            SpecError::Percent(n) => write!(f, "{n}% is more than 100% of the memory"),
            SpecError::Weight(text) => write!(f, "weight {text:?}: not a positive number"),
            SpecError::Twice(node) => write!(f, "node {node} is given twice"),
        }
    }
}

impl std::error::Error for SpecError {}

fn is_word(text: &str) -> bool {
    !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_alphabetic())
}

impl FromStr for Spec {
    type Err = SpecError;

    fn from_str(text: &str) -> Result<Spec, SpecError> {
        // Split at the last colon, because a list of nodes may contain one.
        let (left, right) = text.rsplit_once(':').ok_or(SpecError::NoAmount)?;
        let (size, nodes) = match left.split_once('@') {
            None => (left, None),
            Some((size, nodes)) => (size, Some(parse_nodes(nodes)?)),
        };
        let (direction, amount) = match right.split_at_checked(1) {
            Some(("+", amount)) => (Direction::Up, amount),
            Some(("-", amount)) => (Direction::Down, amount),
            _ => (Direction::To, right),
        };
        Ok(Spec {
            size: parse_size(size)?,
            nodes,
            direction,
            amount: parse_amount(amount)?,
        })
    }
}

pub(super) fn parse_size(text: &str) -> Result<Option<PageSize>, SpecError> {
    match text {
        "DEFAULT" => Ok(None),
        _ => match text.parse() {
            Ok(size) => Ok(Some(size)),
            Err(why) => Err(SpecError::Size(text.to_owned(), why)),
        },
    }
}

fn parse_nodes(text: &str) -> Result<BTreeSet<NodeId>, SpecError> {
    let nodes: BTreeSet<NodeId> = parse_list(text)
        .into_iter()
        .flatten()
        .map(NodeId::new)
        .collect();
    match nodes.is_empty() {
        true => Err(SpecError::Nodes(text.to_owned())),
        false => Ok(nodes),
    }
}

pub(super) fn parse_amount(text: &str) -> Result<Amount, SpecError> {
    let invalid = |why| SpecError::Amount(text.to_owned(), why);
    if let Some(number) = text.strip_suffix('%') {
        let number = number.parse::<Quantity>().map_err(invalid)?.plain();
        return match number.ok_or(invalid(SizeError::UnknownUnit))? {
            percent @ 0..=100 => Ok(Amount::Percent(percent)),
            more => Err(SpecError::Percent(more)),
        };
    }
    let quantity: Quantity = text.parse().map_err(invalid)?;
    match quantity.plain() {
        Some(pages) => Ok(Amount::Pages(PageCount::new(pages))),
        None => quantity.bytes().map(Amount::Memory).map_err(invalid),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn parse(text: &str) -> Result<(Direction, Amount), String> {
        let spec: Spec = text.parse().map_err(|error: SpecError| error.to_string())?;
        Ok((spec.direction, spec.amount))
    }

    fn pages(n: u64) -> Amount {
        Amount::Pages(PageCount::new(n))
    }

    #[test]
    fn amounts() {
        let memory = Amount::Memory(Bytes::new(2 << 30));
        assert_eq!(parse("DEFAULT:12"), Ok((Direction::To, pages(12))));
        assert_eq!(parse("2MB:+0x10"), Ok((Direction::Up, pages(16))));
        assert_eq!(parse("2MB:-010"), Ok((Direction::Down, pages(8))));
        assert_eq!(parse("2m:2048MB"), Ok((Direction::To, memory)));
        assert_eq!(parse("2m:+2GiB"), Ok((Direction::Up, memory)));
        assert_eq!(parse("1G:10%"), Ok((Direction::To, Amount::Percent(10))));
        assert_eq!(parse("1G:0"), Ok((Direction::To, pages(0))));
    }

    #[test]
    fn sizes_and_nodes() {
        let spec: Spec = "2MB@0-7:1/2:5".parse().unwrap();
        assert_eq!(spec.size, PageSize::new(2 << 20));
        let nodes: Vec<u32> = spec.nodes.unwrap().iter().map(|n| n.get()).collect();
        assert_eq!(nodes, [0, 2, 4, 6]);
        let spec: Spec = "DEFAULT@3:5".parse().unwrap();
        assert_eq!(spec.size, None);
        assert_eq!(spec.nodes.unwrap().len(), 1);
    }

    #[test]
    fn errors_name_the_invalid_part() {
        for (text, message) in [
            ("", "no amount: write SIZE:AMOUNT, as in DEFAULT:64"),
            ("DEFAULT", "no amount: write SIZE:AMOUNT, as in DEFAULT:64"),
            ("DEFAULT:", "amount \"\": not a number"),
            ("DEFAULT:+", "amount \"\": not a number"),
            ("DEFAULT:+-5", "amount \"-5\": not a number"),
            ("DEFAULT: 5", "amount \" 5\": not a number"),
            ("DEFAULT:ä", "amount \"ä\": not a number"),
            (
                "DEFUALT:5",
                "unknown page size \"DEFUALT\": write DEFAULT, or a size such as 2MB",
            ),
            (":5", "page size \"\": not a number"),
            ("0:5", "page size \"0\": must not be zero"),
            (
                "2.5G:1",
                "page size \"2.5G\": no whole number: 1536M is 1.5G",
            ),
            ("DEFAULT:5:6", "page size \"DEFAULT:5\": not a number"),
            ("2MB@:5", "nodes \"\": not a list such as 0, 0-3 or 0,2"),
            (
                "2MB@0:64:5",
                "nodes \"0:64\": not a list such as 0, 0-3 or 0,2",
            ),
            ("2MB@x:5", "nodes \"x\": not a list such as 0, 0-3 or 0,2"),
            ("DEFAULT:101%", "101% is more than 100% of the memory"),
            (
                "DEFAULT:99999999T",
                "amount \"99999999T\": does not fit into 64 bits",
            ),
        ] {
            assert_eq!(parse(text), Err(message.to_owned()), "{text}");
        }
        for text in ["DEFAULT:12abc", "2mfoo:5", "DEFAULT:5%%", "DEFAULT:5M%"] {
            assert!(parse(text).unwrap_err().contains("unknown unit"), "{text}");
        }
    }

    proptest! {
        #[test]
        fn parsing_never_panics(text in "\\PC*") {
            let _ = text.parse::<Spec>();
        }

        #[test]
        fn near_misses_never_panic(text in "(DEFAULT|2MB|1G|0x)?(@[0-9,:/-]{0,8})?:[+-]?[0-9]{0,22}[kMGTiB%]{0,3}") {
            let _ = text.parse::<Spec>();
        }
    }
}

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

impl FromStr for Spec {
    type Err = String;

    fn from_str(text: &str) -> Result<Spec, String> {
        let (left, right) = split_amount(text)?;
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

/// Splits at the last colon, because a list of nodes may contain one.
fn split_amount(text: &str) -> Result<(&str, &str), String> {
    let parts = text.rsplit_once(':');
    parts.ok_or_else(|| "no amount: write SIZE:AMOUNT, as in DEFAULT:64".to_owned())
}

fn parse_size(text: &str) -> Result<Option<PageSize>, String> {
    let is_word = !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_alphabetic());
    match text.parse() {
        _ if text == "DEFAULT" => Ok(None),
        Ok(size) => Ok(Some(size)),
        Err(SizeError::NoNumber) if is_word => Err(format!(
            "unknown page size {text:?}: write DEFAULT, or a size such as 2MB"
        )),
        Err(why) => Err(format!("page size {text:?}: {why}")),
    }
}

fn parse_nodes(text: &str) -> Result<BTreeSet<NodeId>, String> {
    let nodes = parse_list(text).filter(|nodes| !nodes.is_empty());
    let nodes = nodes.ok_or_else(|| format!("nodes {text:?}: not a list such as 0, 0-3 or 0,2"))?;
    Ok(nodes.into_iter().map(NodeId::new).collect())
}

fn parse_amount(text: &str) -> Result<Amount, String> {
    let invalid = |why: SizeError| format!("amount {text:?}: {why}");
    if let Some(number) = text.strip_suffix('%') {
        let number = number.parse::<Quantity>().map_err(invalid)?.plain();
        return match number.ok_or_else(|| invalid(SizeError::UnknownUnit))? {
            percent @ 0..=100 => Ok(Amount::Percent(percent)),
            more => Err(format!("{more}% is more than 100% of the memory")),
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

    fn parse(text: &str) -> Result<(Direction, Amount), String> {
        let spec: Spec = text.parse()?;
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
        assert_eq!(parse("1G:10%"), Ok((Direction::To, Amount::Percent(10))));
    }

    #[test]
    fn sizes_and_nodes() {
        let spec: Spec = "2MB@0-7:1/2:5".parse().unwrap();
        assert_eq!(spec.size, PageSize::new(2 << 20));
        let nodes: Vec<u32> = spec.nodes.unwrap().iter().map(|n| n.get()).collect();
        assert_eq!(nodes, [0, 2, 4, 6]);
        assert_eq!("DEFAULT@3:5".parse::<Spec>().unwrap().size, None);
    }

    #[test]
    fn errors_name_the_invalid_part() {
        for (text, message) in [
            ("DEFAULT", "no amount: write SIZE:AMOUNT, as in DEFAULT:64"),
            ("DEFAULT:+-5", "amount \"-5\": not a number"),
            (
                "DEFUALT:5",
                "unknown page size \"DEFUALT\": write DEFAULT, or a size such as 2MB",
            ),
            (":5", "page size \"\": not a number"),
            ("0:5", "page size \"0\": must not be zero"),
            (
                "2MB@0:64:5",
                "nodes \"0:64\": not a list such as 0, 0-3 or 0,2",
            ),
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
}

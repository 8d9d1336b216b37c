//! Parses pool specifications, and divides pages by weight. The grammar:
//!
//! ```text
//! SPEC   = SIZE [ "@" NODES ] ":" [ "+" | "-" ] AMOUNT
//! SIZE   = "DEFAULT" | QUANTITY
//! NODES  = the kernel's list syntax: 0   0-3   0,2   0-7:1/2
//!          for --pool-spread with a weight after each part: 0*3,1
//! AMOUNT = a page count | QUANTITY with a unit | a number "%"
//! ```
//!
//! [`crate::request`] checks sizes, nodes and amounts against the machine.

use std::collections::BTreeMap;
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
    pub nodes: Option<Weights>,
    /// Whether to set, add or remove the amount.
    pub operation: Operation,
    /// The amount: for each node if there are nodes, but the total for `--pool-spread`.
    pub amount: Amount,
}

/// Nodes and their weights. No weight is 0.
pub type Weights = BTreeMap<NodeId, u32>;

/// What to do with the amount.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Operation {
    /// No sign: set the number of pages.
    Set,
    /// `+`: add pages.
    Add,
    /// `-`: remove pages.
    Remove,
}

/// The amount as written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Amount {
    /// A number of pages.
    Pages(PageCount),
    /// An amount of memory.
    Memory(Bytes),
    /// A percentage of the memory of the machine or of the nodes.
    Percent(u64),
}

impl FromStr for Spec {
    type Err = String;

    fn from_str(text: &str) -> Result<Spec, String> {
        // Split at the last colon, because a list of nodes may contain one.
        let parts = text.rsplit_once(':');
        let (left, right) = parts.ok_or("write SIZE:AMOUNT, as in DEFAULT:64 or DEFAULT:2GB")?;
        let (size, nodes) = match left.split_once('@') {
            None => (left, None),
            Some((size, nodes)) => (size, Some(parse_nodes(nodes)?)),
        };
        let (operation, amount) = match right.split_at_checked(1) {
            Some(("+", amount)) => (Operation::Add, amount),
            Some(("-", amount)) => (Operation::Remove, amount),
            _ => (Operation::Set, right),
        };
        Ok(Spec {
            size: parse_size(size)?,
            nodes,
            operation,
            amount: parse_amount(amount)?,
        })
    }
}

pub(super) fn parse_size(text: &str) -> Result<Option<PageSize>, String> {
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

fn parse_nodes(text: &str) -> Result<Weights, String> {
    let mut weights = Weights::new();
    for part in text.split(',') {
        let (nodes, weight) = match part.split_once('*') {
            None => (part, 1),
            Some((nodes, weight)) => (nodes, parse_weight(weight)?),
        };
        let members = parse_list(nodes).filter(|members| !members.is_empty());
        let members =
            members.ok_or_else(|| format!("nodes {nodes:?}: not a list such as 0, 0-3 or 0,2"))?;
        for node in members.into_iter().map(NodeId::new) {
            if weights.insert(node, weight).is_some() {
                return Err(format!("node {node} is given twice"));
            }
        }
    }
    Ok(weights)
}

fn parse_weight(text: &str) -> Result<u32, String> {
    let is_number = text.bytes().all(|byte| byte.is_ascii_digit());
    let weight = text.parse().ok().filter(|weight| is_number && *weight > 0);
    weight.ok_or_else(|| format!("weight {text:?}: not a positive number"))
}

pub(crate) fn parse_amount(text: &str) -> Result<Amount, String> {
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

/// Divides pages by weight. Shares are rounded down, and the lowest nodes get one more
/// page each until the total is reached.
pub fn divide(total: PageCount, weights: &Weights) -> Vec<(NodeId, PageCount)> {
    let sum: u128 = weights.values().map(|weight| u128::from(*weight)).sum();
    let share = |weight: u32| {
        let exact = u128::from(total.get()) * u128::from(weight) / sum;
        u64::try_from(exact).unwrap_or(u64::MAX)
    };
    let given: u64 = weights.values().map(|weight| share(*weight)).sum();
    let mut rest = total.get().saturating_sub(given);
    let shares = weights.iter().map(|(node, weight)| {
        let one = u64::from(rest > 0);
        rest -= one;
        (*node, PageCount::new(share(*weight) + one))
    });
    shares.collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn parse(text: &str) -> Result<(Operation, Amount), String> {
        let spec: Spec = text.parse()?;
        Ok((spec.operation, spec.amount))
    }

    fn pages(n: u64) -> Amount {
        Amount::Pages(PageCount::new(n))
    }

    #[test]
    fn amounts() {
        let memory = Amount::Memory(Bytes::new(2 << 30));
        assert_eq!(parse("DEFAULT:12"), Ok((Operation::Set, pages(12))));
        assert_eq!(parse("2MB:+0x10"), Ok((Operation::Add, pages(16))));
        assert_eq!(parse("2MB:-010"), Ok((Operation::Remove, pages(8))));
        assert_eq!(parse("2m:2048MB"), Ok((Operation::Set, memory)));
        assert_eq!(parse("1G:10%"), Ok((Operation::Set, Amount::Percent(10))));
    }

    #[test]
    fn sizes_and_nodes() {
        let spec: Spec = "2MB@0-7:1/2:5".parse().unwrap();
        assert_eq!(spec.size, PageSize::new(2 << 20));
        let nodes: Vec<u32> = spec.nodes.unwrap().keys().map(|n| n.get()).collect();
        assert_eq!(nodes, [0, 2, 4, 6]);
        let spec: Spec = "2MB@4,0-1*2:1G".parse().unwrap();
        let weights = spec.nodes.unwrap().into_values();
        assert_eq!(weights.collect::<Vec<u32>>(), [2, 2, 1]);
        assert_eq!("DEFAULT@3:5".parse::<Spec>().unwrap().size, None);
    }

    #[test]
    fn errors_name_the_invalid_part() {
        for (text, message) in [
            (
                "DEFAULT",
                "write SIZE:AMOUNT, as in DEFAULT:64 or DEFAULT:2GB",
            ),
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
            ("2MB@0,:4", "nodes \"\": not a list such as 0, 0-3 or 0,2"),
            ("2MB@0*0:4", "weight \"0\": not a positive number"),
            ("2MB@0*:4", "weight \"\": not a positive number"),
            ("2MB@0-3,2:4", "node 2 is given twice"),
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
        fn a_division_loses_no_page(
            total in any::<u64>(),
            weights in prop::collection::vec(1..=u32::MAX, 1..40),
        ) {
            let weights = (0..).map(NodeId::new).zip(weights).collect();
            let shares = divide(PageCount::new(total), &weights);
            let sum: u128 = shares.iter().map(|(_, share)| u128::from(share.get())).sum();
            prop_assert_eq!(sum, u128::from(total));
        }
    }
}

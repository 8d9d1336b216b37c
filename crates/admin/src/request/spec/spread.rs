//! The grammar of `--pool-spread`, and the division of pages by weight:
//!
//! ```text
//! SPREAD = SIZE [ "@" PART { "," PART } ] ":" AMOUNT
//! PART   = NODE [ "-" NODE ] [ "*" WEIGHT ]
//! ```

use std::collections::BTreeMap;
use std::str::FromStr;

use hugetools_model::hugetlb::node::NodeId;
use hugetools_model::{PageCount, PageSize};

use super::{Amount, parse_amount, parse_nodes, parse_size, split_amount};

/// A parsed spread.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Spread {
    /// The page size; `None` is `DEFAULT`.
    pub size: Option<PageSize>,
    /// The nodes and their weights; `None` means equal shares for all nodes with
    /// memory.
    pub weights: Option<Weights>,
    /// The total amount of all nodes.
    pub amount: Amount,
}

/// Nodes and their weights. No weight is 0.
pub type Weights = BTreeMap<NodeId, u32>;

impl FromStr for Spread {
    type Err = String;

    fn from_str(text: &str) -> Result<Spread, String> {
        let (left, amount) = split_amount(text)?;
        let (size, weights) = match left.split_once('@') {
            None => (left, None),
            Some((size, parts)) => (size, Some(parse_weights(parts)?)),
        };
        Ok(Spread {
            size: parse_size(size)?,
            weights,
            amount: parse_amount(amount)?,
        })
    }
}

fn parse_weights(text: &str) -> Result<Weights, String> {
    let mut weights = Weights::new();
    for part in text.split(',') {
        let (nodes, weight) = match part.split_once('*') {
            None => (part, 1),
            Some((nodes, weight)) => (nodes, parse_weight(weight)?),
        };
        for node in parse_nodes(nodes)? {
            if weights.insert(node, weight).is_some() {
                return Err(format!("node {node} is given twice"));
            }
        }
    }
    Ok(weights)
}

fn parse_weight(text: &str) -> Result<u32, String> {
    let digits = text.bytes().all(|byte| byte.is_ascii_digit());
    let weight = text.parse().ok().filter(|weight| digits && *weight > 0);
    weight.ok_or_else(|| format!("weight {text:?}: not a positive number"))
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

    fn weights(text: &str) -> Result<Vec<(u32, u32)>, String> {
        let spread: Spread = text.parse()?;
        let weights = spread.weights.unwrap_or_default().into_iter();
        Ok(weights.map(|(node, weight)| (node.get(), weight)).collect())
    }

    #[test]
    fn the_default_weight_is_one() {
        assert_eq!(weights("2MB@0*3,1:400"), Ok(vec![(0, 3), (1, 1)]));
        assert_eq!(
            weights("DEFAULT@4,0-2*2:1G"),
            Ok(vec![(0, 2), (1, 2), (2, 2), (4, 1)])
        );
        assert_eq!(weights("1GB:10%"), Ok(vec![]));
    }

    #[test]
    fn errors_name_the_invalid_part() {
        for (text, message) in [
            ("2MB@0,:4", "nodes \"\": not a list such as 0, 0-3 or 0,2"),
            ("2MB@0*0:4", "weight \"0\": not a positive number"),
            ("2MB@0*:4", "weight \"\": not a positive number"),
            ("2MB@0*+1:4", "weight \"+1\": not a positive number"),
            ("2MB@0-3,2:4", "node 2 is given twice"),
            ("2MB@0:+4", "amount \"+4\": not a number"),
        ] {
            assert_eq!(weights(text), Err(message.to_owned()), "{text}");
        }
    }

    fn shares(total: u64, weights: &[u32]) -> Vec<u64> {
        let nodes = (0..).map(NodeId::new);
        let weights = nodes.zip(weights.iter().copied()).collect();
        let shares = divide(PageCount::new(total), &weights);
        shares.iter().map(|(_, pages)| pages.get()).collect()
    }

    #[test]
    fn the_remainder_goes_to_the_lowest_nodes() {
        assert_eq!(shares(400, &[3, 1]), [300, 100]);
        assert_eq!(shares(10, &[1, 1, 1, 1]), [3, 3, 2, 2]);
        assert_eq!(shares(0, &[5]), [0]);
    }

    proptest! {
        #[test]
        fn a_division_loses_no_page(
            total in any::<u64>(),
            weights in prop::collection::vec(1..=u32::MAX, 1..40),
        ) {
            let shares = shares(total, &weights);
            let sum: u128 = shares.iter().map(|share| u128::from(*share)).sum();
            prop_assert_eq!(sum, u128::from(total));
        }
    }
}

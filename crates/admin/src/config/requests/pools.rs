//! `[[pool]]`: pools.

use std::collections::BTreeSet;
use std::time::Duration;

use hugetools_model::hugetlb::node::NodeId;
use hugetools_model::{PageCount, PageSize};
use toml::Spanned;

use super::RequestBuilder;
use crate::args::Args;
use crate::config::source::{Key, Source};
use crate::config::table::{Amount, Pool, Try};
use crate::request::spec::parse_amount;
use crate::request::{Place, PoolChange, Wish, minimum_after, page_size};

impl RequestBuilder<'_> {
    pub(super) fn pool(&mut self, pool: &Pool, source: &Source) -> Result<(), String> {
        let key = source.key("size", &pool.size.span());
        let size = page_size(pool.size.get_ref(), self.facts.machine);
        let size = size.map_err(|why| format!("{key}: {why}"))?;
        self.once(&format!("the pool of {size}"), &key)?;
        check_choice(pool, &key, source)?;
        let wish = Wish {
            hard: pool.r#try == Some(Try::Hard),
            time: time(pool.r#for.as_ref(), source)?,
            optional: !pool.essential,
        };
        let first = self.request.pool_min.len();
        if let Some(amount) = &pool.min {
            self.minimum("min", size.to_string(), amount, source)?;
        }
        if let Some(nodes) = &pool.nodes {
            for (node, amount) in nodes.get_ref() {
                let node = node.get_ref();
                self.minimum(node, format!("{size}@{node}"), amount, source)?;
            }
            self.join(first, &source.key("nodes", &nodes.span()))?;
        }
        if let Some(amount) = &pool.spread {
            let weights = pool.weights.iter().flat_map(Spanned::get_ref);
            let weights: Vec<String> = weights
                .map(|(node, weight)| format!("{node}*{weight}"))
                .collect();
            let nodes = match weights.is_empty() {
                true => String::new(),
                false => format!("@{}", weights.join(",")),
            };
            let key = source.key("spread", &amount.span());
            let spec = format!("{size}{nodes}:{}", absolute(amount, &key)?);
            let mut args = Args::default();
            args.pools.pool_spread.push(spec.clone());
            self.add(&args, &[(format!("--pool-spread {spec}"), key)])?;
        }
        for change in &mut self.request.pool_min[first..] {
            change.wish = wish;
        }
        self.maximum(size, pool.max.as_ref(), source)
    }

    fn minimum(
        &mut self,
        name: &str,
        scope: String,
        amount: &Spanned<Amount>,
        source: &Source,
    ) -> Result<(), String> {
        let key = source.key(name, &amount.span());
        let spec = format!("{scope}:{}", absolute(amount, &key)?);
        let mut args = Args::default();
        args.pools.pool_pages_min.push(spec.clone());
        self.add(&args, &[(format!("--pool-pages-min {spec}"), key)])
    }

    /// Joins the changes of single nodes into one change.
    fn join(&mut self, first: usize, key: &Key) -> Result<(), String> {
        let changes: Vec<PoolChange> = self.request.pool_min.drain(first..).collect();
        let Some(mut joined) = changes.first().cloned() else {
            return Ok(());
        };
        let places = changes.into_iter().map(|change| match change.place {
            Place::Nodes(nodes) => nodes,
            Place::Whole(_) => Vec::new(),
        });
        let nodes: Vec<_> = places.flatten().collect();
        let ids: BTreeSet<NodeId> = nodes.iter().map(|(id, _)| *id).collect();
        if ids.len() < nodes.len() {
            return Err(format!("{key}: a node is given twice; keep one of them"));
        }
        joined.option = key.to_string();
        joined.place = Place::Nodes(nodes);
        self.request.pool_min.push(joined);
        Ok(())
    }

    /// Adds the maximum, which must be at least the minimum.
    fn maximum(
        &mut self,
        size: PageSize,
        amount: Option<&Spanned<Amount>>,
        source: &Source,
    ) -> Result<(), String> {
        let (Some(pool), Some(amount)) = (self.facts.machine.pool(size), amount) else {
            return Ok(());
        };
        let minimum = minimum_after(self.facts.machine, pool, self.request.pool_min.iter());
        let key = source.key("max", &amount.span());
        let spec = format!("{size}:{}", absolute(amount, &key)?);
        let mut args = Args::default();
        args.pools.pool_pages_max.push(spec.clone());
        self.add(&args, &[(format!("--pool-pages-max {spec}"), key.clone())])?;
        let maximum = self.request.pool_max.last().and_then(PoolChange::whole);
        check_maximum(maximum, minimum).map_err(|why| format!("{key}: {why}"))
    }
}

fn check_maximum(maximum: Option<PageCount>, minimum: PageCount) -> Result<(), String> {
    match maximum.is_some_and(|pages| pages < minimum) {
        true => Err(format!(
            "less than the minimum of {}; write at least that",
            minimum.with_noun()
        )),
        false => Ok(()),
    }
}

/// Refuses keys that exclude each other, weights without spread, and a pool without an amount.
fn check_choice(pool: &Pool, size: &Key, source: &Source) -> Result<(), String> {
    let nodes = pool.nodes.as_ref();
    let nodes = nodes.filter(|nodes| !nodes.get_ref().is_empty());
    let spans = [
        ("min", pool.min.as_ref().map(Spanned::span)),
        ("nodes", nodes.map(Spanned::span)),
        ("spread", pool.spread.as_ref().map(Spanned::span)),
    ];
    let mut given = spans
        .into_iter()
        .filter_map(|(name, span)| Some((name, span?)));
    let first = given.next();
    if let (Some((first, _)), Some((second, span))) = (&first, given.next()) {
        let key = source.key(second, &span);
        return Err(format!(
            "{key}: excludes {first}; keep only one of min, nodes and spread"
        ));
    }
    if first.is_none() && pool.max.is_none() {
        return Err(format!(
            "{size}: the pool has no amount; write min, nodes, spread or max"
        ));
    }
    match &pool.weights {
        Some(weights) if pool.spread.is_none() => {
            let key = source.key("weights", &weights.span());
            Err(format!(
                "{key}: weights need spread; write spread, or no weights"
            ))
        }
        _ => Ok(()),
    }
}

/// Returns an amount. A relative one (`+5`) is an error.
fn absolute<'a>(amount: &'a Spanned<Amount>, key: &Key) -> Result<&'a str, String> {
    let text = amount.get_ref().0.as_str();
    if text.starts_with(['+', '-']) {
        return Err(format!(
            "{key}: relative amounts are not allowed here; write the total without + or -"
        ));
    }
    match parse_amount(text) {
        Ok(_) => Ok(text),
        Err(why) => Err(format!("{key}: {why}")),
    }
}

fn time(text: Option<&Spanned<String>>, source: &Source) -> Result<Duration, String> {
    let Some(text) = text else {
        return Ok(Duration::ZERO);
    };
    let word = text.get_ref();
    let number = |unit: char| -> Option<u64> { word.strip_suffix(unit)?.parse().ok() };
    let seconds = number('s').or_else(|| number('m')?.checked_mul(60));
    let seconds = seconds.filter(|seconds| (1..=86400).contains(seconds));
    seconds.map(Duration::from_secs).ok_or_else(|| {
        let key = source.key("for", &text.span());
        format!("{key}: not a duration from 1s to 1440m; write for example \"30s\" or \"5m\"")
    })
}

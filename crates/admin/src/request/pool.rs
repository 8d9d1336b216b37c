//! A pool specification checked against the machine: the size is one of its
//! sizes, the nodes have such a pool, the amount is whole pages.

use hugetools_model::pool::Pool;
use hugetools_model::{Bytes, Machine, PageCount, PageSize};

use super::{Change, Place, PoolChange};
use crate::spec::{Amount, Direction, Spec};

pub(super) fn change(
    option: &str,
    text: &str,
    minimum: bool,
    machine: &Machine,
    notes: &mut Vec<String>,
) -> Result<PoolChange, String> {
    let spec: Spec = text.parse().map_err(|error| format!("{error}"))?;
    let pool = find_pool(&spec, machine)?;
    let place = match &spec.nodes {
        None => {
            let pages = count(spec.amount, pool.size, machine.meminfo.total)?;
            notes.extend(rounding(option, spec.amount, pool.size, pages));
            Place::Whole(directed(spec.direction, pages))
        }
        Some(_) if !minimum => {
            return Err("a maximum is of the whole pool, it cannot be set for nodes".to_owned());
        }
        Some(nodes) => {
            let mut changes = Vec::new();
            for &id in nodes {
                let node = machine.node(id);
                let node =
                    node.ok_or_else(|| format!("there is no node {id}{}", nodes_of(machine)))?;
                node.pool(pool.size)
                    .ok_or_else(|| format!("node {id} has no pool of {} pages", pool.size))?;
                let pages = count(spec.amount, pool.size, node.total)
                    .map_err(|error| format!("node {id}: {error}"))?;
                changes.push((id, pages));
            }
            if let Some((_, pages)) = changes.first() {
                notes.extend(rounding(option, spec.amount, pool.size, *pages));
            }
            let change = |(id, pages)| (id, directed(spec.direction, pages));
            Place::Nodes(changes.into_iter().map(change).collect())
        }
    };
    Ok(PoolChange {
        option: option.to_owned(),
        size: pool.size,
        place,
    })
}

fn directed(direction: Direction, pages: PageCount) -> Change {
    match direction {
        Direction::To => Change::To(pages),
        Direction::Up => Change::Up(pages),
        Direction::Down => Change::Down(pages),
    }
}

fn find_pool<'a>(spec: &Spec, machine: &'a Machine) -> Result<&'a Pool, String> {
    if machine.pools.is_empty() {
        return Err("this machine offers no huge page size".to_owned());
    }
    match spec.size {
        None => machine
            .default_pool()
            .ok_or_else(|| format!("there is no default page size{}", sizes_of(machine))),
        Some(size) => machine.pool(size).ok_or_else(|| {
            let size = Bytes::new(size.get());
            format!("there are no huge pages of {size}{}", sizes_of(machine))
        }),
    }
}

fn sizes_of(machine: &Machine) -> String {
    let sizes: Vec<String> = machine.pools.iter().map(|p| p.size.to_string()).collect();
    format!(", only of {}", sizes.join(", "))
}

fn nodes_of(machine: &Machine) -> String {
    let nodes = machine.nodes.iter().map(|node| node.id.get()).collect();
    match machine.nodes.is_empty() {
        true => ", this kernel has none".to_owned(),
        false => format!(", only {}", hugetools_model::list::format_list(&nodes)),
    }
}

/// The number of whole pages in an amount.
fn count(amount: Amount, size: PageSize, memory: Bytes) -> Result<PageCount, String> {
    let (pages, all) = match amount {
        Amount::Pages(pages) => (pages, None),
        Amount::Memory(bytes) => (bytes.pages(size).0, Some(bytes)),
        Amount::Percent(percent) => {
            let bytes = memory.percent(percent).unwrap_or(memory);
            (bytes.pages(size).0, Some(bytes))
        }
    };
    if size.of(pages).is_none() {
        return Err(format!(
            "{pages} pages of {size} do not fit into 64 bits of bytes"
        ));
    }
    match all {
        Some(bytes) if pages == PageCount::ZERO && bytes.get() > 0 => {
            Err(format!("{} is less than one page of {size}", about(bytes)))
        }
        _ => Ok(pages),
    }
}

/// A share of the memory is seldom round: whole megabytes or kilobytes do.
fn about(bytes: Bytes) -> String {
    let exact = bytes.to_string();
    match exact.len() {
        0..=7 => exact,
        _ => match bytes.get() >> 20 {
            0 => format!("{}KB", bytes.get() >> 10),
            megabytes => format!("{megabytes}MB"),
        },
    }
}

fn rounding(option: &str, amount: Amount, size: PageSize, pages: PageCount) -> Option<String> {
    let Amount::Memory(bytes) = amount else {
        return None;
    };
    let (_, rest) = bytes.pages(size);
    (rest.get() > 0).then(|| {
        let noun = if pages.get() == 1 { "page" } else { "pages" };
        format!("{option}: {bytes} is not a whole number of pages, rounded down to {pages} {noun} of {size}")
    })
}

/// After a change of the whole pool nobody knows yet which node has how much,
/// so what a change of nodes makes of it could not be planned.
pub(super) fn whole_and_nodes(changes: &[PoolChange]) -> Option<String> {
    let nodes = |change: &&PoolChange| matches!(change.place, Place::Nodes(_));
    let on_nodes = changes.iter().find(nodes)?;
    let whole = changes
        .iter()
        .find(|change| change.size == on_nodes.size && !nodes(change))?;
    Some(format!(
        "{} and {}: change the whole pool or its nodes, not both at once",
        whole.option, on_nodes.option
    ))
}

#[cfg(test)]
mod tests {
    use super::super::tests::request;
    use super::*;

    fn place(spec: &str) -> Place {
        let mut request = request(&["--pool-pages-min", spec]).unwrap();
        request.pool_min.remove(0).place
    }

    fn error(spec: &str) -> String {
        let mut errors = request(&["--pool-pages-min", spec]).unwrap_err();
        assert_eq!(errors.len(), 1);
        let error = errors.remove(0);
        error.split_once(&format!("{spec}: ")).unwrap().1.to_owned()
    }

    #[test]
    fn every_kind_of_amount_becomes_pages() {
        // MemTotal is 4024476 kB.
        for (spec, pages) in [
            ("DEFAULT:12", 12),
            ("2MB:2048MB", 1024),
            ("DEFAULT:10%", 196),
            ("DEFAULT:100%", 1965),
            ("DEFAULT:0%", 0),
            ("1GB:0MB", 0),
        ] {
            assert_eq!(
                place(spec),
                Place::Whole(Change::To(PageCount::new(pages))),
                "{spec}"
            );
        }
    }

    #[test]
    fn a_share_is_of_each_nodes_own_memory() {
        let Place::Nodes(nodes) = place("2MB@0,4-5:+50%") else {
            panic!("not nodes");
        };
        let nodes: Vec<_> = nodes
            .iter()
            .map(|(id, change)| (id.get(), *change))
            .collect();
        let up = |pages| Change::Up(PageCount::new(pages));
        assert_eq!(nodes, [(0, up(125)), (4, up(0)), (5, up(125))]);
    }

    #[test]
    fn less_than_a_page_and_more_than_64_bits_are_errors() {
        assert_eq!(error("DEFAULT:1MB"), "1MB is less than one page of 2MB");
        assert_eq!(error("1GB:10%"), "393MB is less than one page of 1GB");
        assert_eq!(
            error("1GB@0:50%"),
            "node 0: 251MB is less than one page of 1GB"
        );
        assert_eq!(
            error("DEFAULT:0x7fffffffffffffff"),
            "9223372036854775807 pages of 2MB do not fit into 64 bits of bytes"
        );
    }

    #[test]
    fn rounding_down_is_said() {
        let notes = request(&["--pool-pages-min=DEFAULT:3MB", "--pool-pages-min=2M:4M"]);
        assert_eq!(
            notes.unwrap().notes,
            [
                "--pool-pages-min DEFAULT:3MB: 3MB is not a whole number of pages, \
                 rounded down to 1 page of 2MB"
            ]
        );
    }

    #[test]
    fn nodes_must_be_there() {
        assert_eq!(error("2MB@7-8:1"), "there is no node 8, only 0-7");
    }
}

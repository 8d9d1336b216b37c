//! Checks pool specifications against the machine: page sizes, nodes and amounts.

mod amount;

use std::collections::BTreeSet;

use hugetools_model::hugetlb::node::{Node, NodeId};
use hugetools_model::hugetlb::pool::Pool;
use hugetools_model::{Bytes, Machine, PageCount, PageSize};

use self::amount::{count, rounding};
use super::{Change, Demotion, Growth, Place, PoolChange, Request, shown};
use crate::args::Pools;
use crate::request::spec::spread::{Spread, Weights, divide};
use crate::request::spec::{Amount, Direction, Spec};

/// Checks all options about pools.
pub(super) fn check(
    args: &Pools,
    machine: &Machine,
    request: &mut Request,
    errors: &mut Vec<String>,
) {
    request.growth = Growth {
        hard: args.hard,
        force: args.force,
        mempolicy: args.obey_mempolicy,
        temp_swap: args.add_temp_swap,
        ramdisk_swap: args.add_ramdisk_swap,
        persist: args.persist,
        swap_number: 0,
    };
    let notes = &mut request.notes;
    request.pool_min = each("--pool-pages-min", &args.pool_pages_min, errors, |one| {
        change(one, true, machine, notes)
    });
    request
        .pool_min
        .extend(each("--pool-spread", &args.pool_spread, errors, |one| {
            spread(one, machine, notes)
        }));
    request.demotions = each("--demote", &args.demote, errors, |one| {
        demotion(one, machine, notes)
    });
    request.pool_max = each("--pool-pages-max", &args.pool_pages_max, errors, |one| {
        change(one, false, machine, notes)
    });
    errors.extend(whole_and_nodes(&request.pool_min));
}

/// An option as given, and its specification.
struct Written<'a> {
    option: &'a str,
    text: &'a str,
}

/// Checks each specification of an option.
fn each<T>(
    name: &str,
    specs: &[String],
    errors: &mut Vec<String>,
    mut check: impl FnMut(&Written) -> Result<T, String>,
) -> Vec<T> {
    let mut found = Vec::new();
    for text in specs {
        let option = &format!("{name} {}", shown(text));
        match check(&Written { option, text }) {
            Ok(one) => found.push(one),
            Err(error) => errors.push(format!("{option}: {error}")),
        }
    }
    found
}

fn change(
    &Written { option, text }: &Written,
    minimum: bool,
    machine: &Machine,
    notes: &mut Vec<String>,
) -> Result<PoolChange, String> {
    let spec: Spec = text.parse()?;
    let pool = find_pool(spec.size, machine)?;
    let place = match &spec.nodes {
        None => {
            let pages = count(spec.amount, pool.size, machine.meminfo.total)?;
            notes.extend(rounding(option, spec.amount, pool.size, pages));
            Place::Whole(directed(spec.direction, pages))
        }
        Some(_) if !minimum => {
            return Err(
                "a maximum applies to the whole pool and cannot be set for nodes".to_owned(),
            );
        }
        Some(nodes) => {
            let shares = shares(option, &spec, nodes, pool, machine, notes)?;
            let change = |(id, pages)| (id, directed(spec.direction, pages));
            Place::Nodes(shares.into_iter().map(change).collect())
        }
    };
    Ok(PoolChange {
        option: option.to_owned(),
        size: pool.size,
        place,
    })
}

/// Returns the pages for each node of a specification.
fn shares(
    option: &str,
    spec: &Spec,
    nodes: &BTreeSet<NodeId>,
    pool: &Pool,
    machine: &Machine,
    notes: &mut Vec<String>,
) -> Result<Vec<(NodeId, PageCount)>, String> {
    let mut shares = Vec::new();
    for &id in nodes {
        let node = find_node(id, pool, machine)?;
        if let (0, Amount::Percent(1..)) = (node.total.get(), spec.amount) {
            return Err(format!("node {id} has no memory of its own"));
        }
        let pages = count(spec.amount, pool.size, node.total)
            .map_err(|error| format!("node {id}: {error}"))?;
        shares.push((id, pages));
    }
    if let Some((_, pages)) = shares.first() {
        notes.extend(rounding(option, spec.amount, pool.size, *pages));
    }
    Ok(shares)
}

fn spread(
    &Written { option, text }: &Written,
    machine: &Machine,
    notes: &mut Vec<String>,
) -> Result<PoolChange, String> {
    let spread: Spread = text.parse()?;
    let pool = find_pool(spread.size, machine)?;
    let evenly = || -> Weights {
        let with_memory = machine.nodes.iter().filter(|node| node.total.get() > 0);
        with_memory.map(|node| (node.id, 1)).collect()
    };
    let weights = spread.weights.unwrap_or_else(evenly);
    if weights.is_empty() {
        return Err("this kernel has no memory nodes: use --pool-pages-min".to_owned());
    }
    let mut memory: u64 = 0;
    for &id in weights.keys() {
        let node = find_node(id, pool, machine)?;
        memory = memory.saturating_add(node.total.get());
    }
    let total = count(spread.amount, pool.size, Bytes::new(memory))?;
    notes.extend(rounding(option, spread.amount, pool.size, total));
    let shares = divide(total, &weights).into_iter();
    Ok(PoolChange {
        option: option.to_owned(),
        size: pool.size,
        place: Place::Nodes(shares.map(|(id, pages)| (id, Change::To(pages))).collect()),
    })
}

fn demotion(
    &Written { option, text }: &Written,
    machine: &Machine,
    notes: &mut Vec<String>,
) -> Result<Demotion, String> {
    let spec: Spec = text.parse()?;
    if spec.direction != Direction::To {
        return Err("a number of pages to split must not have a sign".to_owned());
    }
    let pool = find_pool(spec.size, machine)?;
    let size = pool.size;
    let into = pool.demote_size.ok_or_else(|| {
        format!("pages of {size} cannot be split: that requires Linux 5.16 and a smaller size")
    })?;
    let shares = match &spec.nodes {
        None => {
            let pages = count(spec.amount, size, machine.meminfo.total)?;
            notes.extend(rounding(option, spec.amount, size, pages));
            vec![(None, pages)]
        }
        Some(nodes) => {
            let shares = shares(option, &spec, nodes, pool, machine, notes)?;
            shares
                .into_iter()
                .map(|(id, pages)| (Some(id), pages))
                .collect()
        }
    };
    Ok(Demotion {
        option: option.to_owned(),
        size,
        into,
        shares,
    })
}

fn directed(direction: Direction, pages: PageCount) -> Change {
    match direction {
        Direction::To => Change::To(pages),
        Direction::Up => Change::Up(pages),
        Direction::Down => Change::Down(pages),
    }
}

fn find_pool(size: Option<PageSize>, machine: &Machine) -> Result<&Pool, String> {
    if machine.pools.is_empty() {
        return Err(machine.none_offered());
    }
    match size {
        None => machine
            .default_pool()
            .ok_or_else(|| format!("this machine has no default page size{}", sizes_of(machine))),
        Some(size) => machine.pool(size).ok_or_else(|| {
            let size = Bytes::new(size.get());
            format!(
                "this machine has no huge pages of {size}{}",
                sizes_of(machine)
            )
        }),
    }
}

fn find_node<'a>(id: NodeId, pool: &Pool, machine: &'a Machine) -> Result<&'a Node, String> {
    let node = machine.node(id);
    let node = node.ok_or_else(|| format!("this machine has no node {id}{}", nodes_of(machine)))?;
    match node.pool(pool.size) {
        Some(_) => Ok(node),
        None => Err(format!("node {id} has no pool of {} pages", pool.size)),
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
        false => format!(
            ", only {}",
            hugetools_model::units::list::format_list(&nodes)
        ),
    }
}

/// Refuses changes of both a whole pool and its nodes. The kernel divides the whole
/// pool, so the result on each node cannot be planned.
fn whole_and_nodes(changes: &[PoolChange]) -> Option<String> {
    let nodes = |change: &&PoolChange| matches!(change.place, Place::Nodes(_));
    changes.iter().filter(nodes).find_map(|on_nodes| {
        let whole = changes
            .iter()
            .find(|change| change.size == on_nodes.size && !nodes(change))?;
        Some(format!(
            "{} and {}: change the whole pool or its nodes, not both at once",
            whole.option, on_nodes.option
        ))
    })
}

//! Checks pool specifications against the machine: page sizes, nodes and amounts.

use hugetools_model::hugetlb::node::{Node, NodeId};
use hugetools_model::hugetlb::pool::Pool;
use hugetools_model::machine::NONE_OFFERED;
use hugetools_model::units::list::format_list;
use hugetools_model::{Bytes, Machine, PageCount, PageSize};

use super::{Change, Place, PoolChange, Request, Wish, shown};
use crate::args::Pools;
use crate::request::spec::{Amount, Operation, Spec, Weights, divide, parse_size};

/// Resolves `DEFAULT` or a size to a page size of this machine.
pub(crate) fn page_size(text: &str, machine: &Machine) -> Result<PageSize, String> {
    Ok(find_pool(parse_size(text)?, machine)?.size)
}

pub(super) fn check(
    args: &Pools,
    machine: &Machine,
    request: &mut Request,
    errors: &mut Vec<String>,
) {
    type Check = fn(&mut PoolSpec<'_>) -> Result<PoolChange, String>;
    let options: [(&str, &[String], Check); 3] = [
        ("--pool-pages-min", &args.pool_pages_min, |spec| {
            spec.minimum()
        }),
        ("--pool-spread", &args.pool_spread, |spec| spec.spread()),
        ("--pool-pages-max", &args.pool_pages_max, |spec| {
            spec.maximum()
        }),
    ];
    for (name, specs, check) in options {
        for text in specs {
            let option = format!("{name} {}", shown(text));
            let checked = PoolSpec::new(&option, text, machine)
                .and_then(|mut spec| Ok((check(&mut spec)?, spec.notes)));
            match checked {
                Ok((change, notes)) => {
                    request.notes.extend(notes);
                    match name {
                        "--pool-pages-max" => request.pool_max.push(change),
                        _ => request.pool_min.push(change),
                    }
                }
                Err(error) => errors.push(format!("{option}: {error}")),
            }
        }
    }
    errors.extend(check_conflicts(&request.pool_min));
}

/// A specification and the pool that it names.
struct PoolSpec<'a> {
    option: &'a str,
    spec: Spec,
    pool: &'a Pool,
    machine: &'a Machine,
    notes: Vec<String>,
}

impl<'a> PoolSpec<'a> {
    fn new(option: &'a str, text: &str, machine: &'a Machine) -> Result<PoolSpec<'a>, String> {
        let spec: Spec = text.parse()?;
        Ok(PoolSpec {
            option,
            pool: find_pool(spec.size, machine)?,
            spec,
            machine,
            notes: Vec::new(),
        })
    }

    fn minimum(&mut self) -> Result<PoolChange, String> {
        let place = match self.spec.nodes.is_some() {
            false => {
                let pages = self.pages_of_pool()?;
                Place::Whole(self.change(pages))
            }
            true => {
                let shares = self.pages_by_node()?.into_iter();
                Place::Nodes(shares.map(|(id, pages)| (id, self.change(pages))).collect())
            }
        };
        Ok(self.pool_change(place))
    }

    fn maximum(&mut self) -> Result<PoolChange, String> {
        if self.spec.nodes.is_some() {
            return Err(
                "a maximum applies to the whole pool and cannot be set for nodes".to_owned(),
            );
        }
        let pages = self.pages_of_pool()?;
        Ok(self.pool_change(Place::Whole(self.change(pages))))
    }

    fn spread(&mut self) -> Result<PoolChange, String> {
        if self.spec.operation != Operation::Set {
            return Err("this amount must not have a sign".to_owned());
        }
        let with_memory = self.machine.nodes.iter();
        let with_memory = with_memory.filter(|node| node.total.get() > 0);
        let evenly = || -> Weights { with_memory.map(|node| (node.id, 1)).collect() };
        let weights = self.spec.nodes.clone().unwrap_or_else(evenly);
        if weights.is_empty() {
            return Err("this kernel has no memory nodes: use --pool-pages-min".to_owned());
        }
        let mut memory: u64 = 0;
        for &id in weights.keys() {
            memory = memory.saturating_add(self.node(id)?.total.get());
        }
        let total = whole_pages(self.spec.amount, self.pool.size, Bytes::new(memory))?;
        self.note_rounding(total);
        let shares = divide(total, &weights).into_iter();
        let shares = shares.map(|(id, pages)| (id, Change::Set(pages)));
        Ok(self.pool_change(Place::Nodes(shares.collect())))
    }

    fn pool_change(&self, place: Place) -> PoolChange {
        PoolChange {
            option: self.option.to_owned(),
            size: self.pool.size,
            place,
            wish: Wish::default(),
        }
    }

    fn change(&self, pages: PageCount) -> Change {
        match self.spec.operation {
            Operation::Set => Change::Set(pages),
            Operation::Add => Change::Add(pages),
            Operation::Remove => Change::Remove(pages),
        }
    }

    fn pages_of_pool(&mut self) -> Result<PageCount, String> {
        let memory = self.machine.meminfo.total;
        let pages = whole_pages(self.spec.amount, self.pool.size, memory)?;
        self.note_rounding(pages);
        Ok(pages)
    }

    fn pages_by_node(&mut self) -> Result<Vec<(NodeId, PageCount)>, String> {
        let amount = self.spec.amount;
        let mut shares = Vec::new();
        for (&id, weight) in self.spec.nodes.iter().flatten() {
            let node = self.node(id)?;
            if *weight != 1 {
                return Err("only --pool-spread has weights".to_owned());
            }
            if let (0, Amount::Percent(1..)) = (node.total.get(), amount) {
                return Err(format!("node {id} has no memory of its own"));
            }
            let pages = whole_pages(amount, self.pool.size, node.total)
                .map_err(|error| format!("node {id}: {error}"))?;
            shares.push((id, pages));
        }
        if let Some((_, pages)) = shares.first() {
            self.note_rounding(*pages);
        }
        Ok(shares)
    }

    fn node(&self, id: NodeId) -> Result<&'a Node, String> {
        let node = self.machine.node(id).ok_or_else(|| {
            let nodes = self.machine.nodes.iter().map(|node| node.id.get());
            let existing = match self.machine.nodes.is_empty() {
                true => "this kernel has none".to_owned(),
                false => format!("only {}", format_list(&nodes.collect())),
            };
            format!("this machine has no node {id}, {existing}")
        })?;
        match node.pool(self.pool.size) {
            Some(_) => Ok(node),
            None => Err(format!("node {id} has no pool of {} pages", self.pool.size)),
        }
    }

    /// Notes an amount that is not a whole number of pages.
    fn note_rounding(&mut self, pages: PageCount) {
        let (option, size) = (self.option, self.pool.size);
        if let Amount::Memory(bytes) = self.spec.amount {
            if bytes.pages(size).1.get() > 0 {
                let pages = pages.with_noun();
                self.notes.push(format!(
                    "{option}: {bytes} is not a whole number of pages, rounded down to {pages} of {size}"
                ));
            }
        }
    }
}

fn find_pool(size: Option<PageSize>, machine: &Machine) -> Result<&Pool, String> {
    if machine.pools.is_empty() {
        return Err(NONE_OFFERED.to_owned());
    }
    let found = match size {
        None => machine.default_pool(),
        Some(size) => machine.pool(size),
    };
    found.ok_or_else(|| {
        let what = match size {
            None => "no default page size".to_owned(),
            Some(size) => format!("no huge pages of {}", Bytes::new(size.get())),
        };
        let sizes: Vec<String> = machine.pools.iter().map(|p| p.size.to_string()).collect();
        format!("this machine has {what}, only of {}", sizes.join(", "))
    })
}

/// Returns the number of whole pages in an amount.
fn whole_pages(amount: Amount, size: PageSize, memory: Bytes) -> Result<PageCount, String> {
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
            "too many: {pages} pages of {size} exceed 64 bits in bytes"
        ));
    }
    match all {
        Some(bytes) if pages == PageCount::ZERO && bytes.get() > 0 => {
            let amount = match bytes.get() >> 20 {
                0 => bytes.to_string(),
                megabytes => format!("{megabytes}MB"),
            };
            Err(format!("{amount} is less than one page of {size}"))
        }
        _ => Ok(pages),
    }
}

/// Refuses changes of both a pool and its nodes. The kernel divides a pool's pages among nodes,
/// so the result on each node cannot be planned.
fn check_conflicts(changes: &[PoolChange]) -> Option<String> {
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

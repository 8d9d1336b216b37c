//! What is wanted, checked against the machine: after this nothing is unknown,
//! too large or ambiguous.

use hugetools_model::node::NodeId;
use hugetools_model::pool::Pool;
use hugetools_model::{Bytes, Machine, PageCount, PageSize};

use crate::args::Args;
use crate::spec::{Amount, Direction, Spec};

/// All that a command line asks to change.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Request {
    /// `--set-shm-group`
    pub shm_group: Option<ShmGroup>,
    /// `--pool-pages-min`, in the order written.
    pub pool_min: Vec<PoolChange>,
    /// `--pool-pages-max`, in the order written; after all of `pool_min`.
    pub pool_max: Vec<PoolChange>,
    /// `--create-mounts` and its relatives.
    pub mounts: Vec<MountSet>,
    /// What was understood in a way that should be said.
    pub notes: Vec<String>,
}

/// A change of one pool.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PoolChange {
    /// The option as written.
    pub option: String,
    /// The page size, one of the machine's.
    pub size: PageSize,
    /// Where, and to what.
    pub place: Place,
}

/// The pool as a whole, or nodes with a change for each.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Place {
    /// All of it.
    Whole(Change),
    /// Each of these nodes, which all have this pool.
    Nodes(Vec<(NodeId, Change)>),
}

/// What becomes of a number of pages.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Change {
    /// This many.
    To(PageCount),
    /// So many more.
    Up(PageCount),
    /// So many fewer, but not less than none.
    Down(PageCount),
}

impl Change {
    /// The number of pages after the change.
    pub fn of(self, before: PageCount) -> PageCount {
        match self {
            Change::To(pages) => pages,
            Change::Up(more) => before.checked_add(more).unwrap_or(PageCount::new(u64::MAX)),
            Change::Down(fewer) => before.saturating_sub(fewer),
        }
    }
}

/// The group for `vm.hugetlb_shm_group`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ShmGroup {
    /// The option as written.
    pub option: String,
    /// The group's number.
    pub gid: u32,
}

/// A set of mounts, one for each page size.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum MountSet {
    /// `--create-mounts`: for root and its group.
    Root,
    /// `--create-global-mounts`: for everybody.
    Global,
}

impl Request {
    /// Checks the arguments. `group` looks a group up by name or number and
    /// returns its number, if there is such a group.
    ///
    /// # Errors
    /// Everything that is wrong, one fragment each; then nothing may be done.
    pub fn new(
        args: &Args,
        machine: &Machine,
        group: &dyn Fn(&str) -> Result<Option<u32>, String>,
    ) -> Result<Request, Vec<String>> {
        let mut request = Request::default();
        let mut errors = Vec::new();
        for (name, specs) in [
            ("--pool-pages-min", &args.pool_pages_min),
            ("--pool-pages-max", &args.pool_pages_max),
        ] {
            let minimum = name == "--pool-pages-min";
            for text in specs {
                let option = format!("{name} {text}");
                match pool_change(&option, text, minimum, machine, &mut request.notes) {
                    Ok(change) if minimum => request.pool_min.push(change),
                    Ok(change) => request.pool_max.push(change),
                    Err(error) => errors.push(format!("{option}: {error}")),
                }
            }
        }
        errors.extend(whole_and_nodes(&request.pool_min));
        if let Some(name) = &args.set_shm_group {
            let option = format!("--set-shm-group {name}");
            match group(name) {
                Ok(Some(gid)) => request.shm_group = Some(ShmGroup { option, gid }),
                Ok(None) => errors.push(format!("{option}: there is no such group")),
                Err(error) => errors.push(format!("{option}: {error}")),
            }
        }
        let wanted = [
            (args.create_mounts, MountSet::Root),
            (args.create_global_mounts, MountSet::Global),
        ];
        request
            .mounts
            .extend(wanted.iter().filter(|(on, _)| *on).map(|(_, set)| *set));
        match errors.is_empty() {
            true => Ok(request),
            false => Err(errors),
        }
    }
}

fn pool_change(
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
            Place::Whole(change(spec.direction, pages))
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
            let change = |(id, pages)| (id, change(spec.direction, pages));
            Place::Nodes(changes.into_iter().map(change).collect())
        }
    };
    Ok(PoolChange {
        option: option.to_owned(),
        size: pool.size,
        place,
    })
}

fn change(direction: Direction, pages: PageCount) -> Change {
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
fn whole_and_nodes(changes: &[PoolChange]) -> Option<String> {
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

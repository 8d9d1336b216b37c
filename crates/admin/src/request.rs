//! What is wanted, checked against the machine: after this nothing is unknown,
//! too large or ambiguous.

mod pool;

use hugetools_model::node::NodeId;
use hugetools_model::{Machine, PageCount, PageSize};

use crate::args::Args;

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
                match pool::change(&option, text, minimum, machine, &mut request.notes) {
                    Ok(change) if minimum => request.pool_min.push(change),
                    Ok(change) => request.pool_max.push(change),
                    Err(error) => errors.push(format!("{option}: {error}")),
                }
            }
        }
        errors.extend(pool::whole_and_nodes(&request.pool_min));
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

#[cfg(test)]
mod tests {
    use super::*;
    use hugetools_model::{Root, fixture};

    pub(super) fn request(args: &[&str]) -> Result<Request, Vec<String>> {
        let dir = tempfile::tempdir().unwrap();
        let archive = include_str!("../../../tests/fixtures/x86_64-8node.tree");
        fixture::unpack(archive, dir.path()).unwrap();
        let machine = Machine::read(&Root::at(dir.path()).unwrap()).unwrap();
        let argv = [&["hugeadm"], args].concat();
        let args = Args::read(argv.iter().map(Into::into).collect()).unwrap();
        let group = |name: &str| match name {
            "postgres" => Ok(Some(108)),
            "broken" => Err("cannot ask the group database: no answer".to_owned()),
            _ => Ok(None),
        };
        Request::new(&args, &machine, &group)
    }

    #[test]
    fn all_that_is_wrong_is_said_at_once() {
        let errors = request(&[
            "--pool-pages-min=3MB:1",
            "--set-shm-group=x",
            "--create-mounts",
        ]);
        assert_eq!(
            errors.unwrap_err(),
            [
                "--pool-pages-min 3MB:1: there are no huge pages of 3MB, only of 2MB, 1GB",
                "--set-shm-group x: there is no such group"
            ]
        );
    }

    #[test]
    fn a_group_is_a_number_afterwards() {
        let request = request(&["--set-shm-group", "postgres"]).unwrap();
        assert_eq!(request.shm_group.unwrap().gid, 108);
    }

    #[test]
    fn a_database_that_cannot_be_asked_is_not_a_missing_group() {
        assert_eq!(
            request(&["--set-shm-group", "broken"]).unwrap_err(),
            ["--set-shm-group broken: cannot ask the group database: no answer"]
        );
    }

    #[test]
    fn mounts_come_in_their_own_order() {
        let request = request(&["--create-global-mounts", "--create-mounts"]).unwrap();
        assert_eq!(request.mounts, [MountSet::Root, MountSet::Global]);
    }

    #[test]
    fn a_difference_is_of_what_is_there() {
        let pages = PageCount::new;
        assert_eq!(Change::To(pages(7)).of(pages(3)), pages(7));
        assert_eq!(Change::Up(pages(7)).of(pages(3)), pages(10));
        assert_eq!(Change::Down(pages(7)).of(pages(3)), PageCount::ZERO);
    }
}

//! Confirms changes on a terminal: a line per file, with the old and the new value.

use hugetools_model::hugetlb::node::{NodeId, node_pool_path};
use hugetools_model::hugetlb::pool::{Counter, Pool, counter_path};
use hugetools_model::{Bytes, PageSize};

use super::text::past_participle;
use super::{Content, Outcome, StepReport, TaskReport};

/// A file that counts pages of a pool.
#[derive(Debug)]
struct Counted {
    path: String,
    name: String,
    size: PageSize,
}

/// Names for files of pools and of nodes' shares.
#[derive(Debug, Default)]
pub struct Names(Vec<Counted>);

impl Names {
    /// Names for these pools and nodes.
    pub fn new(pools: &[Pool], nodes: &[NodeId]) -> Names {
        let of_pool = |pool: &Pool| {
            let size = pool.size;
            let whole = [
                (Counter::NrHugepages, ""),
                (Counter::NrHugepagesMempolicy, ""),
                (Counter::NrOvercommitHugepages, ", on demand"),
            ];
            let whole = whole.map(|(counter, what)| Counted {
                path: counter_path(pool, counter).to_string(),
                name: format!("{size} pool{what}"),
                size,
            });
            let of_node = nodes.iter().map(move |node| Counted {
                path: node_pool_path(*node, size).to_string(),
                name: format!("{size} pool of node {node}"),
                size,
            });
            whole.into_iter().chain(of_node)
        };
        Names(pools.iter().flat_map(of_pool).collect())
    }

    fn line(&self, path: &str, from: &Content, to: &Content) -> String {
        let counted = self.0.iter().find(|counted| counted.path == path);
        match (counted, to) {
            (Some(counted), Content::Number(pages)) => {
                let bytes = Bytes::new(counted.size.get().saturating_mul(*pages));
                let word = if *pages == 1 { "page" } else { "pages" };
                format!("{}: {from} -> {pages} {word} ({bytes})", counted.name)
            }
            _ => format!("{path}: {from} -> {to}"),
        }
    }
}

/// Returns the lines. A file that changed several times gets one line, and none if its
/// last value equals the first.
pub fn confirmations(tasks: &[TaskReport], names: &Names) -> Vec<String> {
    let steps: Vec<&StepReport> = tasks.iter().flat_map(|task| &task.steps).collect();
    let is_first = |at: usize| steps[..at].iter().all(|step| step.path != steps[at].path);
    let firsts = (0..steps.len()).filter(|at| is_first(*at));
    let lines = firsts.flat_map(|at| match &steps[at].outcome {
        Outcome::Changed { from: None, .. } | Outcome::Changed { to: None, .. } => steps[at..]
            .iter()
            .filter(|step| step.path == steps[at].path && step.is_changed())
            .map(|step| format!("{}: {}", step.path, past_participle(step.action)))
            .collect(),
        _ => names
            .whole_change(&steps[at..])
            .into_iter()
            .collect::<Vec<_>>(),
    });
    lines.collect()
}

impl Names {
    /// Compares the value before the first change with the value after the last
    /// one.
    fn whole_change(&self, steps: &[&StepReport]) -> Option<String> {
        let path = &steps.first()?.path;
        let changes = || {
            let of_file = steps.iter().filter(|step| step.path == *path);
            of_file.filter_map(|step| match &step.outcome {
                Outcome::Changed {
                    from: Some(from),
                    to: Some(to),
                } => Some((from, to)),
                _ => None,
            })
        };
        let ((from, _), (_, to)) = (changes().next()?, changes().next_back()?);
        (from != to).then(|| self.line(path, from, to))
    }
}

impl StepReport {
    fn is_changed(&self) -> bool {
        matches!(self.outcome, Outcome::Changed { .. })
    }
}

#[cfg(test)]
mod tests {
    use super::super::text::tests::report;
    use super::*;
    use hugetools_model::PageCount;

    fn changed(from: u64, to: u64) -> Outcome {
        Outcome::Changed {
            from: Some(from.into()),
            to: Some(to.into()),
        }
    }

    fn names() -> Names {
        let pool = Pool {
            size: PageSize::new(2 << 20).unwrap(),
            default: true,
            total: PageCount::ZERO,
            free: PageCount::ZERO,
            reserved: PageCount::ZERO,
            surplus: PageCount::ZERO,
            overcommit: None,
            demote_size: None,
        };
        Names::new(&[pool], &[NodeId::new(1)])
    }

    #[test]
    fn a_file_that_changes_twice_gets_one_line() {
        let lines = confirmations(&report(vec![changed(0, 3), changed(3, 1024)]), &names());
        assert_eq!(lines, ["2MB pool: 0 -> 1024 pages (2GB)"]);
        let lines = confirmations(&report(vec![changed(5, 0), changed(0, 5)]), &names());
        assert_eq!(lines, [""; 0]);
    }

    #[test]
    fn names_shares_settings_and_directories() {
        let mut tasks = report(vec![
            changed(0, 1),
            changed(0, 7),
            Outcome::Changed {
                from: Some("never".to_owned().into()),
                to: Some("advise".to_owned().into()),
            },
            Outcome::Changed {
                from: None,
                to: None,
            },
            Outcome::Changed {
                from: None,
                to: None,
            },
            Outcome::Unchanged { value: None },
        ]);
        let steps = &mut tasks[0].steps;
        steps[0].path = node_pool_path(NodeId::new(1), PageSize::new(2 << 20).unwrap()).to_string();
        steps[1].path = "/proc/sys/vm/nr_overcommit_hugepages".to_owned();
        steps[2].path = "/shmem_enabled".to_owned();
        for (step, action) in steps[3..].iter_mut().zip(["make_dir", "mount", "mount"]) {
            (step.path, step.action) = ("/mnt".to_owned(), action);
        }
        assert_eq!(
            confirmations(&tasks, &names()),
            [
                "2MB pool of node 1: 0 -> 1 page (2MB)",
                "2MB pool, on demand: 0 -> 7 pages (14MB)",
                "/shmem_enabled: never -> advise",
                "/mnt: made",
                "/mnt: mounted"
            ]
        );
    }
}

//! Properties of any plan on a simulated kernel.

use hugetools_admin::report::{Content, Outcome, Status, StepReport, status};
use proptest::prelude::*;

use crate::support::cases;

use super::world::{EARLIER_FAILED, NODES, World, outcomes, size};

fn specs() -> impl Strategy<Value = Vec<String>> {
    let amount = prop_oneof![
        (0..400u64).prop_map(|n| n.to_string()),
        (1..50u64).prop_map(|n| format!("{}M", 2 * n)),
        (1..40u64).prop_map(|n| format!("{n}%")),
    ];
    let sign = prop_oneof![Just(""), Just("+"), Just("-")];
    let minimum = prop_oneof![
        Just("--pool-pages-min=2MB"),
        Just("--pool-pages-min=DEFAULT")
    ];
    let one = (minimum, sign, amount).prop_map(|(to, sign, amount)| format!("{to}:{sign}{amount}"));
    let maximum = (0..500u64).prop_map(|n| format!("--pool-pages-max=DEFAULT:{n}"));
    prop::collection::vec(prop_oneof![3 => one, 1 => maximum], 1..5)
}

proptest! {
    #![proptest_config(cases(24))]

    /// Whatever memory the kernel has, the report states the pool's real size.
    #[test]
    fn the_report_matches_the_pool(specs in specs(), room in 0..600u64) {
        let mut world = World::new(NODES, |sim| sim.room(None, size("2M"), room));
        let specs: Vec<&str> = specs.iter().map(String::as_str).collect();
        let plan = world.plan(&specs);
        let tasks = world.apply(&plan);
        let steps: usize = plan.tasks.iter().map(|task| task.steps.len()).sum();
        prop_assert_eq!(outcomes(&tasks).len(), steps);
        let (persistent, _) = world.pool(size("2M"));
        let nr = |step: &&StepReport| step.path.ends_with("/nr_hugepages");
        let last = tasks.iter().flat_map(|task| &task.steps).rfind(nr);
        let reported = match last.map(|step| &step.outcome) {
            Some(Outcome::Short { got, .. }) => Some(Content::Number(*got)),
            Some(Outcome::Changed { to, .. }) => to.clone(),
            Some(Outcome::Unchanged { value }) => value.clone(),
            _ => None,
        };
        prop_assert!(reported.is_none_or(|reported| reported == Content::Number(persistent)));
        let short = outcomes(&tasks).iter().any(|o| matches!(o, Outcome::Short { .. }));
        prop_assert_eq!(status(&tasks) == Status::Short, short);
        prop_assert!(short || persistent <= room || last.is_none());
    }

    /// The kernel may fail after any number of writes. The report contains every step,
    /// and after a failure only the pool's maximum is restored.
    #[test]
    fn a_failure_half_way_is_reported_completely(specs in specs(), writes in 0..6u32) {
        let mut world = World::new(NODES, |sim| sim.fail_after(writes));
        let specs: Vec<&str> = specs.iter().map(String::as_str).collect();
        let plan = world.plan(&specs);
        let tasks = world.apply(&plan);
        prop_assert_eq!(tasks.len(), plan.tasks.len());
        for (task, planned) in tasks.iter().zip(&plan.tasks) {
            prop_assert_eq!(task.steps.len(), planned.steps.len());
            let failed = task.steps.iter().position(|s| matches!(s.outcome, Outcome::Failed(_)));
            let after = task.steps.iter().skip(failed.map_or(usize::MAX, |n| n + 1));
            for step in after {
                let restores_maximum = step.path.ends_with("nr_overcommit_hugepages");
                prop_assert!(restores_maximum || step.outcome == EARLIER_FAILED, "{:?}", step);
            }
        }
        let failed = outcomes(&tasks).iter().any(|o| matches!(o, Outcome::Failed(_)));
        prop_assert_eq!(status(&tasks) == Status::Failed, failed);
    }
}

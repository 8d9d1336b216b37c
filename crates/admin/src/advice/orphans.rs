//! Files and shared memory segments that hold pool pages without any process using
//! them.

use std::collections::BTreeMap;

use hugetools_model::PageCount;

use super::Finding;
use crate::who::{Holder, PoolAccount};

pub(super) fn find(accounts: &[PoolAccount]) -> Vec<Finding> {
    accounts.iter().flat_map(of_pool).collect()
}

fn of_pool(pool: &PoolAccount) -> Vec<Finding> {
    let mut pages: BTreeMap<&str, (String, u64)> = BTreeMap::new();
    for holder in &pool.held.holders {
        if let Some(command) = &holder.command {
            let entry = pages.entry(command).or_insert_with(|| (name(holder), 0));
            entry.1 += holder.pages;
        }
    }
    let finding = |(command, (name, pages)): (&str, (String, u64))| {
        let pages = PageCount::new(pages).with_noun();
        Finding::new(
            "pool",
            format!(
                "{name} holds {pages} of {}, but no process uses it",
                pool.row.size
            ),
            "other programs cannot use these pages; keep it if a program will reopen it",
            command,
        )
    };
    pages.into_iter().map(finding).collect()
}

fn name(holder: &Holder) -> String {
    match (holder.id, &holder.path) {
        (Some(id), _) => format!("shared memory segment {id}"),
        (None, path) => path.clone().unwrap_or_default(),
    }
}

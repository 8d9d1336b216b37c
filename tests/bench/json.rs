//! The results as JSON: seconds, kB, and parts of 1.

use serde_json::{Value, json};

use super::outcome::{Block, Row};
use super::stats;

pub(crate) fn document(blocks: &[Block], rounds: u32, quick: bool) -> Value {
    let rows = blocks
        .iter()
        .flat_map(|block| block.rows.iter().map(move |row| way(block, row)));
    json!({"rounds": rounds, "quick": quick, "rows": rows.collect::<Vec<_>>()})
}

fn way(block: &Block, row: &Row) -> Value {
    let (workload, title, way) = (&block.name, &block.title, row.way.name());
    match &row.result {
        Err(why) => json!({"workload": workload, "title": title, "way": way, "not_run": why}),
        Ok(rounds) => json!({
            "workload": workload,
            "title": title,
            "way": way,
            "seconds": rounds.seconds,
            "median": stats::median(&rounds.seconds),
            "spread": stats::spread(&rounds.seconds),
            "ratio": block.ratio(rounds),
            "cpu": stats::median(&rounds.cpu),
            "faults": stats::median(&rounds.faults),
            "page_tables": rounds.memory.tables,
            "peak": rounds.memory.peak,
            "pool": rounds.memory.pool,
            "huge": rounds.memory.share(),
        }),
    }
}

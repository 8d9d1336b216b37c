//! The same as JSON.

use serde_json::{Value, json};

use super::outcome::{Block, Row, SaveRow};
use super::stats;

/// Both tables. Seconds are seconds, memory is in kB, parts are parts of 1.
pub(crate) fn document(blocks: &[Block], saves: &[SaveRow], rounds: u32, quick: bool) -> Value {
    let rows = blocks
        .iter()
        .flat_map(|block| block.rows.iter().map(move |row| way(block, row)));
    json!({
        "rounds": rounds,
        "quick": quick,
        "rows": rows.collect::<Vec<_>>(),
        "bgsave": saves.iter().map(save).collect::<Vec<_>>(),
    })
}

fn way(block: &Block, row: &Row) -> Value {
    let cell = match &row.result {
        Ok(cell) => cell,
        Err(why) => {
            return json!({
                "workload": block.name, "title": block.title,
                "way": row.way.name(), "not_run": why,
            });
        }
    };
    json!({
        "workload": block.name,
        "title": block.title,
        "way": row.way.name(),
        "seconds": cell.seconds,
        "median": stats::median(&cell.seconds),
        "spread": stats::spread(&cell.seconds),
        "ratio": block.ratio(cell),
        "cpu": stats::median(&cell.cpu),
        "faults": stats::median(&cell.faults),
        "page_tables": cell.memory.tables,
        "peak": cell.memory.peak,
        "pool": cell.memory.pool,
        "huge": cell.memory.share(),
    })
}

fn save((name, result): &SaveRow) -> Value {
    match result {
        Ok(save) => json!({
            "way": name,
            "fork_ms": save.fork_ms,
            "slowest_before_ms": save.slowest_before_ms,
            "slowest_ms": save.slowest_ms,
            "requests": save.requests,
            "seconds": save.seconds,
            "before": save.before,
            "peak": save.peak,
            "huge_before": save.huge_before,
            "huge_after": save.huge_after,
        }),
        Err(why) => json!({ "way": name, "not_run": why }),
    }
}

//! The results as a table.

use serde_json::Value;

const HEAD: &str =
    "way                median   ratio  interval of 99 %      faults  tables kB   peak MB   huge\n";

pub(crate) fn text(documents: &[Value]) -> String {
    let blocks: String = documents.iter().map(block).collect();
    format!("{HEAD}{blocks}")
}

fn block(document: &Value) -> String {
    let text = |name: &str| document[name].as_str().unwrap_or_default();
    let head = format!("\n{}: {}", text("workload"), text("title"));
    let Some(ways) = document["ways"].as_array() else {
        return format!("{head}\n  not run: {}\n", text("not_run"));
    };
    let lines: String = ways.iter().map(line).collect();
    let doubts = document["doubts"].as_array().into_iter().flatten();
    let doubts = doubts.map(|doubt| format!("  {}\n", doubt.as_str().unwrap_or_default()));
    format!(
        "{head}; {}\n{lines}{}",
        text("machine"),
        doubts.collect::<String>()
    )
}

fn line(way: &Value) -> String {
    let number = |name: &str| way[name].as_f64().unwrap_or(0.0);
    let (resident, huge) = (number("resident"), number("huge"));
    let share = 100.0 * huge / resident.max(1.0);
    let (ratio, interval) = match way["ratio"].as_f64() {
        Some(ratio) => (
            format!("{ratio:.2}"),
            format!("{:.2} to {:.2}", number("ratio_low"), number("ratio_high")),
        ),
        None => ("-".to_owned(), String::new()),
    };
    format!(
        "  {:<12} {:>10.*}  {ratio:>6}  {interval:>16}  {:>10.0}  {:>9.0}  {:>8.0}  {share:>3.0} %\n",
        way["way"].as_str().unwrap_or_default(),
        if number("median") < 100.0 { 3 } else { 0 },
        number("median"),
        number("faults"),
        number("page_tables") / 1024.0,
        number("peak") / 1048576.0,
    )
}

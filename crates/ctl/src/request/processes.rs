//! Words that name running processes.

use hugetools_model::process::Pid;

/// One or several running processes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ProcessSelector {
    /// The process with this ID.
    Pid(Pid),
    /// All processes with this name or executable.
    Name(String),
    /// All processes with huge pages.
    All,
}

impl ProcessSelector {
    /// Parses a number, a name, or `all`.
    pub(crate) fn parse(word: &str) -> Result<ProcessSelector, String> {
        if word == "all" {
            return Ok(ProcessSelector::All);
        }
        if word.is_empty() || word.contains('/') {
            let word = match word {
                "" => "\"\"",
                word => word,
            };
            return Err(format!(
                "{word}: expected a process ID or a name without a slash"
            ));
        }
        match word.trim_start_matches(['-', '+']).parse::<u64>() {
            Err(_) => Ok(ProcessSelector::Name(word.to_owned())),
            Ok(_) => {
                let pid = word
                    .parse()
                    .ok()
                    .and_then(Pid::new)
                    .map(ProcessSelector::Pid);
                pid.ok_or_else(|| format!("{word}: not a process ID"))
            }
        }
    }
}

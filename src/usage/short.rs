//! The short help of hugeadm and hugectl: the usual options, at most 40 lines. `--help` has
//! all options.

/// `hugeadm -h`
pub(crate) const HUGEADM: &str = "\
Administer huge page pools and hugetlbfs mounts

Usage: hugeadm [OPTION]...     without options: an overview

Show:
  --pool-list[=long]         pools: minimum, current and maximum pages
  --pool-list-nodes          each memory node's share of them
  --list-all-mounts          hugetlbfs mounts
  --who                      who holds pages of the pools
  --stats                    the kernel's counters of huge pages
  --explain                  problems, and commands that solve them
  --size-for WHAT            how many pages a program needs

Change:
  --pool-pages-min SPEC      the pages that a pool keeps
  --pool-pages-max SPEC      how far it grows on demand
  --pool-spread SPREAD       divide an amount among nodes
  --hard                     try harder to find the memory
  --create-global-mounts     mount hugetlbfs for everybody
  --unmount                  unmount what hugeadm mounted
  --thp-madvise              transparent huge pages where programs ask
  --set-shm-group GROUP      who may use SHM_HUGETLB
  --clear                    give everything back that is not in use

  --dry-run                  print the commands, change nothing
  --json                     print the result as JSON
  -v                         print every change

SPEC is SIZE[@NODES]:[+|-]AMOUNT, as in 2MB:64 or DEFAULT:2048MB.

Examples:
  hugeadm --pool-pages-min DEFAULT:2048MB
  hugeadm --dry-run --pool-pages-min 2MB@0-1:+64

Exit status: 0 done, 1 failed, 2 usage, 3 less than asked, 4 --check differs.
hugeadm --help lists all options, hugeadm(8) explains them.
";

/// `hugectl -h`, before the examples
pub(crate) const HUGECTL: &str = "\
Start a program with its memory on huge pages, and prove it

Usage: hugectl [OPTION]... PROGRAM [ARGUMENT]...
       hugectl --status PID|NAME|all... [OPTION]...

What goes on huge pages; =SIZE names a page size, =thp needs no pool:
  --heap           memory that malloc returns
  --text           code and read-only data
  --data, --bss    variables
  --shm            shared memory
  --anon           large private mappings of the program
  --stack          stacks of all threads
  --auto           options known to suit the program

Reports:
  --report         print at the end what was on huge pages
  --require WHAT   refuse to start with less
  --explain        predict pages, shortfalls and cures
  --dry-run        print shell commands; start nothing
  --compare        run in several ways; say which is faster
  --status         show what running processes have
  --pid PID        move a running program to huge pages
  --emit=systemd   print settings for a service
  -v, -q           print more, or less

";

pub(crate) const HUGECTL_EXAMPLES: &str = "\
Examples:
  hugectl --heap ./solver input        pool pages, else transparent ones
  hugectl --thp python3 job.py         transparent only; needs no pool
  hugectl --shm pg_ctl -D data start   PostgreSQL's shared memory
  hugectl --heap --report ./solver     print at the end what was huge
  hugectl --heap --explain ./solver    predict pages, shortfalls and cures
  hugectl --status postgres            look at running processes

hugectl --help lists all options, hugectl(8) explains them.
";

#[cfg(test)]
mod tests {
    use super::*;
    use clap::{Arg, Command, CommandFactory};

    fn names_options(text: &str, command: &Command) {
        assert!(text.lines().count() <= 40, "{}", text.lines().count());
        assert!(text.lines().all(|line| line.len() <= 80));
        let longs: Vec<&str> = command.get_arguments().filter_map(Arg::get_long).collect();
        let words = text.split(|c: char| c.is_whitespace() || "[=,.;:".contains(c));
        let options = words.filter_map(|word| word.strip_prefix("--"));
        let options: Vec<&str> = options.collect();
        assert!(options.len() > 15, "{options:?}");
        for name in options {
            assert!(longs.contains(&name), "--{name}");
        }
    }

    #[test]
    fn the_short_help_names_existing_options() {
        names_options(HUGEADM, &hugetools_admin::args::Args::command());
        let text = [HUGECTL, HUGECTL_EXAMPLES].concat();
        names_options(&text, &hugetools_ctl::args::Args::command());
    }
}

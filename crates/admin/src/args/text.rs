//! Text of the help after the options.

pub(super) const AFTER_HELP: &str = "\
A pool SPEC is SIZE[@NODES]:[+|-]AMOUNT.
  SIZE    DEFAULT, or a page size of this machine: 2MB, 1GB (see --page-sizes-all)
  NODES   memory nodes as the kernel lists them: 0, 0-3, 0,2; the amount is for each
  AMOUNT  a number of pages, a size (2048MB, 8G), or a share of the memory (10%);
          + or - adds it to the pool or subtracts it

Examples:
  hugeadm --pool-list                          show the pools
  hugeadm --explain                            show problems and commands that solve them
  hugeadm --pool-pages-min DEFAULT:2048MB      2 GiB of pages of the default size
  hugeadm --pool-pages-min 2MB:+16             16 pages more
  hugeadm --pool-pages-min 2MB@0-1:64          64 pages on node 0 and 64 on node 1
  hugeadm --pool-spread 2MB@0*3,1:160          120 pages on node 0 and 40 on node 1
  hugeadm --pool-pages-max DEFAULT:10%         let the pool grow on demand to 10% of memory
  hugeadm --hard --pool-pages-min DEFAULT:50%  try hard to find the memory
  hugeadm --dry-run --pool-pages-min 1GB:2     print the commands, change nothing
  hugeadm --create-global-mounts               mount hugetlbfs for everybody
  hugeadm --set-shm-group postgres             let a group's members use SHM_HUGETLB
  hugeadm --set-userfaultfd-group postgres     let a group's threaded programs fork

Exit status: 0 done, 1 failed, 2 usage, 3 less than asked, 4 --check differs.";

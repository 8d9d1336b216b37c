
using namespace System.Management.Automation
using namespace System.Management.Automation.Language

Register-ArgumentCompleter -Native -CommandName 'hugeadm' -ScriptBlock {
    param($wordToComplete, $commandAst, $cursorPosition)

    $commandElements = $commandAst.CommandElements
    $command = @(
        'hugeadm'
        for ($i = 1; $i -lt $commandElements.Count; $i++) {
            $element = $commandElements[$i]
            if ($element -isnot [StringConstantExpressionAst] -or
                $element.StringConstantType -ne [StringConstantType]::BareWord -or
                $element.Value.StartsWith('-') -or
                $element.Value -eq $wordToComplete) {
                break
        }
        $element.Value
    }) -join ';'

    $completions = @(switch ($command) {
        'hugeadm' {
            [CompletionResult]::new('--pool-list', '--pool-list', [CompletionResultType]::ParameterName, 'Show all pools: page size, minimum, current and maximum pages')
            [CompletionResult]::new('--watch', '--watch', [CompletionResultType]::ParameterName, 'With --stats: repeat every SECONDS (default 2), with the differences')
            [CompletionResult]::new('--size-for', '--size-for', [CompletionResultType]::ParameterName, 'Show how many pages a program needs, and the lines for the file of pools')
            [CompletionResult]::new('--output', '--output', [CompletionResultType]::ParameterName, 'With --metrics: replace FILE, for the textfile collector of node_exporter')
            [CompletionResult]::new('--pool-pages-min', '--pool-pages-min', [CompletionResultType]::ParameterName, 'Set the minimum number of pages of a pool; may be repeated')
            [CompletionResult]::new('--pool-pages-max', '--pool-pages-max', [CompletionResultType]::ParameterName, 'Set the maximum number of pages of a pool, with surplus pages; may be repeated')
            [CompletionResult]::new('--pool-spread', '--pool-spread', [CompletionResultType]::ParameterName, 'Divide one amount among memory nodes; may be repeated')
            [CompletionResult]::new('--demote', '--demote', [CompletionResultType]::ParameterName, 'Split free pages into smaller ones; may be repeated')
            [CompletionResult]::new('--add-temp-swap', '--add-temp-swap', [CompletionResultType]::ParameterName, 'Add a temporary swap file while a pool grows: 5 huge pages, or PAGES of them')
            [CompletionResult]::new('--hvo', '--hvo', [CompletionResultType]::ParameterName, 'Free the kernel''s descriptors of new huge pages (HVO): on or off')
            [CompletionResult]::new('--create-user-mounts', '--create-user-mounts', [CompletionResultType]::ParameterName, 'Mount each page size on /var/lib/hugetlbfs/user/USER/pagesize-SIZE')
            [CompletionResult]::new('--create-group-mounts', '--create-group-mounts', [CompletionResultType]::ParameterName, 'Mount each page size on /var/lib/hugetlbfs/group/GROUP/pagesize-SIZE')
            [CompletionResult]::new('--max-size', '--max-size', [CompletionResultType]::ParameterName, 'Limit each new mount to SIZE, or to a share of its pool (50%); 0 is no limit')
            [CompletionResult]::new('--min-size', '--min-size', [CompletionResultType]::ParameterName, 'Reserve SIZE of the pool, or a share of it (10%), for each new mount')
            [CompletionResult]::new('--max-inodes', '--max-inodes', [CompletionResultType]::ParameterName, 'Limit each new mount to N files and directories; 0 is no limit')
            [CompletionResult]::new('--mount-mode', '--mount-mode', [CompletionResultType]::ParameterName, 'Set this mode on the mounts instead of the default one')
            [CompletionResult]::new('--thp-khugepaged-pages', '--thp-khugepaged-pages', [CompletionResultType]::ParameterName, 'Set how many base pages khugepaged scans at a time')
            [CompletionResult]::new('--thp-khugepaged-alloc-sleep', '--thp-khugepaged-alloc-sleep', [CompletionResultType]::ParameterName, 'Set how long khugepaged sleeps after a failed allocation')
            [CompletionResult]::new('--thp-khugepaged-scan-sleep', '--thp-khugepaged-scan-sleep', [CompletionResultType]::ParameterName, 'Set how long khugepaged sleeps between scans')
            [CompletionResult]::new('--thp-defrag', '--thp-defrag', [CompletionResultType]::ParameterName, 'Set how hard a page fault tries to get one')
            [CompletionResult]::new('--thp-shmem', '--thp-shmem', [CompletionResultType]::ParameterName, 'Set which shared memory and tmpfs files get them')
            [CompletionResult]::new('--thp-size', '--thp-size', [CompletionResultType]::ParameterName, 'Set the mode of one size of multi-size THP (64kB:always); may be repeated')
            [CompletionResult]::new('--thp-max-ptes-none', '--thp-max-ptes-none', [CompletionResultType]::ParameterName, 'Set how many empty base pages khugepaged may fill to make a huge page')
            [CompletionResult]::new('--thp-use-zero-page', '--thp-use-zero-page', [CompletionResultType]::ParameterName, 'Let memory that is only read share one huge page of zeros: on or off')
            [CompletionResult]::new('--set-shm-group', '--set-shm-group', [CompletionResultType]::ParameterName, 'Let the members of a group (name or number) create shared memory of huge pages')
            [CompletionResult]::new('--set-userfaultfd-group', '--set-userfaultfd-group', [CompletionResultType]::ParameterName, 'Let threaded programs of a group (name or number) fork from huge pages')
            [CompletionResult]::new('--apply', '--apply', [CompletionResultType]::ParameterName, 'Make the machine as FILE or /etc/hugetools/hugetools.toml says: hugetools.toml(5)')
            [CompletionResult]::new('--check', '--check', [CompletionResultType]::ParameterName, 'Show where the machine differs from it; the exit status is 4 then')
            [CompletionResult]::new('--save', '--save', [CompletionResultType]::ParameterName, 'Print the present state as such a file, or write it to FILE')
            [CompletionResult]::new('--verbose', '--verbose', [CompletionResultType]::ParameterName, 'Set the verbosity: 0 nothing, 1 errors, 2 warnings (default), 3 every change, 4 all')
            [CompletionResult]::new('--color', '--color', [CompletionResultType]::ParameterName, 'Colour the text output: auto (default; on a terminal unless NO_COLOR is set), always or never')
            [CompletionResult]::new('--sysroot', '--sysroot', [CompletionResultType]::ParameterName, 'Work on a recorded /proc and /sys below DIR instead of this machine')
            [CompletionResult]::new('--pool-list-nodes', '--pool-list-nodes', [CompletionResultType]::ParameterName, 'Show each memory node''s share of all pools')
            [CompletionResult]::new('--page-sizes', '--page-sizes', [CompletionResultType]::ParameterName, 'Show the usable page sizes in bytes: those with a pool and a mount')
            [CompletionResult]::new('--page-sizes-all', '--page-sizes-all', [CompletionResultType]::ParameterName, 'Show all huge page sizes of this machine, in bytes')
            [CompletionResult]::new('--list-all-mounts', '--list-all-mounts', [CompletionResultType]::ParameterName, 'Show all hugetlbfs mounts and their options')
            [CompletionResult]::new('--who', '--who', [CompletionResultType]::ParameterName, 'Show the users of each pool: who holds pages and who has reserved them')
            [CompletionResult]::new('--stats', '--stats', [CompletionResultType]::ParameterName, 'Show the kernel''s statistics of huge pages, and how many could be allocated now')
            [CompletionResult]::new('--explain', '--explain', [CompletionResultType]::ParameterName, 'Show memory, mounts and pools, and problems with them')
            [CompletionResult]::new('--print-persistent', '--print-persistent', [CompletionResultType]::ParameterName, 'Print settings that restore the present state at boot')
            [CompletionResult]::new('--metrics', '--metrics', [CompletionResultType]::ParameterName, 'Print pools, events and control groups as metrics for Prometheus')
            [CompletionResult]::new('--bug-report', '--bug-report', [CompletionResultType]::ParameterName, 'Print a description of this machine for a bug report')
            [CompletionResult]::new('--obey-mempolicy', '--obey-mempolicy', [CompletionResultType]::ParameterName, 'Allocate pages only from the nodes in hugeadm''s own memory policy')
            [CompletionResult]::new('--obey-numa-mempol', '--obey-numa-mempol', [CompletionResultType]::ParameterName, 'Allocate pages only from the nodes in hugeadm''s own memory policy')
            [CompletionResult]::new('--hard', '--hard', [CompletionResultType]::ParameterName, 'Try hard to reach a minimum')
            [CompletionResult]::new('--force', '--force', [CompletionResultType]::ParameterName, 'Let pools take memory that other programs need')
            [CompletionResult]::new('--add-ramdisk-swap', '--add-ramdisk-swap', [CompletionResultType]::ParameterName, 'Use RAM disks (/dev/ram0 and so on) as swap while a pool grows')
            [CompletionResult]::new('--persist', '--persist', [CompletionResultType]::ParameterName, 'Keep the added swap')
            [CompletionResult]::new('--clear', '--clear', [CompletionResultType]::ParameterName, 'Shrink all pools to the pages in use, and unmount as --unmount does')
            [CompletionResult]::new('--create-mounts', '--create-mounts', [CompletionResultType]::ParameterName, 'Mount each page size on /var/lib/hugetlbfs/pagesize-SIZE, for root')
            [CompletionResult]::new('--create-global-mounts', '--create-global-mounts', [CompletionResultType]::ParameterName, 'Mount each page size on /var/lib/hugetlbfs/global/pagesize-SIZE, for everybody')
            [CompletionResult]::new('--unmount', '--unmount', [CompletionResultType]::ParameterName, 'Unmount everything that the create options mounted, and remove the directories')
            [CompletionResult]::new('--thp-always', '--thp-always', [CompletionResultType]::ParameterName, 'Use them for all private memory')
            [CompletionResult]::new('--thp-madvise', '--thp-madvise', [CompletionResultType]::ParameterName, 'Use them where a program asks for them with MADV_HUGEPAGE')
            [CompletionResult]::new('--thp-never', '--thp-never', [CompletionResultType]::ParameterName, 'Use none')
            [CompletionResult]::new('--set-recommended-shmmax', '--set-recommended-shmmax', [CompletionResultType]::ParameterName, 'Raise kernel.shmmax to the size of all pools at their maximum')
            [CompletionResult]::new('--set-recommended-min_free_kbytes', '--set-recommended-min_free_kbytes', [CompletionResultType]::ParameterName, 'Raise vm.min_free_kbytes so that free memory fragments less')
            [CompletionResult]::new('--enable-zone-movable', '--enable-zone-movable', [CompletionResultType]::ParameterName, 'Let pools allocate from ZONE_MOVABLE; Linux before 4.16')
            [CompletionResult]::new('--disable-zone-movable', '--disable-zone-movable', [CompletionResultType]::ParameterName, 'Don''t let pools allocate from ZONE_MOVABLE; Linux before 4.16')
            [CompletionResult]::new('--rollback', '--rollback', [CompletionResultType]::ParameterName, 'Take back what the last --apply changed')
            [CompletionResult]::new('--example-config', '--example-config', [CompletionResultType]::ParameterName, 'Print a file with all keys, explained')
            [CompletionResult]::new('--install-boot', '--install-boot', [CompletionResultType]::ParameterName, 'Apply the file at each boot, before the programs that need its pools')
            [CompletionResult]::new('--uninstall-boot', '--uninstall-boot', [CompletionResultType]::ParameterName, 'Remove what --install-boot wrote, except files that were changed since')
            [CompletionResult]::new('-d', '-d', [CompletionResultType]::ParameterName, 'Print the equivalent shell commands and change nothing')
            [CompletionResult]::new('--dry-run', '--dry-run', [CompletionResultType]::ParameterName, 'Print the equivalent shell commands and change nothing')
            [CompletionResult]::new('-v', '-v', [CompletionResultType]::ParameterName, 'Raise the verbosity by one')
            [CompletionResult]::new('--json', '--json', [CompletionResultType]::ParameterName, 'Print the result as one JSON document')
            [CompletionResult]::new('-h', '-h', [CompletionResultType]::ParameterName, 'Print help: -h in short, --help in full')
            [CompletionResult]::new('--help', '--help', [CompletionResultType]::ParameterName, 'Print help: -h in short, --help in full')
            [CompletionResult]::new('--version', '--version', [CompletionResultType]::ParameterName, 'Print the version')
            break
        }
    })

    $completions.Where{ $_.CompletionText -like "$wordToComplete*" } |
        Sort-Object -Property ListItemText
}

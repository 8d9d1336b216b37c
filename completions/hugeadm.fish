complete -c hugeadm -l pool-list -d 'Show all pools: page size, minimum, current and maximum pages' -f -a "classic\t'libhugetlbfs\' columns'
long\t'All columns'"
complete -c hugeadm -l size-for -d 'Show how many pages a program needs, and a pool entry for hugetools.toml' -r
complete -c hugeadm -l output -d 'With --metrics: replace FILE, for the textfile collector of node_exporter' -r -F
complete -c hugeadm -l pool-pages-min -d 'Set the minimum number of pages of a pool; may be repeated' -r
complete -c hugeadm -l pool-pages-max -d 'Set the maximum number of pages of a pool, counting surplus pages; may be repeated' -r
complete -c hugeadm -l pool-spread -d 'Divide one amount among memory nodes; may be repeated' -r
complete -c hugeadm -l add-temp-swap -d 'Add a temporary swap file of PAGES huge pages (default 5) while a pool grows'
complete -c hugeadm -l hvo -d 'Free the kernel\'s descriptors of new huge pages (HVO): on or off' -r -f -a "on\t''
off\t''"
complete -c hugeadm -l create-user-mounts -d 'Mount each page size on /var/lib/hugetlbfs/user/USER/pagesize-SIZE' -r
complete -c hugeadm -l create-group-mounts -d 'Mount each page size on /var/lib/hugetlbfs/group/GROUP/pagesize-SIZE' -r
complete -c hugeadm -l max-size -d 'Limit each new mount to SIZE; 0 is no limit' -r
complete -c hugeadm -l max-inodes -d 'Limit each new mount to N files and directories; 0 is no limit' -r
complete -c hugeadm -l mount-mode -d 'Set this mode on the mounts instead of the default one' -r
complete -c hugeadm -l thp-khugepaged-pages -d 'Set how many base pages khugepaged scans at a time' -r
complete -c hugeadm -l thp-khugepaged-alloc-sleep -d 'Set how long khugepaged sleeps after a failed allocation' -r
complete -c hugeadm -l thp-khugepaged-scan-sleep -d 'Set how long khugepaged sleeps between scans' -r
complete -c hugeadm -l thp-defrag -d 'Set how hard a page fault tries to get one' -r -f -a "always\t''
defer\t''
defer+madvise\t''
madvise\t''
never\t''"
complete -c hugeadm -l thp-shmem -d 'Set which shared memory and tmpfs files get them' -r -f -a "always\t''
within_size\t''
advise\t''
never\t''
deny\t''
force\t''"
complete -c hugeadm -l thp-size -d 'Set the mode of one size of multi-size THP (64kB:always); may be repeated' -r
complete -c hugeadm -l thp-max-ptes-none -d 'Set how many empty base pages khugepaged may fill to make a huge page' -r
complete -c hugeadm -l thp-use-zero-page -d 'Let memory that is only read share one huge page of zeros: on or off' -r -f -a "on\t''
off\t''"
complete -c hugeadm -l set-shm-group -d 'Let the members of a group (name or number) create shared memory of huge pages' -r
complete -c hugeadm -l set-userfaultfd-group -d 'Let threaded programs of a group (name or number) fork from huge pages' -r
complete -c hugeadm -l apply -d 'Apply FILE, or the files in /etc/hugetools: hugetools.toml(5)' -F
complete -c hugeadm -l check -d 'Show how the machine differs from FILE; exit status 4 if it does' -F
complete -c hugeadm -l save -d 'Print the present state as a configuration file, or write it to FILE' -F
complete -c hugeadm -l verbose -d 'Set the verbosity: 0 nothing, 1 errors, 2 warnings (default), 3 every change, 4 all' -r
complete -c hugeadm -l sysroot -d 'Work on a recorded /proc and /sys below DIR instead of this machine' -r -f -a "(__fish_complete_directories)"
complete -c hugeadm -l pool-list-nodes -d 'Show each memory node\'s share of all pools'
complete -c hugeadm -l page-sizes -d 'Show the usable page sizes in bytes: those with a pool and a mount'
complete -c hugeadm -l page-sizes-all -d 'Show all huge page sizes of this machine, in bytes'
complete -c hugeadm -l list-all-mounts -d 'Show all hugetlbfs mounts and their options'
complete -c hugeadm -l who -d 'Show the users of each pool: who holds pages and who has reserved them'
complete -c hugeadm -l stats -d 'Show the kernel\'s statistics of huge pages, and how many could be allocated now'
complete -c hugeadm -l explain -d 'Show memory, mounts and pools, and problems with them'
complete -c hugeadm -l metrics -d 'Print pools, events and control groups as metrics for Prometheus'
complete -c hugeadm -l bug-report -d 'Print a description of this machine for a bug report'
complete -c hugeadm -l obey-mempolicy -l obey-numa-mempol -d 'Allocate pages only from the nodes in hugeadm\'s own memory policy'
complete -c hugeadm -l hard -d 'Try hard to reach a minimum'
complete -c hugeadm -l force -d 'Let pools take memory that other programs need'
complete -c hugeadm -l add-ramdisk-swap -d 'Use RAM disks (/dev/ram0 and so on) as swap while a pool grows'
complete -c hugeadm -l persist -d 'Keep the added swap'
complete -c hugeadm -l clear -d 'Shrink all pools to the pages in use, and unmount as --unmount does'
complete -c hugeadm -l create-mounts -d 'Mount each page size on /var/lib/hugetlbfs/pagesize-SIZE, for root'
complete -c hugeadm -l create-global-mounts -d 'Mount each page size on /var/lib/hugetlbfs/global/pagesize-SIZE, for everybody'
complete -c hugeadm -l unmount -d 'Unmount everything that the create options mounted, and remove the directories'
complete -c hugeadm -l thp-always -d 'Use them for all private memory'
complete -c hugeadm -l thp-madvise -d 'Use them where a program asks for them with MADV_HUGEPAGE'
complete -c hugeadm -l thp-never -d 'Use none'
complete -c hugeadm -l set-recommended-shmmax -d 'Raise kernel.shmmax to the size of all pools at their maximum'
complete -c hugeadm -l set-recommended-min_free_kbytes -d 'Raise vm.min_free_kbytes so that free memory fragments less'
complete -c hugeadm -l enable-zone-movable -d 'Reported as an error: Linux 4.16 removed this setting'
complete -c hugeadm -l disable-zone-movable -d 'Reported as an error: Linux 4.16 removed this setting'
complete -c hugeadm -l rollback -d 'Undo what the last --apply changed'
complete -c hugeadm -l example-config -d 'Print a file with all keys, explained'
complete -c hugeadm -l install-boot -d 'Apply /etc/hugetools at boot, before programs that need its pools'
complete -c hugeadm -l uninstall-boot -d 'Remove what --install-boot wrote, except files that were changed since'
complete -c hugeadm -s d -l dry-run -d 'Print the equivalent shell commands and change nothing'
complete -c hugeadm -s v -d 'Raise the verbosity by one'
complete -c hugeadm -l json -d 'Print the result as one JSON document'
complete -c hugeadm -s h -l help -d 'Print help: -h in short, --help in full'
complete -c hugeadm -l version -d 'Print the version'

# Handwritten: values from the machine and the command line; see
# tests/generated/shell.
function __hugeadm_sizes
    for size in /sys/kernel/mm/hugepages/hugepages-*kB
        set size (string replace -r '.*-(\d+)kB$' '$1' $size)
        if test (math $size % 1048576) -eq 0
            echo (math $size / 1048576)GB
        else if test (math $size % 1024) -eq 0
            echo (math $size / 1024)MB
        else
            echo {$size}kB
        end
    end
end

function __hugeadm_modes
    for size in /sys/kernel/mm/transparent_hugepage/hugepages-*kB
        printf '%s\n' (string replace -r '.*-' '' $size):{always,inherit,madvise,never}
    end
end

function __hugeadm_processes
    set names
    echo all
    for dir in /proc/*
        set pid (string match -r '^/proc/(\d+)$' $dir)[2]
        or continue
        set comm (cat $dir/comm 2>/dev/null)
        or continue
        printf '%s\t%s\n' $pid $comm
        set -a names $comm
    end
    printf '%s\n' $names | sort -u
end

complete -c hugeadm -l pool-pages-min -x -a "DEFAULT:1GB DEFAULT:10% DEFAULT:25% DEFAULT:50%"
complete -c hugeadm -l pool-pages-max -x -a "DEFAULT:1GB DEFAULT:10% DEFAULT:25% DEFAULT:50%"
complete -c hugeadm -l pool-spread -x -a "DEFAULT:1GB DEFAULT:10% DEFAULT:25% DEFAULT:50%"
complete -c hugeadm -l create-user-mounts -x -a "(__fish_complete_users)"
complete -c hugeadm -l create-group-mounts -x -a "(__fish_complete_groups)"
complete -c hugeadm -l max-size -x -a "(__hugeadm_sizes)"
complete -c hugeadm -l mount-mode -x -a "0700 0750 0770 0755 1777"
complete -c hugeadm -l thp-size -x -a "(__hugeadm_modes)"
complete -c hugeadm -l set-shm-group -x -a "(__fish_complete_groups)"
complete -c hugeadm -l set-userfaultfd-group -x -a "(__fish_complete_groups)"

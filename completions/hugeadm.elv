
use builtin;
use str;

set edit:completion:arg-completer[hugeadm] = {|@words|
    fn spaces {|n|
        builtin:repeat $n ' ' | str:join ''
    }
    fn cand {|text desc|
        edit:complex-candidate $text &display=$text' '(spaces (- 14 (wcswidth $text)))$desc
    }
    var command = 'hugeadm'
    for word $words[1..-1] {
        if (str:has-prefix $word '-') {
            break
        }
        set command = $command';'$word
    }
    var completions = [
        &'hugeadm'= {
            cand --pool-list 'Show all pools: page size, minimum, current and maximum pages'
            cand --watch 'With --stats: repeat every SECONDS (default 2), with the differences'
            cand --size-for 'Show how many pages a program needs, and the lines for the file of pools'
            cand --output 'With --metrics: replace FILE, for the textfile collector of node_exporter'
            cand --pool-pages-min 'Set the minimum number of pages of a pool; may be repeated'
            cand --pool-pages-max 'Set the maximum number of pages of a pool, with surplus pages; may be repeated'
            cand --pool-spread 'Divide one amount among memory nodes; may be repeated'
            cand --demote 'Split free pages into smaller ones; may be repeated'
            cand --add-temp-swap 'Add a temporary swap file while a pool grows: 5 huge pages, or PAGES of them'
            cand --hvo 'Free the kernel''s descriptors of new huge pages (HVO): on or off'
            cand --create-user-mounts 'Mount each page size on /var/lib/hugetlbfs/user/USER/pagesize-SIZE'
            cand --create-group-mounts 'Mount each page size on /var/lib/hugetlbfs/group/GROUP/pagesize-SIZE'
            cand --max-size 'Limit each new mount to SIZE, or to a share of its pool (50%); 0 is no limit'
            cand --min-size 'Reserve SIZE of the pool, or a share of it (10%), for each new mount'
            cand --max-inodes 'Limit each new mount to N files and directories; 0 is no limit'
            cand --mount-mode 'Set this mode on the mounts instead of the default one'
            cand --thp-khugepaged-pages 'Set how many base pages khugepaged scans at a time'
            cand --thp-khugepaged-alloc-sleep 'Set how long khugepaged sleeps after a failed allocation'
            cand --thp-khugepaged-scan-sleep 'Set how long khugepaged sleeps between scans'
            cand --thp-defrag 'Set how hard a page fault tries to get one'
            cand --thp-shmem 'Set which shared memory and tmpfs files get them'
            cand --thp-size 'Set the mode of one size of multi-size THP (64kB:always); may be repeated'
            cand --thp-max-ptes-none 'Set how many empty base pages khugepaged may fill to make a huge page'
            cand --thp-use-zero-page 'Let memory that is only read share one huge page of zeros: on or off'
            cand --set-shm-group 'Let the members of a group (name or number) create shared memory of huge pages'
            cand --set-userfaultfd-group 'Let threaded programs of a group (name or number) fork from huge pages'
            cand --apply 'Make the machine as FILE or /etc/hugetools/hugetools.toml says: hugetools.toml(5)'
            cand --check 'Show where the machine differs from it; the exit status is 4 then'
            cand --save 'Print the present state as such a file, or write it to FILE'
            cand --verbose 'Set the verbosity: 0 nothing, 1 errors, 2 warnings (default), 3 every change, 4 all'
            cand --color 'Colour the text output: auto (default; on a terminal unless NO_COLOR is set), always or never'
            cand --sysroot 'Work on a recorded /proc and /sys below DIR instead of this machine'
            cand --pool-list-nodes 'Show each memory node''s share of all pools'
            cand --page-sizes 'Show the usable page sizes in bytes: those with a pool and a mount'
            cand --page-sizes-all 'Show all huge page sizes of this machine, in bytes'
            cand --list-all-mounts 'Show all hugetlbfs mounts and their options'
            cand --who 'Show the users of each pool: who holds pages and who has reserved them'
            cand --stats 'Show the kernel''s statistics of huge pages, and how many could be allocated now'
            cand --explain 'Show memory, mounts and pools, and problems with them'
            cand --print-persistent 'Print settings that restore the present state at boot'
            cand --metrics 'Print pools, events and control groups as metrics for Prometheus'
            cand --bug-report 'Print a description of this machine for a bug report'
            cand --obey-mempolicy 'Allocate pages only from the nodes in hugeadm''s own memory policy'
            cand --obey-numa-mempol 'Allocate pages only from the nodes in hugeadm''s own memory policy'
            cand --hard 'Try hard to reach a minimum'
            cand --force 'Let pools take memory that other programs need'
            cand --add-ramdisk-swap 'Use RAM disks (/dev/ram0 and so on) as swap while a pool grows'
            cand --persist 'Keep the added swap'
            cand --clear 'Shrink all pools to the pages in use, and unmount as --unmount does'
            cand --create-mounts 'Mount each page size on /var/lib/hugetlbfs/pagesize-SIZE, for root'
            cand --create-global-mounts 'Mount each page size on /var/lib/hugetlbfs/global/pagesize-SIZE, for everybody'
            cand --unmount 'Unmount everything that the create options mounted, and remove the directories'
            cand --thp-always 'Use them for all private memory'
            cand --thp-madvise 'Use them where a program asks for them with MADV_HUGEPAGE'
            cand --thp-never 'Use none'
            cand --set-recommended-shmmax 'Raise kernel.shmmax to the size of all pools at their maximum'
            cand --set-recommended-min_free_kbytes 'Raise vm.min_free_kbytes so that free memory fragments less'
            cand --enable-zone-movable 'Let pools allocate from ZONE_MOVABLE; Linux before 4.16'
            cand --disable-zone-movable 'Don''t let pools allocate from ZONE_MOVABLE; Linux before 4.16'
            cand --rollback 'Take back what the last --apply changed'
            cand --example-config 'Print a file with all keys, explained'
            cand --install-boot 'Apply the file at each boot, before the programs that need its pools'
            cand --uninstall-boot 'Remove what --install-boot wrote, except files that were changed since'
            cand -d 'Print the equivalent shell commands and change nothing'
            cand --dry-run 'Print the equivalent shell commands and change nothing'
            cand -v 'Raise the verbosity by one'
            cand --json 'Print the result as one JSON document'
            cand -h 'Print help: -h in short, --help in full'
            cand --help 'Print help: -h in short, --help in full'
            cand --version 'Print the version'
        }
    ]
    $completions[$command]
}

# What the machine and the line tell: this part is by hand, see
# tests/generated/shell.
use path
use re

fn hugeadm-named {|kb|
    if (== (% $kb 1048576) 0) {
        put (/ $kb 1048576)GB
    } elif (== (% $kb 1024) 0) {
        put (/ $kb 1024)MB
    } else {
        put $kb'kB'
    }
}

fn hugeadm-kb {|dir|
    num (str:trim-suffix (str:trim-prefix (path:base $dir) hugepages-) kB)
}

fn hugeadm-sizes {
    for dir [/sys/kernel/mm/hugepages/hugepages-*[nomatch-ok]kB] {
        hugeadm-named (hugeadm-kb $dir)
    }
}

fn hugeadm-modes {
    for dir [/sys/kernel/mm/transparent_hugepage/hugepages-*[nomatch-ok]kB] {
        put (str:trim-prefix (path:base $dir) hugepages-):{always inherit madvise never}
    }
}

fn hugeadm-processes {
    put all
    var names = [&]
    for dir [/proc/*[nomatch-ok]] {
        var pid = (path:base $dir)
        if (re:match '^\d+$' $pid) {
            try {
                var comm = (str:trim-space (slurp < $dir/comm))
                edit:complex-candidate $pid &display=$pid' '$comm
                set names[$comm] = $true
            } catch {
                # It has ended.
            }
        }
    }
    keys $names
}

# The first words of the lines of a list of accounts.
fn hugeadm-accounts {|file|
    from-lines < $file | each {|line| put (str:split &max=2 ':' $line | take 1) }
}

# What an option may have behind it, as its own word or behind an equals sign.
var hugeadm-values = [
    &--pool-list={ put classic long }
    &--pool-pages-min={ put DEFAULT:1GB DEFAULT:10% DEFAULT:25% DEFAULT:50% }
    &--pool-pages-max={ put DEFAULT:1GB DEFAULT:10% DEFAULT:25% DEFAULT:50% }
    &--pool-spread={ put DEFAULT:1GB DEFAULT:10% DEFAULT:25% DEFAULT:50% }
    &--demote={ put DEFAULT:1GB DEFAULT:10% DEFAULT:25% DEFAULT:50% }
    &--hvo={ put on off }
    &--create-user-mounts={ hugeadm-accounts /etc/passwd }
    &--create-group-mounts={ hugeadm-accounts /etc/group }
    &--max-size={ hugeadm-sizes }
    &--min-size={ hugeadm-sizes }
    &--mount-mode={ put 0700 0750 0770 0755 1777 }
    &--thp-defrag={ put always defer defer+madvise madvise never }
    &--thp-shmem={ put always within_size advise never deny force }
    &--thp-size={ hugeadm-modes }
    &--thp-use-zero-page={ put on off }
    &--set-shm-group={ hugeadm-accounts /etc/group }
    &--set-userfaultfd-group={ hugeadm-accounts /etc/group }
    &--color={ put auto always never }
]

# The options that take the next word.
var hugeadm-taking = [
    &--size-for=$true
    &--output=$true
    &--pool-pages-min=$true
    &--pool-pages-max=$true
    &--pool-spread=$true
    &--demote=$true
    &--hvo=$true
    &--create-user-mounts=$true
    &--create-group-mounts=$true
    &--max-size=$true
    &--min-size=$true
    &--max-inodes=$true
    &--mount-mode=$true
    &--thp-khugepaged-pages=$true
    &--thp-khugepaged-alloc-sleep=$true
    &--thp-khugepaged-scan-sleep=$true
    &--thp-defrag=$true
    &--thp-shmem=$true
    &--thp-size=$true
    &--thp-max-ptes-none=$true
    &--thp-use-zero-page=$true
    &--set-shm-group=$true
    &--set-userfaultfd-group=$true
    &--verbose=$true
    &--sysroot=$true
]

# Where the program is in a line; nothing before it comes.
fn hugeadm-program {|words|
    var at = (num 1)
    var last = (- (count $words) 1)
    var found = $nil
    while (and (eq $found $nil) (<= $at $last)) {
        if (str:has-prefix $words[$at] '-') {
            set at = (+ $at (if (has-key $hugeadm-taking $words[$at]) { put 2 } else { put 1 }))
        } else {
            set found = $at
        }
    }
    put $found
}

var hugeadm-frame = $edit:completion:arg-completer[hugeadm]
set edit:completion:arg-completer[hugeadm] = {|@words|
    var last = $words[-1]
    var before = $words[-2]
    var program = (hugeadm-program $words)
    if (and (str:has-prefix $last '--') (str:contains $last '=')) {
        var option = $last[0..(str:index $last '=')]
        if (has-key $hugeadm-values $option) {
            $hugeadm-values[$option] | each {|value|
                put $option'='(if (eq (kind-of $value) string) { put $value } else { put $value[stem] })
            }
        }
    } elif (and (has-key $hugeadm-taking $before) (not (has-key $hugeadm-values $before))) {
        edit:complete-filename $last
    } elif (has-key $hugeadm-taking $before) {
        $hugeadm-values[$before]
    } elif (or (eq $program $nil) (str:has-prefix $last '-')) {
        $hugeadm-frame hugeadm $last
    } else {
        edit:complete-filename $last
    }
}

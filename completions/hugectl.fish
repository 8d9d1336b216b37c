complete -c hugectl -l text -d 'Put code and read-only data on huge pages: those of the file itself, of the default size, of SIZE, or transparent ones; where text is a copy, some crash reports lose names: see hugeedit --align'
complete -c hugectl -l data -d 'Put initialised data on huge pages, and bss with it'
complete -c hugectl -l bss -d 'Put data that starts as zero on huge pages, and data with it; where both have a size, that of --data counts'
complete -c hugectl -l heap -d 'Put what malloc hands out on huge pages: of the default size, of SIZE, or transparent ones'
complete -c hugectl -l heap-engine -d 'Who serves the heap: arena (our malloc; the default) or libc (the program\'s own glibc, told by GLIBC_TUNABLES; the default for static programs)' -r -f -a "libc\t''
arena\t''"
complete -c hugectl -l shm -d 'Put shared memory on huge pages: shmget, shared anonymous mappings, and files in memory on transparent ones'
complete -c hugectl -l anon -d 'Put large private memory that the program maps by itself on transparent huge pages, as its own allocator or virtual machine does; with a SIZE, too, since pages of a pool cannot be freed in part'
complete -c hugectl -l anon-min -d 'With --anon: mappings of this length and more; one huge page by default' -r
complete -c hugectl -l stack -d 'Put the main thread\'s stack and those of its threads on transparent huge pages; with a SIZE, too, since pages of a pool have no place in a stack that grows. With --pid: the main thread\'s'
complete -c hugectl -l stack-depth -d 'With --stack: so much of each stack is there before it is used' -r
complete -c hugectl -l thp-policy -d 'Transparent huge pages of the program and of all that it starts: always (bans are lifted, one that was inherited and the program\'s own), advised (only where it asks for them; Linux 6.18) or never' -r -f -a "always\t''
advised\t''
never\t''"
complete -c hugectl -l fallback -d 'What follows when huge pages run out: thp (transparent ones, then base pages; the default), base (base pages at once) or none (the request fails)' -r -f -a "thp\t''
base\t''
none\t''"
complete -c hugectl -l disable -d 'Leave text, data and bss where they are, also those that are marked in the file; WORD has no meaning'
complete -c hugectl -l limit -d 'Each process takes at most this much of the pools for its private memory: SIZE in all, or one part of N of each pool' -r
complete -c hugectl -l only -d 'Only programs of these names get huge pages, not the shells and starters that lead to them' -r
complete -c hugectl -l require -d 'Do not start the program, or fail its request, where less of a segment (text, data, bss, heap, shm, anon, stack) is on huge pages: PERCENT of it, or all that lies in whole huge pages; asks for the segment, too' -r
complete -c hugectl -l report -d 'When the program ends, say what was on huge pages: a table on standard error, or JSON lines appended to FILE' -F
complete -c hugectl -l status -d 'Say what running processes have on huge pages: by number, by name, or all that have any' -r
complete -c hugectl -l watch -d 'With --status or --pid: again and again, each SECONDS, until the processes have ended'
complete -c hugectl -l color -d 'Colours in what people read: auto (on a terminal, unless NO_COLOR is set; the default), always or never' -f -a "auto\t''
always\t''
never\t''"
complete -c hugectl -l emit -d 'Print what tells a service or a container of all this, in which hugectl starts nothing: a drop-in for a UNIT of systemd, lines of an environment file (with PROGRAM or without), options of docker run, parts of a pod' -f -a "systemd\t''
environment\t''
docker\t''
kubernetes\t''"
complete -c hugectl -l sysroot -d 'With --status, --dry-run or --explain: read the kernel\'s state below DIR' -r -f -a "(__fish_complete_directories)"
complete -c hugectl -l pid -d 'Put the memory of running programs on transparent huge pages: by number or by name; their heap, stack, bss and other private memory, or those of --text, --data, --bss, --heap, --stack, --shm and --anon that are given' -r
complete -c hugectl -l budget -d 'With --pid: take at most so much of one CPU; 25 by default' -r
complete -c hugectl -l touched -d 'With --pid: leave a huge page of which less than so much is touched; 50 by default' -r
complete -c hugectl -l library-path -d 'Take the library from this directory, or from the prefix it is installed below' -r -f -a "(__fish_complete_directories)"
complete -c hugectl -l verbose -d 'Say as much as N tells: 0 nothing, 1 errors, 2 warnings (the default), 3 what was found and decided, 4 all; 99 for the program\'s library, too' -r
complete -c hugectl -l messages -d 'Keep messages, also those of the libraries in all that the program starts, off standard error: append them to FILE, or write them to a descriptor that is open' -r -F
complete -c hugectl -l auto -d 'Choose by what is known of the program, and say what was chosen and why; other options count besides, and before it'
complete -c hugectl -l text-libs -d 'The code of shared libraries, too; implies --text'
complete -c hugectl -l thp -d 'The heap on transparent huge pages, as --heap=thp'
complete -c hugectl -l share-text -d 'One copy of the text for all processes that run the program, where it must be copied'
complete -c hugectl -l no-reserve -d 'Let the kernel promise no pages of a pool beforehand'
complete -c hugectl -l no-inherit -d 'Only PROGRAM gets huge pages, not the programs that it starts'
complete -c hugectl -l perf-map -d 'Write /tmp/perf-PID.map where text is a copy, so that perf finds its symbols'
complete -c hugectl -l tree -d 'With --status: the processes that these have started, too'
complete -c hugectl -l sizes -d 'With --status, as root: what sizes of folios really lie in each segment, multi-size THP included'
complete -c hugectl -l totals -d 'With --status: only what each process has in all, which the kernel adds up; cheap where there are many processes or mappings'
complete -c hugectl -l json -d 'What goes to the terminal as JSON'
complete -c hugectl -l dry-run -d 'Print what would be done, as shell commands, and do nothing'
complete -c hugectl -l explain -d 'Say what each segment would get, what would fall short, why, and what mends it, and do nothing; status 0 when all that is asked for will be had, else 3'
complete -c hugectl -l children -d 'With --pid: the processes that these have started, too'
complete -c hugectl -l undo -d 'Not possible: says so, and why it is not needed'
complete -c hugectl -l no-preload -d 'Set the variables only, for a program linked with the library'
complete -c hugectl -l force-preload -d 'Preload even where it looks useless, or unwise for this program'
complete -c hugectl -l library-use-path -d 'Name the library only, and let the loader find it'
complete -c hugectl -s v -d 'Say more: what was found and decided'
complete -c hugectl -s q -d 'Say less'
complete -c hugectl -s h -l help -d 'Print this help'
complete -c hugectl -l version -d 'Print the version'

# What the machine and the line tell: this part is by hand, see
# tests/generated/shell.
function __hugectl_sizes
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

function __hugectl_pools
    for dir in /sys/kernel/mm/hugepages/hugepages-*kB
        set size (string replace -r '.*-(\d+)kB$' '$1' $dir)
        set pages (cat $dir/nr_hugepages)
        if test (math $size % 1048576) -eq 0
            echo (math $size / 1048576)GB:$pages
        else if test (math $size % 1024) -eq 0
            echo (math $size / 1024)MB:$pages
        else
            echo {$size}kB:$pages
        end
    end
end

function __hugectl_modes
    for size in /sys/kernel/mm/transparent_hugepage/hugepages-*kB
        printf '%s\n' (string replace -r '.*-' '' $size):{always,inherit,madvise,never}
    end
end

function __hugectl_processes
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

complete -c hugectl -l text -f -a "(__hugectl_sizes) thp"
complete -c hugectl -l data -f -a "(__hugectl_sizes) thp"
complete -c hugectl -l bss -f -a "(__hugectl_sizes) thp"
complete -c hugectl -l heap -f -a "(__hugectl_sizes) thp"
complete -c hugectl -l shm -f -a "(__hugectl_sizes) thp"
complete -c hugectl -l anon -f -a "(__hugectl_sizes) thp"
complete -c hugectl -l anon-min -x -a "(__hugectl_sizes)"
complete -c hugectl -l stack -f -a "(__hugectl_sizes) thp"
complete -c hugectl -l limit -x -a "(__hugectl_sizes)"
complete -c hugectl -l require -x -a "text data bss heap shm anon stack"
complete -c hugectl -l status -x -a "(__hugectl_processes)"
complete -c hugectl -x -n 'not __fish_contains_opt status' -a '(__fish_complete_subcommand -- --heap-engine --anon-min --stack-depth --thp-policy --fallback --limit --only --require --status --sysroot --pid --budget --touched --library-path --verbose --messages)'
complete -c hugectl -x -n '__fish_contains_opt status' -a '(__hugectl_processes)'

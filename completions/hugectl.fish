complete -c hugectl -l text -d 'Code and read-only data'
complete -c hugectl -l data -d 'Initialised data, and bss with it'
complete -c hugectl -l bss -d 'Zero-initialised data, and data with it'
complete -c hugectl -l heap -d 'Memory that malloc returns'
complete -c hugectl -l heap-engine -d 'Which malloc: arena (ours) or libc\'s' -r -f -a "libc\t''
arena\t''"
complete -c hugectl -l shm -d 'Shared memory (shmget, mmap, memfd)'
complete -c hugectl -l anon -d 'Large private mappings of the program'
complete -c hugectl -l anon-min -d 'With --anon: minimum length of a mapping' -r
complete -c hugectl -l stack -d 'Stacks of all threads'
complete -c hugectl -l stack-depth -d 'With --stack: prefault BYTES per stack' -r
complete -c hugectl -l thp-policy -d 'THP by prctl: always, advised or never' -r -f -a "always\t''
advised\t''
never\t''"
complete -c hugectl -l fork -d 'Keep private memory on the pool at forks' -r -f -a "kernel\t''"
complete -c hugectl -l fallback -d 'If the pool has no page; thp by default' -r -f -a "thp\t''
base\t''
none\t''"
complete -c hugectl -l disable -d 'Leave text, data and bss alone'
complete -c hugectl -l limit -d 'Limit pool memory of each process' -r
complete -c hugectl -l next-touch -d 'Move memory to its next toucher\'s node'
complete -c hugectl -l only -d 'Only programs with these names' -r
complete -c hugectl -l require -d 'Refuse to start with less, as in text:90,heap' -r
complete -c hugectl -l report -d 'Print what was on huge pages at the end' -F
complete -c hugectl -l status -d 'Show what processes have on huge pages' -r
complete -c hugectl -l emit -d 'Print settings for a service' -f -a "systemd\t''
environment\t''
docker\t''
kubernetes\t''"
complete -c hugectl -l sysroot -d 'Read the kernel\'s state below DIR' -r -f -a "(__fish_complete_directories)"
complete -c hugectl -l pid -d 'Move running processes to huge pages' -r
complete -c hugectl -l budget -d 'With --pid: max. CPU share; default 25' -r
complete -c hugectl -l touched -d 'With --pid: skip sparse huge pages' -r
complete -c hugectl -l compare -d 'Run in several ways; say which is faster'
complete -c hugectl -l rounds -d 'Stop after N rounds'
complete -c hugectl -l within -d 'Stop at intervals this narrow; default 1'
complete -c hugectl -l time -d 'Stop after SECONDS; default 60'
complete -c hugectl -l metric -d 'Compare a figure that it prints, not time'
complete -c hugectl -l driver -d 'PROGRAM is a server; time this command'
complete -c hugectl -l ready -d 'Sign of a server that is ready'
complete -c hugectl -l library-path -d 'The library\'s directory, or its prefix' -r -f -a "(__fish_complete_directories)"
complete -c hugectl -l verbose -d '0 none, 1 errors, 2 warnings, 3 as -v, 4 all' -r
complete -c hugectl -l messages -d 'Send messages there, not to stderr' -r -F
complete -c hugectl -l auto -d 'Choose options known to suit the program'
complete -c hugectl -l text-libs -d 'Code of shared libraries; implies --text'
complete -c hugectl -l thp -d 'Same as --heap=thp; needs no pool'
complete -c hugectl -l share-text -d 'Share one copy of the text'
complete -c hugectl -l no-reserve -d 'Don\'t reserve pool pages (MAP_NORESERVE)'
complete -c hugectl -l no-inherit -d 'Only PROGRAM, not what it starts'
complete -c hugectl -l perf-map -d 'Write /tmp/perf-PID.map if text is a copy'
complete -c hugectl -l tree -d 'With --status: include all descendants'
complete -c hugectl -l sizes -d 'With --status, as root: folio sizes'
complete -c hugectl -l totals -d 'With --status: one line per process'
complete -c hugectl -l json -d 'Print JSON instead of text'
complete -c hugectl -l dry-run -d 'Print shell commands; start nothing'
complete -c hugectl -l explain -d 'Predict pages, shortfalls and cures'
complete -c hugectl -l children -d 'With --pid: include all descendants'
complete -c hugectl -l higher-is-better -d 'A higher figure is better'
complete -c hugectl -l same-output -d 'All ways must print the same'
complete -c hugectl -l no-preload -d 'Only set variables, without preloading'
complete -c hugectl -l force-preload -d 'Preload even if it looks useless or unwise'
complete -c hugectl -l library-use-path -d 'Let the loader find the library by name'
complete -c hugectl -s v -d 'Print more: findings and decisions'
complete -c hugectl -s q -d 'Print less'
complete -c hugectl -s h -l help -d 'Print this help'
complete -c hugectl -l version -d 'Print the version'

# Handwritten: values from the machine and the command line; see
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
complete -c hugectl -l next-touch -f -a "(__hugectl_sizes)"
complete -c hugectl -l require -x -a "text data bss heap shm anon stack"
complete -c hugectl -l status -x -a "(__hugectl_processes)"
complete -c hugectl -x -n 'not __fish_contains_opt status' -a '(__fish_complete_subcommand -- --heap-engine --anon-min --stack-depth --thp-policy --fork --fallback --limit --only --require --status --sysroot --pid --budget --touched --library-path --verbose --messages)'
complete -c hugectl -x -n '__fish_contains_opt status' -a '(__hugectl_processes)'

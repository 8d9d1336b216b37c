
# Handwritten: values from the machine and the command line; see
# tests/generated/shell.
function __@ID@_sizes
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

function __@ID@_modes
    for size in /sys/kernel/mm/transparent_hugepage/hugepages-*kB
        printf '%s\n' (string replace -r '.*-' '' $size):{always,inherit,madvise,never}
    end
end

function __@ID@_processes
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


# Handwritten: values from the machine; see tests/generated/shell.
_@ID@_sizes() {
    local -a sizes
    local size
    for size in /sys/kernel/mm/hugepages/hugepages-*kB(N); do
        size=${${size##*-}%kB}
        if (( size % 1048576 == 0 )); then
            sizes+=("$(( size / 1048576 ))GB")
        elif (( size % 1024 == 0 )); then
            sizes+=("$(( size / 1024 ))MB")
        else
            sizes+=("${size}kB")
        fi
    done
    compadd "$@" -- $sizes
}

_@ID@_sizes_or_thp() {
    _@ID@_sizes "$@"
    compadd "$@" -- thp
}

_@ID@_pools() {
    compadd "$@" -- DEFAULT:{1GB,10%,25%,50%}
}

_@ID@_modes() {
    local -a modes
    local size
    for size in /sys/kernel/mm/transparent_hugepage/hugepages-*kB(N); do
        modes+=("${size##*-}:"{always,inherit,madvise,never})
    done
    compadd "$@" -- $modes
}

_@ID@_processes() {
    compadd "$@" -- all /proc/<1->(N:t) ${(u)${(f)"$(cat /proc/<1->/comm 2>/dev/null)"}}
}

_@ID@_segments() {
    _sequence compadd - text data bss heap shm anon stack
}

_@ID@_octal() {
    compadd "$@" -- 0700 0750 0770 0755 1777
}


# shellcheck disable=SC1007,SC2207
_hugeadm() {
    local i cur prev opts cmd
    COMPREPLY=()
    if [[ "${BASH_VERSINFO[0]}" -ge 4 ]]; then
        cur="$2"
    else
        cur="${COMP_WORDS[COMP_CWORD]}"
    fi
    prev="$3"
    cmd=""
    opts=""

    for i in "${COMP_WORDS[@]:0:COMP_CWORD}"
    do
        case "${cmd},${i}" in
            ",$1")
                cmd="hugeadm"
                ;;
            *)
                ;;
        esac
    done

    case "${cmd}" in
        hugeadm)
            opts="-d -v -h --pool-list --pool-list-nodes --page-sizes --page-sizes-all --list-all-mounts --who --stats --explain --size-for --metrics --output --bug-report --pool-pages-min --pool-pages-max --pool-spread --obey-numa-mempol --obey-mempolicy --hard --force --add-temp-swap --add-ramdisk-swap --persist --hvo --clear --create-mounts --create-user-mounts --create-group-mounts --create-global-mounts --max-size --max-inodes --mount-mode --unmount --thp-always --thp-madvise --thp-never --thp-khugepaged-pages --thp-khugepaged-alloc-sleep --thp-khugepaged-scan-sleep --thp-defrag --thp-shmem --thp-size --thp-max-ptes-none --thp-use-zero-page --set-shm-group --set-userfaultfd-group --set-recommended-shmmax --set-recommended-min_free_kbytes --enable-zone-movable --disable-zone-movable --apply --check --save --rollback --example-config --install-boot --uninstall-boot --dry-run --verbose --json --sysroot --help --version"
            if [[ ${cur} == -* || ${COMP_CWORD} -eq 1 ]] ; then
                COMPREPLY=( $(compgen -W "${opts}" -- "${cur}") )
                return 0
            fi
            case "${prev}" in
                --pool-list)
                    COMPREPLY=($(compgen -W "classic long" -- "${cur}"))
                    return 0
                    ;;
                --size-for)
                    COMPREPLY=($(compgen -f "${cur}"))
                    return 0
                    ;;
                --output)
                    local oldifs
                    if [ -n "${IFS+x}" ]; then
                        oldifs="$IFS"
                    fi
                    IFS=$'\n'
                    COMPREPLY=($(compgen -f "${cur}"))
                    if [ -n "${oldifs+x}" ]; then
                        IFS="$oldifs"
                    fi
                    if [[ "${BASH_VERSINFO[0]}" -ge 4 ]]; then
                        compopt -o filenames
                    fi
                    return 0
                    ;;
                --pool-pages-min)
                    COMPREPLY=($(compgen -f "${cur}"))
                    return 0
                    ;;
                --pool-pages-max)
                    COMPREPLY=($(compgen -f "${cur}"))
                    return 0
                    ;;
                --pool-spread)
                    COMPREPLY=($(compgen -f "${cur}"))
                    return 0
                    ;;
                --add-temp-swap)
                    COMPREPLY=($(compgen -f "${cur}"))
                    return 0
                    ;;
                --hvo)
                    COMPREPLY=($(compgen -W "on off" -- "${cur}"))
                    return 0
                    ;;
                --create-user-mounts)
                    COMPREPLY=($(compgen -f "${cur}"))
                    return 0
                    ;;
                --create-group-mounts)
                    COMPREPLY=($(compgen -f "${cur}"))
                    return 0
                    ;;
                --max-size)
                    COMPREPLY=($(compgen -f "${cur}"))
                    return 0
                    ;;
                --max-inodes)
                    COMPREPLY=($(compgen -f "${cur}"))
                    return 0
                    ;;
                --mount-mode)
                    COMPREPLY=($(compgen -f "${cur}"))
                    return 0
                    ;;
                --thp-khugepaged-pages)
                    COMPREPLY=($(compgen -f "${cur}"))
                    return 0
                    ;;
                --thp-khugepaged-alloc-sleep)
                    COMPREPLY=($(compgen -f "${cur}"))
                    return 0
                    ;;
                --thp-khugepaged-scan-sleep)
                    COMPREPLY=($(compgen -f "${cur}"))
                    return 0
                    ;;
                --thp-defrag)
                    COMPREPLY=($(compgen -W "always defer defer+madvise madvise never" -- "${cur}"))
                    return 0
                    ;;
                --thp-shmem)
                    COMPREPLY=($(compgen -W "always within_size advise never deny force" -- "${cur}"))
                    return 0
                    ;;
                --thp-size)
                    COMPREPLY=($(compgen -f "${cur}"))
                    return 0
                    ;;
                --thp-max-ptes-none)
                    COMPREPLY=($(compgen -f "${cur}"))
                    return 0
                    ;;
                --thp-use-zero-page)
                    COMPREPLY=($(compgen -W "on off" -- "${cur}"))
                    return 0
                    ;;
                --set-shm-group)
                    COMPREPLY=($(compgen -f "${cur}"))
                    return 0
                    ;;
                --set-userfaultfd-group)
                    COMPREPLY=($(compgen -f "${cur}"))
                    return 0
                    ;;
                --apply)
                    COMPREPLY=($(compgen -f "${cur}"))
                    return 0
                    ;;
                --check)
                    COMPREPLY=($(compgen -f "${cur}"))
                    return 0
                    ;;
                --save)
                    COMPREPLY=($(compgen -f "${cur}"))
                    return 0
                    ;;
                --verbose)
                    COMPREPLY=($(compgen -f "${cur}"))
                    return 0
                    ;;
                --sysroot)
                    COMPREPLY=()
                    if [[ "${BASH_VERSINFO[0]}" -ge 4 ]]; then
                        compopt -o plusdirs
                    fi
                    return 0
                    ;;
                *)
                    COMPREPLY=()
                    ;;
            esac
            COMPREPLY=( $(compgen -W "${opts}" -- "${cur}") )
            return 0
            ;;
    esac
}

# Handwritten: values from the machine and the command line; see
# tests/generated/shell.

# The sizes of the machine's pools.
_hugeadm_sizes() {
    local size
    for size in /sys/kernel/mm/hugepages/hugepages-*kB; do
        size=${size##*-}
        size=${size%kB}
        case $size in
        *[!0-9]*) ;;
        *) if ((size % 1048576 == 0)); then
            echo "$((size / 1048576))GB"
        elif ((size % 1024 == 0)); then
            echo "$((size / 1024))MB"
        else
            echo "${size}kB"
        fi ;;
        esac
    done
}

# Prints the values of an option, by its value name in the help.
_hugeadm_values() {
    case $1 in
    'SIZE|thp') _hugeadm_sizes && echo thp ;;
    'SIZE' | 'SIZE|1/N') _hugeadm_sizes ;;
    'SPEC' | 'SPREAD') printf '%s\n' DEFAULT:{1GB,10%,25%,50%} ;;
    'SIZE:MODE')
        for size in /sys/kernel/mm/transparent_hugepage/hugepages-*kB; do
            [[ -d $size ]] && printf '%s\n' "${size##*-}:"{always,inherit,madvise,never}
        done
        ;;
    'PID|NAME|all') { (cd /proc && printf '%s\n' [0-9]*); cat /proc/[0-9]*/comm 2>/dev/null; echo all; } | sort -u ;;
    SEGMENTS) printf '%s\n' text data bss heap shm anon stack ;;
    'NAME[,NAME]') compgen -c -- "$2" | sort -u ;;
    =*) printf '%s\n' ${1#=} ;;
    'USER') compgen -u ;;
    'GROUP') compgen -g ;;
    'OCTAL') printf '%s\n' 0700 0750 0770 0755 1777 ;;
    *) return 1 ;;
    esac
}

# Prints an option's value name in the help.
_hugeadm_value_of() {
    case $1 in
    --pool-list) echo '=classic long' ;;
    --size-for | '--size-for ') echo 'WHAT' ;;
    --output | '--output ') echo 'FILE' ;;
    --pool-pages-min | '--pool-pages-min ') echo 'SPEC' ;;
    --pool-pages-max | '--pool-pages-max ') echo 'SPEC' ;;
    --pool-spread | '--pool-spread ') echo 'SPREAD' ;;
    --add-temp-swap) echo 'PAGES' ;;
    --hvo | '--hvo ') echo '=on off' ;;
    --create-user-mounts | '--create-user-mounts ') echo 'USER' ;;
    --create-group-mounts | '--create-group-mounts ') echo 'GROUP' ;;
    --max-size | '--max-size ') echo 'SIZE' ;;
    --max-inodes | '--max-inodes ') echo 'N' ;;
    --mount-mode | '--mount-mode ') echo 'OCTAL' ;;
    --thp-khugepaged-pages | '--thp-khugepaged-pages ') echo 'PAGES' ;;
    --thp-khugepaged-alloc-sleep | '--thp-khugepaged-alloc-sleep ') echo 'MS' ;;
    --thp-khugepaged-scan-sleep | '--thp-khugepaged-scan-sleep ') echo 'MS' ;;
    --thp-defrag | '--thp-defrag ') echo '=always defer defer+madvise madvise never' ;;
    --thp-shmem | '--thp-shmem ') echo '=always within_size advise never deny force' ;;
    --thp-size | '--thp-size ') echo 'SIZE:MODE' ;;
    --thp-max-ptes-none | '--thp-max-ptes-none ') echo 'N' ;;
    --thp-use-zero-page | '--thp-use-zero-page ') echo '=on off' ;;
    --set-shm-group | '--set-shm-group ') echo 'GROUP' ;;
    --set-userfaultfd-group | '--set-userfaultfd-group ') echo 'GROUP' ;;
    --apply) echo 'FILE' ;;
    --check) echo 'FILE' ;;
    --save) echo 'FILE' ;;
    --verbose | '--verbose ') echo 'N' ;;
    --sysroot | '--sysroot ') echo 'DIR' ;;
    esac
}

# Completes the line up to the cursor. Splits it again, since bash also splits at
# = and :.
_hugeadm_line() {
    local at=1 option= status= program= word words
    read -ra words <<<"${COMP_LINE:0:COMP_POINT}"
    [[ ${COMP_LINE:0:COMP_POINT} == *[[:space:]] ]] && words+=("")
    local last=$((${#words[@]} - 1))
    local whole=${words[last]}
    COMPREPLY=()
    while ((at < last)) && [[ -z $program ]]; do
        word=${words[at]}
        case $word in
        --) program=$((at + 1)) ;;
        --*=*) ;;
        --status) status=1 ;;
        -*)
            if [[ -n $(_hugeadm_value_of "$word ") ]]; then
                at=$((at + 1))
                ((at == last)) && option="$word "
            fi
            ;;
        *) [[ -n $status ]] || program=$at ;;
        esac
        at=$((at + 1))
    done
    [[ -n $status && -z $option ]] && option="--status "
    if [[ -z $program && $whole == --*=* ]]; then
        option=${whole%%=*}
        whole=${whole#*=}
    fi
    if [[ -z $program && -n $option && $whole != -* ]]; then
        _hugeadm_reply "$option" "$whole" && return
    fi
    _hugeadm "$@"
}

# Offers the values of an option. Fails if any word or file will do.
_hugeadm_reply() {
    local name values
    name=$(_hugeadm_value_of "$1")
    [[ -n $name ]] && values=$(_hugeadm_values "$name" "$2") || return 1
    mapfile -t COMPREPLY < <(compgen -W "$values" -- "$2")
    # The text before a colon is already on the line.
    if [[ $2 == *:* && $COMP_WORDBREAKS == *:* ]]; then
        COMPREPLY=("${COMPREPLY[@]#"${2%:*}":}")
    fi
    if [[ $1 != *" " && $COMP_WORDBREAKS != *=* ]]; then
        COMPREPLY=("${COMPREPLY[@]/#/$1=}")
    fi
    compopt +o default +o bashdefault 2>/dev/null
    return 0
}

if [[ "${BASH_VERSINFO[0]}" -eq 4 && "${BASH_VERSINFO[1]}" -ge 4 || "${BASH_VERSINFO[0]}" -gt 4 ]]; then
    complete -F _hugeadm_line -o nosort -o bashdefault -o default hugeadm
else
    complete -F _hugeadm_line -o bashdefault -o default hugeadm
fi

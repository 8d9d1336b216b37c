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
            opts="-d -v -h --pool-list --pool-list-nodes --page-sizes --page-sizes-all --list-all-mounts --who --stats --watch --explain --print-persistent --pool-pages-min --pool-pages-max --pool-spread --demote --obey-numa-mempol --obey-mempolicy --hard --force --add-temp-swap --add-ramdisk-swap --persist --hvo --create-mounts --create-user-mounts --create-group-mounts --create-global-mounts --max-size --min-size --max-inodes --mount-mode --unmount --thp-always --thp-madvise --thp-never --thp-khugepaged-pages --thp-khugepaged-alloc-sleep --thp-khugepaged-scan-sleep --thp-defrag --thp-shmem --thp-size --thp-max-ptes-none --thp-use-zero-page --set-shm-group --set-userfaultfd-group --set-recommended-shmmax --set-recommended-min_free_kbytes --enable-zone-movable --disable-zone-movable --dry-run --verbose --json --sysroot --help --version"
            if [[ ${cur} == -* || ${COMP_CWORD} -eq 1 ]] ; then
                COMPREPLY=( $(compgen -W "${opts}" -- "${cur}") )
                return 0
            fi
            case "${prev}" in
                --watch)
                    COMPREPLY=($(compgen -f "${cur}"))
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
                --demote)
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
                --min-size)
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

if [[ "${BASH_VERSINFO[0]}" -eq 4 && "${BASH_VERSINFO[1]}" -ge 4 || "${BASH_VERSINFO[0]}" -gt 4 ]]; then
    complete -F _hugeadm -o nosort -o bashdefault -o default hugeadm
else
    complete -F _hugeadm -o bashdefault -o default hugeadm
fi

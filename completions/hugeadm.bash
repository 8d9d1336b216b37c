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
            opts="-d -v -h --pool-list --page-sizes --page-sizes-all --list-all-mounts --pool-pages-min --pool-pages-max --create-mounts --create-global-mounts --set-shm-group --dry-run --verbose --json --sysroot --help --version"
            if [[ ${cur} == -* || ${COMP_CWORD} -eq 1 ]] ; then
                COMPREPLY=( $(compgen -W "${opts}" -- "${cur}") )
                return 0
            fi
            case "${prev}" in
                --pool-pages-min)
                    COMPREPLY=($(compgen -f "${cur}"))
                    return 0
                    ;;
                --pool-pages-max)
                    COMPREPLY=($(compgen -f "${cur}"))
                    return 0
                    ;;
                --set-shm-group)
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

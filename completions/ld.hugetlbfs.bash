# shellcheck disable=SC1007,SC2207
_ld.hugetlbfs() {
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
                cmd="ld.hugetlbfs"
                ;;
            *)
                ;;
        esac
    done

    case "${cmd}" in
        ld.hugetlbfs)
            opts="--hugetlbfs-align --hugetlbfs-link --hugetlbfs-script-path"
            if [[ ${cur} == -* || ${COMP_CWORD} -eq 1 ]] ; then
                COMPREPLY=( $(compgen -W "${opts}" -- "${cur}") )
                return 0
            fi
            case "${prev}" in
                --hugetlbfs-align)
                    COMPREPLY=($(compgen -f "${cur}"))
                    return 0
                    ;;
                --hugetlbfs-link)
                    COMPREPLY=($(compgen -W "B BDT" -- "${cur}"))
                    return 0
                    ;;
                --hugetlbfs-script-path)
                    COMPREPLY=($(compgen -f "${cur}"))
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
    complete -F _ld.hugetlbfs -o nosort -o bashdefault -o default ld.hugetlbfs
else
    complete -F _ld.hugetlbfs -o bashdefault -o default ld.hugetlbfs
fi

# shellcheck disable=SC1007,SC2207
_hugectl() {
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
                cmd="hugectl"
                ;;
            *)
                ;;
        esac
    done

    case "${cmd}" in
        hugectl)
            opts="-v -q -h --auto --text --text-libs --data --bss --heap --heap-engine --shm --anon --anon-min --stack --stack-depth --thp --thp-policy --fork --fallback --disable --share-text --no-reserve --limit --next-touch --only --no-inherit --require --perf-map --report --status --tree --sizes --totals --json --dry-run --explain --emit --sysroot --pid --budget --touched --children --compare --rounds --within --time --metric --higher-is-better --driver --ready --same-output --no-preload --force-preload --library-path --library-use-path --verbose --messages --help --version"
            if [[ ${cur} == -* || ${COMP_CWORD} -eq 1 ]] ; then
                COMPREPLY=( $(compgen -W "${opts}" -- "${cur}") )
                return 0
            fi
            case "${prev}" in
                --text)
                    COMPREPLY=($(compgen -f "${cur}"))
                    return 0
                    ;;
                --data)
                    COMPREPLY=($(compgen -f "${cur}"))
                    return 0
                    ;;
                --bss)
                    COMPREPLY=($(compgen -f "${cur}"))
                    return 0
                    ;;
                --heap)
                    COMPREPLY=($(compgen -f "${cur}"))
                    return 0
                    ;;
                --heap-engine)
                    COMPREPLY=($(compgen -W "libc arena" -- "${cur}"))
                    return 0
                    ;;
                --shm)
                    COMPREPLY=($(compgen -f "${cur}"))
                    return 0
                    ;;
                --anon)
                    COMPREPLY=($(compgen -f "${cur}"))
                    return 0
                    ;;
                --anon-min)
                    COMPREPLY=($(compgen -f "${cur}"))
                    return 0
                    ;;
                --stack)
                    COMPREPLY=($(compgen -f "${cur}"))
                    return 0
                    ;;
                --stack-depth)
                    COMPREPLY=($(compgen -f "${cur}"))
                    return 0
                    ;;
                --thp-policy)
                    COMPREPLY=($(compgen -W "always advised never" -- "${cur}"))
                    return 0
                    ;;
                --fork)
                    COMPREPLY=($(compgen -W "kernel" -- "${cur}"))
                    return 0
                    ;;
                --fallback)
                    COMPREPLY=($(compgen -W "thp base none" -- "${cur}"))
                    return 0
                    ;;
                --disable)
                    COMPREPLY=($(compgen -f "${cur}"))
                    return 0
                    ;;
                --limit)
                    COMPREPLY=($(compgen -f "${cur}"))
                    return 0
                    ;;
                --next-touch)
                    COMPREPLY=($(compgen -f "${cur}"))
                    return 0
                    ;;
                --only)
                    COMPREPLY=($(compgen -f "${cur}"))
                    return 0
                    ;;
                --require)
                    COMPREPLY=($(compgen -f "${cur}"))
                    return 0
                    ;;
                --report)
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
                --status)
                    COMPREPLY=($(compgen -f "${cur}"))
                    return 0
                    ;;
                --emit)
                    COMPREPLY=($(compgen -W "systemd environment docker kubernetes" -- "${cur}"))
                    return 0
                    ;;
                --sysroot)
                    COMPREPLY=()
                    if [[ "${BASH_VERSINFO[0]}" -ge 4 ]]; then
                        compopt -o plusdirs
                    fi
                    return 0
                    ;;
                --pid)
                    COMPREPLY=($(compgen -f "${cur}"))
                    return 0
                    ;;
                --budget)
                    COMPREPLY=($(compgen -f "${cur}"))
                    return 0
                    ;;
                --touched)
                    COMPREPLY=($(compgen -f "${cur}"))
                    return 0
                    ;;
                --compare)
                    COMPREPLY=($(compgen -f "${cur}"))
                    return 0
                    ;;
                --rounds)
                    COMPREPLY=($(compgen -f "${cur}"))
                    return 0
                    ;;
                --within)
                    COMPREPLY=($(compgen -f "${cur}"))
                    return 0
                    ;;
                --time)
                    COMPREPLY=($(compgen -f "${cur}"))
                    return 0
                    ;;
                --metric)
                    COMPREPLY=($(compgen -f "${cur}"))
                    return 0
                    ;;
                --driver)
                    COMPREPLY=($(compgen -f "${cur}"))
                    return 0
                    ;;
                --ready)
                    COMPREPLY=($(compgen -f "${cur}"))
                    return 0
                    ;;
                --library-path)
                    COMPREPLY=()
                    if [[ "${BASH_VERSINFO[0]}" -ge 4 ]]; then
                        compopt -o plusdirs
                    fi
                    return 0
                    ;;
                --verbose)
                    COMPREPLY=($(compgen -f "${cur}"))
                    return 0
                    ;;
                --messages)
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
_hugectl_sizes() {
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
_hugectl_values() {
    case $1 in
    'SIZE|thp') _hugectl_sizes && echo thp ;;
    'SIZE' | 'SIZE|1/N') _hugectl_sizes ;;
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
_hugectl_value_of() {
    case $1 in
    --text) echo 'SIZE|thp' ;;
    --data) echo 'SIZE|thp' ;;
    --bss) echo 'SIZE|thp' ;;
    --heap) echo 'SIZE|thp' ;;
    --heap-engine | '--heap-engine ') echo '=libc arena' ;;
    --shm) echo 'SIZE|thp' ;;
    --anon) echo 'SIZE|thp' ;;
    --anon-min | '--anon-min ') echo 'SIZE' ;;
    --stack) echo 'SIZE|thp' ;;
    --stack-depth | '--stack-depth ') echo 'BYTES' ;;
    --thp-policy | '--thp-policy ') echo '=always advised never' ;;
    --fork | '--fork ') echo '=kernel' ;;
    --fallback | '--fallback ') echo '=thp base none' ;;
    --disable) echo 'WORD' ;;
    --limit | '--limit ') echo 'SIZE|1/N' ;;
    --next-touch) echo 'SIZE' ;;
    --only | '--only ') echo 'NAME[,NAME]' ;;
    --require | '--require ') echo 'SEGMENTS' ;;
    --report) echo 'FILE' ;;
    --status | '--status ') echo 'PID|NAME|all' ;;
    --emit) echo '=systemd environment docker kubernetes' ;;
    --sysroot | '--sysroot ') echo 'DIR' ;;
    --pid | '--pid ') echo 'PID|NAME[,...]' ;;
    --budget | '--budget ') echo 'PERCENT' ;;
    --touched | '--touched ') echo 'PERCENT' ;;
    --compare) echo 'WAY,...' ;;
    --rounds) echo 'N' ;;
    --within) echo 'PERCENT' ;;
    --time) echo 'SECONDS' ;;
    --metric) echo 'REGEX' ;;
    --driver) echo 'COMMAND' ;;
    --ready) echo 'REGEX|PORT' ;;
    --library-path | '--library-path ') echo 'PREFIX' ;;
    --verbose | '--verbose ') echo 'N' ;;
    --messages | '--messages ') echo 'FILE|FD' ;;
    esac
}

# Completes the line up to the cursor. Splits it again, since bash also splits at
# = and :.
_hugectl_line() {
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
            if [[ -n $(_hugectl_value_of "$word ") ]]; then
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
        _hugectl_reply "$option" "$whole" && return
    fi
    # After the options: a program and its arguments.
    if [[ -z $status && ( -n $program || $whole != -* ) && -z $option ]]; then
        local start=$((COMP_CWORD)) i
        # The program's index in bash's words.
        for ((i = 1; i < COMP_CWORD; i++)); do
            [[ -n $program && ${COMP_WORDS[i]} == "${words[program]}" ]] && start=$i && break
        done
        if [[ -z $program ]] || ((program == last)); then
            mapfile -t COMPREPLY < <(compgen -c -- "$2" | sort -u)
        elif declare -F _command_offset >/dev/null; then
            _command_offset "$start"
        else
            mapfile -t COMPREPLY < <(compgen -f -- "$2")
        fi
        return
    fi
    _hugectl "$@"
}

# Offers the values of an option. Fails if any word or file will do.
_hugectl_reply() {
    local name values
    name=$(_hugectl_value_of "$1")
    [[ -n $name ]] && values=$(_hugectl_values "$name" "$2") || return 1
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
    complete -F _hugectl_line -o nosort -o bashdefault -o default hugectl
else
    complete -F _hugectl_line -o bashdefault -o default hugectl
fi

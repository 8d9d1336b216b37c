
# Handwritten: values from the machine and the command line; see
# tests/generated/shell.

# The sizes of the machine's pools.
_@ID@_sizes() {
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
_@ID@_values() {
    case $1 in
    'SIZE|thp') _@ID@_sizes && echo thp ;;
    'SIZE' | 'SIZE|1/N') _@ID@_sizes ;;
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
_@ID@_value_of() {
    case $1 in
@VALUES@    esac
}

# Completes the line up to the cursor. Splits it again, since bash also splits at
# = and :.
_@ID@_line() {
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
            if [[ -n $(_@ID@_value_of "$word ") ]]; then
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
        _@ID@_reply "$option" "$whole" && return
    fi
@PROGRAM@    _@ID@ "$@"
}

# Offers the values of an option. Fails if any word or file will do.
_@ID@_reply() {
    local name values
    name=$(_@ID@_value_of "$1")
    [[ -n $name ]] && values=$(_@ID@_values "$name" "$2") || return 1
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

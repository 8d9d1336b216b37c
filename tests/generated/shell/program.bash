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


# Names of skills, agents and chains, besides what is known without looking.
_grove_with_names() {
    _grove "$@"
    local current="${COMP_WORDS[COMP_CWORD]}" kind at=2
    case "${COMP_WORDS[1]}" in
        why) kind=skills ;;
        prompt) kind=agents ;;
        skills | agents | chains) kind="${COMP_WORDS[1]}" at=3 ;;
        *) return 0 ;;
    esac
    if [[ "$COMP_CWORD" -lt "$at" || "$current" == -* ]]; then
        return 0
    fi
    # Whoever lists words has them expanded, so that only plain names are offered.
    local names
    names="$("${COMP_WORDS[0]}" "$kind" list 2>/dev/null | cut -f1 | grep -xE '[A-Za-z0-9][A-Za-z0-9._-]*')"
    COMPREPLY+=($(compgen -W "$names" -- "$current"))
}
complete -F _grove_with_names -o bashdefault -o default grove

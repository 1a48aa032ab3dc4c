#!/bin/sh
# Checks the scripts that are named, or both.
[ $# -gt 0 ] || set -- to-fahrenheit to-celsius
failed=0
check() {
    got=$(sh "$1" "$2")
    if [ "$got" = "$3" ]; then
        echo "ok: $1 $2 is $3"
    else
        echo "WRONG: $1 $2 is $got and not $3"
        failed=1
    fi
}
for script; do
    case $script in
        to-fahrenheit) check "$script" 100 212 && check "$script" 0 32 ;;
        to-celsius) check "$script" 212 100 && check "$script" 32 0 ;;
    esac
done
exit $failed

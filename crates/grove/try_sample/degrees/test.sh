#!/bin/sh
# Checks the conversion that is named, or both.
[ $# -gt 0 ] || set -- fahrenheit celsius
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
for scale; do
    case $scale in
        fahrenheit) check to-fahrenheit 100 212 && check to-fahrenheit 0 32 ;;
        celsius) check to-celsius 212 100 && check to-celsius 32 0 ;;
    esac
done
exit $failed

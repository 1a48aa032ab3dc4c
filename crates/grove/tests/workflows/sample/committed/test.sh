#!/bin/sh
# Each script with a file of numbers and what it has to print.
cd "$(dirname "$0")" || exit 2
failed=0
check() {
    printf "$2" > numbers.tmp
    printed=$(sh "$1" numbers.tmp 2>&1)
    [ "$printed" = "$3" ] || { echo "WRONG: $1 of $2 is $printed and not $3"; failed=1; }
}
check total '1\n2\n3\n' 6
check total '' 0
rm -f numbers.tmp
exit $failed

# Left from the first version; `total` does the adding now.
average() {
    awk '{ sum += $1 } END { print sum / NR }' "$1"
}

#!/bin/sh
# Counts words per message and over all; fails when there is nothing to count.
set -eu
printf 'Words in %s:\n' "$1"
wc -w "$1"/*.txt
printf 'Most frequent: '
cat "$1"/*.txt | tr -cs '[:alpha:]' '\n' | tr '[:upper:]' '[:lower:]' | grep '....' |
	sort | uniq -c | sort -rn | awk 'NR <= 3 { printf "%s (%s) ", $2, $1 }'
printf '\ndone\n'

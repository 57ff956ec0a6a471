#!/bin/sh
# Counts words per message and in total; fails if there are no messages.
set -eu
printf 'Words in %s:\n' "$1"
wc -w "$1"/*.txt
printf 'Most frequent: '
cat "$1"/*.txt | tr -cs '[:alpha:]' '\n' | tr '[:upper:]' '[:lower:]' | grep '....' |
	sort | uniq -c | sort -rn | awk 'NR <= 3 { printf "%s (%s) ", $2, $1 }'
printf '\ndone\n'

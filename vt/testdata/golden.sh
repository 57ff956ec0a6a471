#!/usr/bin/env bash
# golden.sh records what tmux shows for recorded output.
#
#	golden.sh [-s COLSxROWS] FILE.raw...
#
# Each file is fed byte for byte to a pane (default 80x24) of a private
# tmux, through a terminal in raw mode, so nothing is added. Next to
# FILE.raw it writes FILE.ansi (capture-pane -e -p -N, history and screen) and
# FILE.state (cursor, alternate screen, history size and title, one per line).
set -euo pipefail
size=80x24
while getopts s: opt; do
	case $opt in
	s) size=$OPTARG ;;
	*) exit 2 ;;
	esac
done
shift $((OPTIND - 1))

tmp=$(mktemp -d)
trap 'tm kill-server 2>/dev/null || true; rm -rf "$tmp"' EXIT
printf '%s\n' 'set -g status off' 'set -g history-limit 50000' 'set -g allow-rename off' >"$tmp/tmux.conf"
run=0 # a server for each file: a new one may meet the old one still going
tm() { tmux -S "$tmp/socket$run" -f "$tmp/tmux.conf" "$@"; }

for raw in "$@"; do
	run=$((run + 1))
	base=${raw%.raw}
	cp "$raw" "$tmp/in"
	# The end of the output is signalled by a title, not by a pause: tmux reads
	# the output of cat before the title set after it.
	tm new-session -d -s g -x "${size%x*}" -y "${size#*x}" \
		"stty raw -echo; cat '$tmp/in'; printf '\033]2;%s\033\\\\' golden-end; sleep 600"
	for ((i = 0; i < 200; i++)); do
		now=$(tm display-message -p -t g '#{pane_title}')
		[ "$now" = golden-end ] && break
		sleep 0.05
	done
	tm capture-pane -e -p -N -S - -t g >"$base.ansi"
	tm display-message -p -t g 'cursor=#{cursor_y},#{cursor_x}
alternate=#{alternate_on}
history=#{history_size}
visible=#{cursor_flag}' >"$base.state"
	tm kill-server
done

#!/usr/bin/env bash
# Shows what gc is for, with real programs: `make demo` calls it with start,
# `make demo-stop` with stop. All state is in bin/demo and examples/demo/.gc; stop
# removes both.
set -euo pipefail

here=$(cd "$(dirname "$0")" && pwd)
root=$(cd "$here/../.." && pwd)
state=$root/bin/demo
export GC_MUX_SOCKET=$state/mux.sock
unset GC_SESSION GC_CITY GC_CITY_PATH
gc=$state/gc

bold='' plain=''
[[ -t 1 ]] && bold=$'\033[1m' plain=$'\033[0m'
say() { printf '\n%s%s%s\n' "$bold" "$*" "$plain"; }

# show prints a command as typed by a person, and runs it.
show() {
	local word line='$ gc'
	for word; do
		[[ $word == *[!a-zA-Z0-9./=-]* ]] && word="'$word'"
		line+=" $word"
	done
	printf '%s\n' "$line"
	"$gc" "$@"
}

# screen shows the first lines of an agent's screen, set off from the rest.
screen() {
	printf '$ gc peek %s\n' "$1"
	"$gc" peek "$1" | head -n "$2" | cut -c1-90 | sed 's/^/  | /'
}

pid_of() { "$gc" session list | awk -v name="gc-demo-$1" '$1 == name { print $3 }'; }

make_wrapper() {
	mkdir -p "$state"
	chmod 700 "$state"
	printf '#!/bin/sh\n# gc on the demo city.\nGC_MUX_SOCKET=%q XDG_STATE_HOME=%q exec %q --city %q "$@"\n' \
		"$GC_MUX_SOCKET" "$state/state" "$root/bin/gc" "$here" >"$gc"
	chmod 755 "$gc"
}

stop() {
	if [[ -x $gc ]]; then
		"$gc" stop
		"$gc" mux stop --force
	fi
	rm -rf "$state" "$here/.gc"
}

start() {
	if [[ -e $state ]]; then
		say 'The previous demo is still running; stopping it first.'
		stop
	fi
	make_wrapper

	say 'A city is a directory with a city.toml. This one has four agents, all real programs:'
	show agent list

	say 'gc starts each on its own terminal, waits until it is ready, and watches it.'
	show start --trust

	say 'A nudge types a message, submits it, and checks on the screen that it was submitted.'
	show nudge assistant 'how many words are there?'
	"$gc" wait assistant --until 'text=^There are .* words' --timeout 10s >/dev/null
	screen assistant 8

	say 'You can look at every screen without touching it: a shell, a full-screen program, a finished job.'
	"$gc" nudge shell 'head -n 1 inbox/*' >/dev/null
	"$gc" wait shell --until quiet=200ms --timeout 10s >/dev/null
	screen shell 10
	screen monitor 9
	screen report 8

	say 'An agent that dies is restarted immediately.'
	restart_demo
	show status

	say 'Your turn. These commands work as they are, from this directory:'
	cat <<-TEXT
		  bin/demo/gc attach shell      use its terminal; detach with ctrl-b d
		  bin/demo/gc attach monitor    a full-screen program
		  bin/demo/gc nudge assistant 'who wants screen'
		  bin/demo/gc peek assistant
		  bin/demo/gc status
		  make demo-stop                stop everything, leave nothing behind

		(bin/demo/gc is bin/gc with --city examples/demo and a mux server of its own.
		The programs keep running when you close this terminal.)
	TEXT
}

# restart_demo kills the assistant and waits for the next one.
restart_demo() {
	local old new tries=0
	old=$(pid_of assistant)
	printf '$ kill -9 %s    # the assistant\n' "$old"
	kill -9 "$old"
	until new=$(pid_of assistant) && [[ -n $new && $new != "$old" ]]; do
		((++tries < 100)) || { echo 'the assistant did not come back' >&2; return 1; }
		sleep 0.05
	done
	printf 'the assistant is back as process %s\n' "$new"
	tries=0
	until "$gc" status 2>/dev/null | grep -q '^assistant *running'; do
		((++tries < 100)) || break
		sleep 0.05
	done
}

case ${1-} in
start) start ;;
stop) stop ;;
*) echo "usage: $0 start|stop" >&2; exit 2 ;;
esac

#!/usr/bin/env bash
# record.sh records the raw output of real programs in a terminal of 80 columns
# and 24 rows, for the comparison with tmux in recordings_test.go.
#
#	record.sh [-o FOLDER] [-p PREFIX] [NAME...]
#
# The programs run in a private tmux server in their own namespaces (own
# process table, host name and /tmp/demo), so a recording shows nothing of
# the machine it was made on. PREFIX is a directory with more programs (as from
# dpkg -x), searched before the system's. A program that is not installed is
# skipped with a message on stderr. golden.sh then records what tmux shows.
#
# Needs Linux, bash, tmux, util-linux (unshare) and the right to use it.
set -euo pipefail
set -f # keys are words, and a star is a key

here=$(cd "$(dirname "$0")" && pwd)
out=$here/recordings prefix=
while getopts o:p: opt; do
	case $opt in
	o) out=$(realpath "$OPTARG") ;;
	p) prefix=$(realpath "$OPTARG") ;;
	*) exit 2 ;;
	esac
done
shift $((OPTIND - 1))

if [ -z "${RECORD_INSIDE:-}" ]; then
	exec env RECORD_INSIDE=1 unshare --uts --pid --fork --kill-child --mount-proc --mount \
		bash "$0" -o "$out" ${prefix:+-p "$prefix"} "$@"
fi

hostname demo
mkdir -p /tmp/demo
mount -t tmpfs demo /tmp/demo
demo=/tmp/demo
mkdir -p $demo/bin $demo/.state
if [ -n "$prefix" ]; then # the programs' own paths must not show in what they print
	mkdir -p $demo/.opt
	mount --bind "$prefix" $demo/.opt
fi
cd $demo

rust=$(rustc --print sysroot 2>/dev/null || true)/bin # not the wrapper, which wants a home
env_clean=(env -i HOME=$demo USER=demo LOGNAME=demo SHELL=/bin/bash TERM=xterm-256color LANG=C.UTF-8
	PS1='$ ' PATH="$demo/bin:$demo/.opt/usr/bin:$demo/.opt/bin:/usr/local/go/bin:/usr/local/bin:/usr/bin:/bin:/usr/sbin:/sbin:$rust"
	LD_LIBRARY_PATH=$demo/.opt/usr/lib/x86_64-linux-gnu:$demo/.opt/lib/x86_64-linux-gnu
	MC_DATADIR=$demo/.opt/usr/share/mc/ FIGLET_FONTDIR=$demo/.opt/usr/share/figlet
	GIT_CONFIG_GLOBAL=$demo/.gitconfig GIT_AUTHOR_NAME=Demo GIT_AUTHOR_EMAIL=demo@example.com
	GIT_COMMITTER_NAME=Demo GIT_COMMITTER_EMAIL=demo@example.com
	GIT_AUTHOR_DATE='2024-05-06T07:08:09Z' GIT_COMMITTER_DATE='2024-05-06T07:08:09Z'
	TZ=UTC MANWIDTH=80 LESSHISTFILE=- GOFLAGS=-mod=mod GOCACHE=$demo/.state/go GOTOOLCHAIN=local
	GOTELEMETRY=off NO_UPDATE_NOTIFIER=1 npm_config_update_notifier=false npm_config_audit=false)
printf '%s\n' 'set -g status off' 'set -g escape-time 0' 'set -g history-limit 50000' >$demo/.state/tmux.conf
run=0 # a server for each program: a new one may meet the old one still going
tm() { tmux -S $demo/.state/tmux$run -f $demo/.state/tmux.conf "$@"; }

# shown waits until the pane shows the pattern, for at most a minute.
shown() {
	local i
	for ((i = 0; i < 600; i++)); do
		tm capture-pane -p -t r | grep -qE -e "$1" && return 0
		sleep 0.1
	done
	echo "record.sh: $name: never showed: $1" >&2
	tm capture-pane -p -t r >&2
	return 1
}

# settled waits until the recording has not grown for half a second.
settled() {
	local size=-1 now i
	for ((i = 0; i < 40; i++)); do
		now=$(stat -c %s "$raw")
		[ "$now" = "$size" ] && return 0
		size=$now
		sleep 0.5
	done
}

# record NAME COMMAND [PATTERN KEYS]... [PATTERN] runs the command, waits for each
# pattern and types its keys (tmux key names); the recording ends when the last pattern
# is shown and the output is quiet. END is shown when the command has ended.
record() {
	name=$1 raw=$out/$1.raw
	local command=$2 word
	shift 2
	if [ -n "$only" ] && [[ " $only " != *" $name "* ]]; then return 0; fi
	word=${command%% *}
	if ! "${env_clean[@]}" bash -c "command -v ${word##*/}" >/dev/null; then
		echo "record.sh: $name left out: no $word" >&2
		return 0
	fi
	: >"$raw"
	run=$((run + 1))
	rm -f $demo/.state/end $demo/.state/go.ok
	printf '%s\n' "$command" >$demo/.state/command
	tm new-session -d -s r -x 80 -y 24 -c $demo "${env_clean[@]}" TMUX= bash --norc --noprofile -c \
		'until [ -e .state/go.ok ]; do sleep 0.05; done; (. .state/command); touch .state/end; sleep 600'
	tm pipe-pane -O -t r "cat >>'$raw'"
	touch $demo/.state/go.ok
	while [ $# -gt 0 ]; do
		if [ "$1" = END ]; then
			until [ -e $demo/.state/end ]; do sleep 0.1; done
		else
			shown "$1" || break
		fi
		shift
		[ $# -eq 0 ] && break
		[ -z "$1" ] || settled
		# shellcheck disable=SC2086 # words are keys
		[ -z "$1" ] || tm send-keys -t r $1
		shift
	done
	settled
	tm kill-server
	echo "record.sh: $name: $(stat -c %s "$raw") bytes" >&2
}

only="$*"
# shellcheck source=record-programs.sh
. "$here/record-programs.sh"

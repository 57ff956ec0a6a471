#!/usr/bin/env bash
# make.sh VERSION [GC]: write VERSION.tar.gz here, the state that this version of gc leaves on the
# disk when everything is killed: a city and its multiplexer. TestStates reads every such file
# with the gc under test. `make state` calls it at each release.
set -euo pipefail
version=$1
gc=$(realpath "${2:-bin/gc}")
here=$(cd "$(dirname "$0")" && pwd)
dir=$(mktemp -d)
trap '"$gc" stop >/dev/null 2>&1; "$gc" mux stop --force >/dev/null 2>&1; rm -rf "$dir"' EXIT
export HOME=$dir/home GC_MUX_SOCKET=$dir/mux GC_TRUST=1 GC_CITY_PATH=$dir/city
mkdir "$HOME" "$dir/city"
cat >"$dir/city/city.toml" <<'TOML'
[workspace]
name = "old"

[[agents]]
name = "worker"
start_command = "echo hello; exec cat"
record = true

[[agents]]
name = "job"
lifecycle = "one_shot"
start_command = "echo it failed; exit 3"

[[agents]]
name = "off"
start_command = "while printf 'ready> '; read -r line; do echo \"got $line\"; done"
ready_prompt_prefix = "ready> "
TOML
"$gc" start || true # the job fails
"$gc" agent suspend off
"$gc" nudge worker 'a message that was typed'
"$gc" mail send worker 'a letter that nobody read'
"$gc" nudge off 'a message that waits' --delivery queue
"$gc" exec --bg --owner gc-old-off -- sh -c 'echo the result; exit 5' || (($? == 75))
"$gc" session new kept -- cat
"$gc" session meta set kept colour blue
pid() { "$gc" "$@" --json | tr -d ' \n' | grep -o "\"$key\":{\"pid\":[0-9]*" | grep -o '[0-9]*$'; }
kill -9 "$(key=controller pid status)"
server=$(key=server pid mux status) keeper=$(key=keeper pid mux status)
kill -9 "$keeper" "$server"
rm -f "$dir"/mux "$dir"/city/.gc/controller.{sock,lock,log}
tar -C "$dir" --sort=name --owner=0 --group=0 --numeric-owner -czf "$here/$version.tar.gz" city mux.d

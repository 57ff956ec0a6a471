#!/bin/sh
# A full-screen program: top, or an alternative on this machine.
# top creates a directory for its settings; this one is removed with the demo.
export XDG_CONFIG_HOME="$PWD/.gc/config"
for program in 'top -d 2' 'less city.toml' 'vi -R city.toml'; do
	command -v "${program%% *}" >/dev/null && exec $program
done
echo 'This machine has neither top, less nor vi.'
exec cat

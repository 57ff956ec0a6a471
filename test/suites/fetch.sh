#!/usr/bin/env bash
# fetch.sh NAME: prints the directory of a public suite, pinned by version and hash, and
# fetches it on the first use: Debian's archive keeps the sources of libvterm and xterm.js.
set -euo pipefail

case ${1:-} in
libvterm) # MIT
	package=libvterm=0.3.3-3 suite=trixie file=libvterm_0.3.3.orig.tar.gz parts=libvterm-0.3.3/t
	sum=09156f43dd2128bd347cbeebe50d9a571d32c64e0cf18d211197946aff7226e0 ;;
xtermjs) # MIT
	package=node-xterm=5.3.0-4 suite=trixie file=node-xterm_5.3.0.orig.tar.gz parts=xterm.js-5.3.0/fixtures/escape_sequence_files
	sum=2e933e1d2c2f0ae6a5de720a7fe3ff62fe3930abe95c47533dcdb21eb0125bef ;;
*) echo "usage: fetch.sh libvterm|xtermjs" >&2; exit 2 ;;
esac

cache=${XDG_CACHE_HOME:-$HOME/.cache}/gc-suites/$1-${sum:0:16}
if [[ ! -e $cache/done ]]; then
	work=$(mktemp -d)
	trap 'rm -rf "$work"' EXIT
	mkdir -p "$work"/{lists/partial,cache/archives/partial,sources}
	# The machine's own archive, but its sources, with lists of our own.
	archive() { apt-get "$@" indextargets --format '$(SITE)' 'Identifier: Packages' | grep -m1 '/debian/\?$' || true; }
	site=$(archive)
	if [[ -z $site ]]; then # apt has no lists yet
		mkdir -p "$work/machine/partial"
		apt-get -o Dir::State::Lists="$work/machine" -o APT::Sandbox::User=root -qq update >&2
		site=$(archive -o Dir::State::Lists="$work/machine")
	fi
	[[ -n $site ]] || { echo "fetch.sh: no archive of Debian among apt's sources" >&2; exit 1; }
	chmod -R a+rX "$work"
	printf 'Types: deb-src\nURIs: %s\nSuites: %s\nComponents: main\nSigned-By: /usr/share/keyrings/debian-archive-keyring.gpg\n' \
		"$site" "$suite" >"$work/sources/src.sources"
	options=(-o Dir::Etc::SourceList=/dev/null -o Dir::Etc::SourceParts="$work/sources" -o Dir::State::Lists="$work/lists"
		-o Dir::Cache="$work/cache" -o APT::Sandbox::User=root -o Acquire::Retries=3)
	(
		cd "$work"
		apt-get "${options[@]}" -qq update
		# The tests need the upstream archive alone; other files of the package may be gone.
		apt-get "${options[@]}" -qq source --download-only --tar-only "$package" || true
		[[ -e $file ]] || apt-get "${options[@]}" -qq source --download-only "$package" || true
	) >&2
	[[ -e $work/$file ]] || { echo "fetch.sh: $file was not fetched" >&2; exit 1; }
	echo "$sum  $work/$file" | sha256sum --check --quiet >&2
	mkdir -p "$work/out"
	tar -xzf "$work/$file" -C "$work/out" --strip-components=1 "$parts"
	touch "$work/out/done"
	mkdir -p "$(dirname "$cache")"
	rm -rf "$cache"
	mv "$work/out" "$cache"
fi
printf '%s\n' "$cache"

#!/usr/bin/env bash
# Fetches the files of xterm.js anew from npm, as PINS lists them, and writes their
# checksums. Run by `make xterm`; to change a version, change PINS first.
set -euo pipefail
cd "$(dirname "$0")"
tmp=$(mktemp -d)
trap 'rm -rf "$tmp"' EXIT
rm -f -- *.mjs *.css *.LICENSE
while read -r package version sum files; do
	[[ $package == @* ]] || continue
	npm pack --silent --pack-destination "$tmp" "$package@$version" >/dev/null
	name=${package#*/} tarball=$tmp/xterm-${package#*/}-$version.tgz
	sha256sum --check --quiet <<<"$sum  $tarball"
	for file in $files; do
		tar -xzOf "$tarball" "package/$file" >"$name.${file##*[./]}"
	done
done <PINS
sha256sum -- *.mjs *.css *.LICENSE >SHA256SUMS

#!/bin/bash
# share.sh DIR GC NAME PREFIX: makes what belongs below PREFIX/share, in DIR: completions, the
# schema of city.toml, units and documents. GC is a gc that runs here; the man pages are
# there already.
set -euo pipefail
dir=$1 gc=$(realpath "$2") name=$3 prefix=$4
cd "$(dirname "$0")/../.."
as=$(mktemp -d)
trap 'rm -rf "$as"' EXIT
ln -s "$gc" "$as/$name" # the name it is called by is that of its help and completions
mkdir -p "$dir"/{bash-completion/completions,zsh/site-functions,fish/vendor_completions.d,systemd/user,"$name","doc/$name"}
"$as/$name" completion bash >"$dir/bash-completion/completions/$name"
"$as/$name" completion zsh >"$dir/zsh/site-functions/_$name"
"$as/$name" completion fish >"$dir/fish/vendor_completions.d/$name.fish"
"$as/$name" config schema >"$dir/$name/city.schema.json"
sed "s|@GC@|$prefix/bin/$name|; s|gc@|$name@|" contrib/systemd/gc@.service >"$dir/systemd/user/$name@.service"
sed "s|@GC@|$prefix/bin/$name|" contrib/launchd/dev.gascity.gc.plist >"$dir/$name/dev.gascity.gc.plist"
cp README.md CHANGELOG.md LICENSE "$dir/doc/$name/"
"$as/$name" version --licenses >"$dir/doc/$name/THIRD-PARTY-NOTICES"
[[ ! -d $dir/man ]] || find "$dir/man" -type f ! -name '*.gz' -exec gzip -9nf {} +

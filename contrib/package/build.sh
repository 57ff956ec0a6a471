#!/bin/bash
# build.sh DIST VERSION NAME EPOCH: makes the packages and the container image from the
# programs in DIST, which make dist built. Two runs make the same bytes.
set -euo pipefail
dist=$(realpath "$1") version=$2 name=$3 epoch=$4
cd "$(dirname "$0")/../.."
export SOURCE_DATE_EPOCH=$epoch
time=$(date -u -d "@$epoch" +%Y-%m-%dT%H:%M:%SZ)
# A package's version begins with a digit and has no dash.
package=${version#v}
[[ $package == [0-9]*.* ]] || package=0.1.0~git$(date -u -d "@$epoch" +%Y%m%d).$version
package=${package//-/.}
conflicts=
[[ $name != gc ]] || conflicts='conflicts: [graphviz]'
for arch in amd64 arm64; do
	stage=$dist/stage/$arch
	mkdir -p "$stage/bin"
	for program in gc gc-mcp gc-ui gc-k8s; do
		install -m 755 "$dist/${program}_${version}_linux_$arch" "$stage/bin/$name${program#gc}"
	done
	cp -r bin/share "$stage/share"
	find "$stage" -type d -exec chmod 755 {} + && find "$stage/share" -type f -exec chmod 644 {} +
	find "$stage" -exec touch -h -d "@$epoch" {} +
	sed "s|@ARCH@|$arch|; s|@VERSION@|$package|; s|@TIME@|$time|; s|@STAGE@|$stage|; s|@LICENSE@|$(head -1 LICENSE | sed 's/ License.*//')|; s|@CONFLICTS@|$conflicts|" \
		contrib/package/nfpm.yaml >"$dist/stage/nfpm-$arch.yaml"
	for format in deb rpm; do
		go tool -modfile=tools/go.mod nfpm package --config "$dist/stage/nfpm-$arch.yaml" --packager $format \
			--target "$dist/gascity_${package}_$arch.$format" >/dev/null
	done
done
"bin/gc" image build --tag "gc.local/gc:${version//[^A-Za-z0-9_.-]/-}" --output "$dist/gc_${version}_image.tar" \
	--from "$dist/gc_${version}_linux_amd64" --from "$dist/gc_${version}_linux_arm64" >/dev/null
rm -rf "$dist/stage"

#!/bin/sh
# install.sh install STAGE DESTDIR PREFIX NAME: copies the tree below STAGE to DESTDIR/PREFIX
# and lists what it made in PREFIX/share/NAME/installed.
# install.sh uninstall DESTDIR PREFIX NAME: removes what is listed there, and nothing else.
set -eu

list() { echo "$1$2/share/$3/installed"; }

install_tree() {
	stage=$(cd "$1" && pwd) to=$2$3 list=$(list "$2" "$3" "$4") dirs='' dir=
	# Directories that this makes, the outermost first; those of an earlier install stay ours.
	need=$to
	while [ ! -d "$need" ]; do dirs="d $need
$dirs" need=$(dirname "$need"); done
	mkdir -p "$to" || { echo "cannot write below $to: choose another PREFIX, as in make install PREFIX=\$HOME/.local" >&2; exit 1; }
	[ -w "$to" ] || { echo "cannot write below $to: choose another PREFIX, as in make install PREFIX=\$HOME/.local" >&2; exit 1; }
	old=$(grep '^d ' "$list" 2>/dev/null || true)
	new=$(set -e; cd "$stage"; find . -mindepth 1 -type d | LC_ALL=C sort | while read -r dir; do
		[ -d "$to/${dir#./}" ] || { mkdir "$to/${dir#./}"; echo "d $to/${dir#./}"; }
	done)
	files=$(set -e; cd "$stage"; find . -type f | LC_ALL=C sort | while read -r f; do
		f=${f#./} mode=644
		[ ! -x "$stage/$f" ] || mode=755
		# A new file in place of the old one: a program that runs keeps its own.
		cp "$stage/$f" "$to/$f.new"
		chmod $mode "$to/$f.new"
		mv -f "$to/$f.new" "$to/$f"
		echo "f $to/$f"
	done)
	# What an earlier install had and this one does not is removed.
	sed -n 's/^f //p' "$list" 2>/dev/null | while read -r f; do
		printf '%s\n' "$files" | grep -qxF "f $f" || rm -f "$f"
	done
	printf '%s\n' "$dirs" "$old" "$new" "$files" "f $list" | sed '/^$/d' | awk '!seen[$0]++' >"$list.new"
	mv -f "$list.new" "$list"
}

uninstall() {
	list=$(list "$1" "$2" "$3")
	[ -f "$list" ] || { echo "nothing is installed as $3 below $1$2: $list is missing" >&2; exit 1; }
	entries=$(sed '1!G;h;$!d' "$list") # the last first
	printf '%s\n' "$entries" | sed -n 's/^f //p' | while read -r f; do rm -f "$f"; done
	printf '%s\n' "$entries" | sed -n 's/^d //p' | while read -r d; do rmdir "$d" 2>/dev/null || true; done
}

case $1 in
install) shift; install_tree "$@" ;;
uninstall) shift; uninstall "$@" ;;
esac

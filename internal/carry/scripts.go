package carry

// The scripts need a POSIX shell, git 2.23 or tar, mktemp and coreutils. A pack script
// ends its output with the line "done", which is missing if it failed: an unpack script
// looks for it before it changes anything.

// branchLine prints the branch, or nothing if HEAD is detached.
const branchLine = `git rev-parse --git-dir >/dev/null || exit
git symbolic-ref -q --short HEAD || true`

// receive is the beginning of every unpack script: it reads the input into the file $f,
// without its end.
const receive = `set -e
m=$(umask)
umask 077
f=$(mktemp)
trap 'rm -f "$f" "$f.all"' EXIT
cat >"$f.all"
[ "$(tail -n 1 "$f.all")" = done ] || exit 65
head -c $(($(wc -c <"$f.all") - 6)) "$f.all" >"$f"
rm "$f.all"
umask "$m"
`

// packGit writes a bundle with HEAD and refs/gc/move, a commit of all files that are not
// ignored, made with an index of its own.
const packGit = `set -e
[ "$(git rev-parse --show-cdup)" = "" ] || { echo "it is not the top of a git work tree" >&2; exit 1; }
index=$(git rev-parse --git-dir)/gc-move-index
trap 'rm -f "$index"; git update-ref -d refs/gc/move' EXIT
git rev-parse -q --verify HEAD >/dev/null || { echo "it has no commit yet" >&2; exit 1; }
[ ! -f "$(git rev-parse --git-dir)/index" ] || cp "$(git rev-parse --git-dir)/index" "$index"
tree=$(export GIT_INDEX_FILE="$index"; git add -A && git reset -q -- .gc && git write-tree)
export GIT_AUTHOR_NAME=gc GIT_AUTHOR_EMAIL=gc@localhost GIT_COMMITTER_NAME=gc GIT_COMMITTER_EMAIL=gc@localhost
git update-ref refs/gc/move "$(git commit-tree "$tree" -p HEAD -m 'uncommitted state')"
git bundle create -q - HEAD refs/gc/move
echo
echo done
`

// unpackGit takes them over. What it does first fails without a change to the files.
const unpackGit = receive + `[ -e .git ] || {
	[ -z "$(ls -A | grep -vx .gc)" ] || { echo "it has files and is not a git work tree" >&2; exit 66; }
	git init -q .
}
[ -z "$(git status --porcelain -- . ':(exclude).gc')" ] || { echo "it has uncommitted changes" >&2; exit 66; }
git fetch -q "$f" +HEAD:refs/gc/head +refs/gc/move:refs/gc/move
trap 'rm -f "$f" "$f.all"; git update-ref -d refs/gc/head; git update-ref -d refs/gc/move' EXIT
if [ -n "$GC_BRANCH" ]; then
	if git rev-parse -q --verify "refs/heads/$GC_BRANCH" >/dev/null; then
		git merge-base --is-ancestor "refs/heads/$GC_BRANCH" refs/gc/head || { echo "branch $GC_BRANCH has other commits" >&2; exit 66; }
	fi
	git checkout -q -B "$GC_BRANCH" refs/gc/head
else
	git checkout -q --detach refs/gc/head
fi
git read-tree -m -u HEAD refs/gc/move
git reset -q
`

const packTar = `set -e
tar -cf - --exclude ./.gc .
echo
echo done
`

const unpackTar = receive + `[ -z "$(ls -A | grep -vx .gc)" ] || { echo "it has files" >&2; exit 66; }
tar -xpf "$f"
`

// encoded sets GC_DIR to the working directory as programs write it in the name of a file.
const encoded = `set -e
GC_DIR=$(pwd -P | tr -c 'A-Za-z0-9\n' '-')
`

const packConversation = encoded + `cd "@DIR@" 2>/dev/null || exit 67
set -- @FILES@
[ -e "$1" ] || exit 67
tar -cf - "$@"
echo
echo done
`

// unpackConversation compares before it replaces anything.
const unpackConversation = encoded + receive + `d=$(mktemp -d)
trap 'rm -rf "$f" "$f.all" "$d"' EXIT
tar -xpf "$f" -C "$d"
umask 077
mkdir -p "@DIR@"
cd "@DIR@"
(cd "$d" && find . -type f) | while read -r n; do
	[ ! -e "$n" ] || head -c "$(wc -c <"$n")" "$d/$n" | cmp -s - "$n" || { echo "it has another $n" >&2; exit 66; }
done
cp -Rp "$d/." .
`

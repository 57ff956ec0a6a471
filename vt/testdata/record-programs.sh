# shellcheck shell=bash
# The programs that record.sh records, and the files they work on.
# Read by record.sh, which defines record.

# --- their input files -------------------------------------------------------

cat >broken.c <<'END'
#include <stdio.h>

struct point { int x, y; };

int main(void)
{
	struct point p = { 1, 2 };
	int unused;
	printf("%s\n", p.x);
	p.z = 3;
	return undeclared
}
END
cat >templates.cc <<'END'
#include <map>
#include <string>
#include <vector>

int main()
{
	std::map<std::string, std::vector<int>> m;
	m["a"] = 1;
	for (auto &x : m) x.push_back(2);
}
END
cat >broken.rs <<'END'
fn longest(a: &str, b: &str) -> &str {
    if a.len() > b.len() { a } else { b }
}

fn main() {
    let v = vec![1, 2, 3];
    let w = v;
    println!("{:?} {}", v, longest("a", "b"));
}
END
mkdir -p gomod
cat >gomod/go.mod <<'END'
module example.com/demo

go 1.20
END
cat >gomod/main.go <<'END'
package main

import (
	"fmt"
	"os"
)

func main() {
	var n int = "text"
	fmt.Println(undefinedName)
}
END
mkdir -p gotest
cp gomod/go.mod gotest/
cat >gotest/a_test.go <<'END'
package demo

import "testing"

func TestSum(t *testing.T) {
	for _, n := range []string{"one", "two", "three"} {
		t.Run(n, func(t *testing.T) {
			if n == "two" {
				t.Errorf("got %q, want ✓ (é, 漢)", n)
			}
		})
	}
}
END
cat >Makefile <<'END'
all: a b c d
a b c d: ; @echo "building $@"; sleep 0.1; echo "done $@"
e: ; false
END
cat >trace.py <<'END'
def f(n):
    return {"a": [1, 2, 3]}[n]["b"]

def main():
    f("a")

main()
END
cat >progress.py <<'END'
import sys, time
for i in range(0, 101, 5):
    bar = "█" * (i // 4) + "░" * (25 - i // 4)
    sys.stdout.write(f"\r\x1b[K\x1b[36m{bar}\x1b[0m {i:3d}% \x1b[2m{'⠋⠙⠹⠸⠼⠴⠦⠧'[i % 8]}\x1b[0m")
    sys.stdout.flush()
    time.sleep(0.02)
print("\nthree at once")
for name in "abc": print(f"{name}:")
for i in range(11):
    sys.stdout.write("\x1b[3A")
    for k, name in enumerate("abc"):
        sys.stdout.write(f"\r\x1b[2K{name}: [{'#' * min(30, i * (k + 1)):<30}]\n")
    sys.stdout.flush()
    time.sleep(0.02)
END
cat >boxes.py <<'END'
print("┌─┬┐  ╔═╦╗  ╓─╥╖  ╒═╤╕  ╭─╮  ┏━┳┓")
print("│ ││  ║ ║║  ║ ║║  │ ││  │ │  ┃ ┃┃")
print("├─┼┤  ╠═╬╣  ╟─╫╢  ╞═╪╡  ╰─╯  ┣━╋┫")
print("└─┴┘  ╚═╩╝  ╙─╨╜  ╘═╧╛       ┗━┻┛")
print("░▒▓█ ▁▂▃▄▅▆▇█ ▏▎▍▌▋▊▉█ ▖▗▘▙▚▛▜▝▞▟ ⠁⠃⠇⡇⣇⣧⣷⣿ ←↑→↓↔↕⇐⇒ ●○◆◇■□▲△")
print("\x1b(0lqqwqqk\n\rx  x  x\n\rtqqnqqu\n\rmqqvqqj\x1b(B ASCII")
print("\x0e\x1b)0aaa\x0f text \x1b[4munder\x1b[24m \x1b[1;31m┃\x1b[0m")
print("─" * 80 + "═" * 81)
END
cat >emoji.py <<'END'
rows = ["😀😃😄 faces", "👍🏽👋🏿 skin tones", "👨‍👩‍👧‍👦👩‍💻🏳️‍🌈 joined", "🇩🇪🇫🇷🇯🇵 flags", "1️⃣2️⃣#️⃣ keycaps",
        "❤️ ☀️ ✈️ with VS16", "❤ ☀ ✈ without", "⌚⏰✅❌⭐ wide by themselves", "©®™ℹ narrow", "🫠🫡🩷 new ones",
        "e\u0301 n\u0303 o\u0302\u0323 marks", "a\u200bb\u200dc\u2060d joiners", "👁️‍🗨️ eye"]
for r in rows: print(f"|{r}|")
print("x" * 79 + "😀end")
print("x" * 78 + "😀end")
END
cat >cjk.py <<'END'
print("漢字かなカナ한국어 中文，全角：ＡＢＣ１２３　空白|")
print("ｱｲｳｴｵ halfwidth|")
for i in range(3): print("東京都" * 14 + "終わり" * i)
print("a" + "漢" * 45)
print("\x1b[31m赤い\x1b[44m青地\x1b[0m \x1b[7m反転\x1b[0m \x1b[4m下線\x1b[0m")
print("漢字漢字\rab\x1b[3Cc\x1b[Kd")
print("한글 조합 \u1112\u1161\u11ab\u1100\u1173\u11af|")
print("ไทย ภาษาไทย | हिन्दी नमस्ते | עברית שלום | العربية سلام | Việt Nam")
END
cat >colours.py <<'END'
for base in (30, 40, 90, 100):
    print(" ".join(f"\x1b[{base + i}m {base + i:3d} \x1b[0m" for i in range(8)))
for row in range(8):
    print("".join(f"\x1b[48;5;{row * 32 + i}m{'▄▀'[i % 2]} \x1b[0m" for i in range(32)))
print("".join(f"\x1b[48;2;{i * 3};{255 - i * 3};128m \x1b[0m" for i in range(80)))
print("".join(f"\x1b[38:2::{i * 3}:{255 - i * 3}:128m#\x1b[0m" for i in range(80)))
print("\x1b[1mbold\x1b[22m \x1b[2mfaint\x1b[22m \x1b[3mitalic\x1b[23m \x1b[4munder\x1b[24m \x1b[5mblink\x1b[25m "
      "\x1b[7minverse\x1b[27m \x1b[8mhidden\x1b[28m \x1b[9mstrike\x1b[29m \x1b[53mover\x1b[55m")
print("\x1b[4:1mone\x1b[4:2mtwo\x1b[4:3mcurly\x1b[4:4mdots\x1b[4:5mdash\x1b[4:0m \x1b[4;58;5;196mred\x1b[59m\x1b[0m "
      "\x1b[21mdouble\x1b[0m \x1b]8;;http://example.com/\x07link\x1b]8;;\x07")
END
cat >tputs.sh <<'END'
tput clear; tput cup 2 4; echo -n "at 2,4"
tput bold; echo -n bold; tput sgr0; tput smul; echo -n under; tput rmul
tput setaf 1; tput setab 4; echo -n colours; tput op
tput cup 5 0; for i in 1 2 3 4 5; do echo "line $i"; done
tput csr 5 8; tput cup 8 0; tput ind; tput ind; echo -n "in the region"
tput csr 0 23; tput cup 12 10; echo -n "abcdefghij"; tput cup 12 12; tput ich 3; tput cup 12 20; tput dch 2
tput cup 13 0; echo -n "deleted line"; tput cup 13 0; tput il 1; echo -n "inserted"; tput cup 15 0; tput dl 1
tput smacs; echo -n "lqqk"; tput rmacs; tput sc; tput cup 20 70; echo -n "corner"; tput rc; echo " back"
tput cup 17 5; echo -n "erase me please"; tput cup 17 11; tput el1; tput cup 18 0; echo -n 1234567890; tput cup 18 4; tput ech 3
tput hts; tput cup 19 0; printf 'a\tb\tc'; tput cup 22 0; tput rep 120 20; tput cup 23 0; echo -n bottom
tput ri; tput cup 0 0; tput ri; echo -n "top"; tput civis; tput smam; tput cup 21 78; echo -n "xyz"
END
cat >scroll.sh <<'END'
for i in $(seq 1 60); do printf '\e[%dm%3d\e[0m the quick brown fox jumps over the lazy dog and over the next one as well %d\n' $((31 + i % 6)) "$i" "$i"; done
END
cat >table.json <<'END'
{"name": "demo", "list": [1, 2.5, null, true], "nested": {"text": "é漢😀", "empty": {}, "deep": [{"a": "b"}]}}
END
printf 'name,kind,size\nalpha,dir,10\nβeta,file,200\n漢字,file,3000\n' >table.csv
for i in $(seq 1 120); do printf 'line %d: \u00e9\u00e8 some words that make a longer line of text, sometimes beyond the edge of it %d\n' "$i" $((i * i)); done >text.txt
mkdir -p tree/a/b tree/c 'tree/with space' && touch tree/a/x.tar.gz tree/a/b/y.png tree/c/run.sh 'tree/漢字.txt' && chmod +x tree/c/run.sh && ln -s ../a tree/c/link && ln -s nowhere tree/broken
find tree -exec touch -h -d 2024-05-06T07:08:09Z {} +
mkdir -p share
for i in alpha beta gamma delta epsilon zeta eta theta iota kappa lambda mu nu xi omicron pi rho sigma tau upsilon phi chi psi omega; do
	mkdir "share/$i" "share/$i-common" "share/lib$i-2.0"
	: >"share/$i.conf"
	ln -s "$i" "share/$i-1"
done
cat >.gitconfig <<'END'
[user]
	name = Demo
	email = demo@example.com
[init]
	defaultBranch = main
[core]
	pager = cat
END
(
	export GIT_CONFIG_GLOBAL=$demo/.gitconfig GIT_AUTHOR_DATE=2024-05-06T07:08:09Z GIT_COMMITTER_DATE=2024-05-06T07:08:09Z
	git init -q repo && cd repo
	for i in 1 2 3 4 5; do echo "line $i" >>file; git add file; git commit -qm "change $i: é 漢"; done
	git checkout -qb side HEAD~2; echo side >other; git add other; git commit -qm 'side work'; git tag v1
	git checkout -q main; git merge -q --no-edit side
	printf 'line 1\nline two\nline 3\n\tline 4\nline 5  \nmore\n' >file
)
echo "PS1='\$ '" >.bashrc
cat >.vimrc <<'END'
set nocompatible number ruler showcmd laststatus=2 hlsearch incsearch
syntax on
END

# --- the programs ------------------------------------------------------------

record gcc 'gcc -Wall -Wextra -fdiagnostics-color=always -c broken.c' END
record g++ 'g++ -fdiagnostics-color=always -fsyntax-only templates.cc 2>&1 | head -60' END
record rustc 'rustc --color always broken.rs' END
record go-build 'cd gomod; go build ./...' END
record go-test 'cd gotest; go test -v ./... | sed "s/[0-9.]*s)/0.00s)/"' END
record make 'make -j2; make e' END
record ls-long 'ls --color=always -la tree tree/a tree/c' END
record ls-columns 'ls --color=always -CF share' END
record git-log-graph 'cd repo; git log --color=always --graph --stat' END
record git-diff 'cd repo; git diff --color=always --color-words; git diff --color=always; git status' END
record git-log-less 'cd repo; git -c color.ui=always log -p | less -R' ':' 'Space' '' '/change Enter' '' ''
record git-add-p 'cd repo; git -c color.ui=always add -p' '\?' '? Enter' '\? *$' 's Enter' '\? *$' 'y Enter' '' ''
record vim-edit 'vim -n new.txt' 'All|~' 'ihello Space 漢字 Space wörld Enter second Space line Enter third Escape' 'third' 'kyypOabove Escape' '' 'dd2xp~ Escape' '' ':set Space list Enter' '' ''
record vim-syntax 'vim -n broken.c' 'Top|All' '/point Enter' '' 'n 1 0 C-y V j j' 'VISUAL' 'Escape G o' 'INSERT' '/* Space comment Space */ Escape' 'comment' ''
record vim-split 'vim -n -o broken.c trace.py' 'trace' 'C-w v' '' ':5 Enter C-w w' '' ':term Space ++rows=6 Enter' '\$$' 'ls Enter' '' ''
record less 'less -N text.txt' 'text' 'Space Space' '' '/words Enter' '' 'G' '\(END\)' 'b' '' '3 k' '' ''
record less-utf8 'python3 cjk.py > cjk.out; python3 emoji.py >> cjk.out; less -R cjk.out' 'cjk' 'Space' '' 'k k Right' '' ''
record top 'top -d 1 -n 4' 'PID' '' END
record top-keys 'top -d 1' 'PID' '1 z x' '' 'M' '' 'f' 'Fields' ''
record man 'man ls' 'Manual page' 'Space d d' '' '/sort Enter' '' ''
record python-repl 'python3 -q' '>>>' 'import Space math Enter' '' 'math.pi*2 Enter' '6.28' 'for Space i Space in Space range(3): Enter' '\.\.\.' 'Space print(i,"é漢"*i) Enter Enter' '2 é漢é漢' 'Up Up Up C-a C-e BSpace' '' 'C-c' '' '1/0 Enter' 'ZeroDivision' ''
record python-traceback 'python3 trace.py' END
record progress 'python3 progress.py' END
record boxes 'python3 boxes.py' END
record emoji 'python3 emoji.py' END
record cjk 'python3 cjk.py' END
record colours 'python3 colours.py' END
record tputs 'bash tputs.sh' END
record scroll 'bash scroll.sh' END
record bash-readline 'env PS1="\$ " bash --norc --noprofile -i' '\$$' 'echo Space one Space two Space three' '' 'C-a C-f C-f C-k' '' 'C-y Enter' 'one' 'ls Space tre Tab' 'ls tree' 'Enter' '' 'C-r' 'search' 'echo' '' 'Escape' '' 'C-u' '' 'echo Space 漢字漢字漢字漢字漢字漢字漢字漢字漢字漢字漢字漢字漢字漢字漢字漢字漢字漢字漢字漢字漢字漢字漢字漢字漢字漢字漢字漢字漢字漢字漢字漢字漢字漢字漢字漢字漢字漢字漢字漢字' '' 'Left Left Left BSpace x C-a y' '' ''
record watch 'watch -n 1 -d date +%S' 'Every' '' '' '' ''
record gdb 'gdb -q -nx' '\(gdb\)' 'print Space 6*7 Enter' '42' 'help Enter' 'all' 'q' '' ''
record sqlite3 'sqlite3 -box :memory:' 'sqlite>' '.import Space --csv Space table.csv Space t Enter' '' 'select Space *, Space length(name) Space from Space t\; Enter' '3000' ''
record jq 'jq -C . table.json' END
record node-repl 'node' '>' '[1,2,{a:"é漢"}] Enter' '漢' '"abc".to' '' 'Tab' '' 'C-c' '' '.help Enter' 'exit' ''
record npm 'mkdir -p pkg && cd pkg && npm init -y && npm ls' END
record curl 'curl -o /dev/null file:///bin/bash; curl -# -o /dev/null file:///bin/bash' END
record bc 'bc -q' '' '2^200 Enter' '16' '' ''
record diff 'diff --color=always -u broken.c templates.cc' END
record perl 'perl -MPOSIX -e "\$|=1; for (1..30) { printf qq(\r%s %d), (qw(| / - \\\\))[\$_%4], \$_; select undef,undef,undef,0.01 } print qq(\n)"' END
record dircolors 'dircolors --print-ls-colors | tail -40' END
record nano 'nano -l text.txt' 'line 3:' 'Down Down End Space new' '' 'C-k C-k C-u' '' 'C-w words Enter' '' 'C-g' 'help|Help' ''
record htop 'htop -d 10' 'F10' 'F5' '' 'Down Down' '' 'F2' 'Setup|Categories' ''
record mc 'mc -a tree /tmp/demo/repo' '10Quit|Quit' 'Tab Down Down' '' 'F9' '' 'Enter' '' ''
record mc-lines 'mc tree' '10Quit|Quit' 'Down Down Insert Insert' '' 'F5' 'Copy' ''
record dialog-menu 'dialog --menu "Choose one, é漢" 15 50 5 1 first 2 second 3 third' 'third' 'Down Down' '' ''
record dialog-gauge 'for i in 0 20 40 60 80 100; do echo $i; sleep 0.1; done | dialog --gauge "please wait" 8 50' END
record dialog-forms 'dialog --checklist list 12 40 4 a one on b two off c three off --and-widget --yesno "Are you sure?" 7 40' 'three' 'Down Space Enter' 'sure' ''
record whiptail 'whiptail --title "A title" --radiolist "pick" 15 50 4 a one on b two off c three off' 'three' 'Down Space Tab' '' ''
record ncdu 'ncdu tree' 'Total|dir' 'Down' '' 'i' '' ''
record tree 'tree -C -a tree repo -I .git' END
record tig 'cd repo; tig --all' 'change' 'Down Down' '' 'Enter' '' ''
record fzf 'ls -1 share | fzf --color=16' '[0-9]+/[0-9]+' 'm a' '' 'Up Up' '' ''
record micro 'micro broken.c' 'broken' 'Down Down End Enter //x' '' 'C-e' '' 'Escape' '' ''
record pv 'head -c 3000000 /dev/zero | pv -L 3m -s 3000000 >/dev/null' END
record figlet 'figlet-figlet demo' END

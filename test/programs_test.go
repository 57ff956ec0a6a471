//go:build e2e

package e2e

import (
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

func write(t *testing.T, file, content string) func(dir string) {
	return func(dir string) {
		if err := os.WriteFile(filepath.Join(dir, file), []byte(content), 0o600); err != nil {
			t.Fatal(err)
		}
	}
}

func TestBash(t *testing.T) {
	b := newBox(t)
	p := b.pair(nil, b.bashArgs()...)
	p.until(`^ready>`)
	p.same()

	p.nudge(`echo hello, "wörld" 日本語 e`)
	p.until(`^hello`)
	p.same()
	p.sameCursor()

	p.nudge(`printf '\e[31;1mred\e[0m \e[4mline\e[0m\ttab\r\noverwritten\rOVER\n'`)
	p.until(`^OVERwritten`)
	p.same()
	p.nudge(`for i in {0..255}; do printf '\e[38;5;%d;48;5;%dm%d ' $i $((255 - i)) $i; done; printf '\e[m\n\e[1mb\e[2md\e[22;3mi\e[23;4mu\e[24;5;7mr\e[27;8mh\e[28;9ms\e[0m \e[38;2;1;22;233mrgb\e[m \e[91;102mbright\e[m styled\n'`)
	p.until(`styled$`)
	p.same()
	p.sameColours()

	// A line longer than the screen wraps, and the history keeps it whole.
	p.nudge(`printf 'x%.0s' {1..300}; echo; seq 1 100`)
	p.until(`^100$`)
	p.same()
	p.sameHistory()

	// Line editing.
	p.text("echo one two three")
	p.keys("C-a", "M-f", "C-f", "C-k")
	p.text("changed")
	p.keys("Left", "Left", "BSpace", "C-e", "Enter")
	p.until(`^chaned$`)
	p.same()
	p.keys("Up", "Up", "C-c")
	p.same()
	p.sameCursor()

	p.keys("C-l")
	p.same()
	p.nudge("exit 3")
	if code := p.exit(); code != 3 {
		t.Errorf("exit %d", code)
	}
	if screen := p.gcScreen(); !strings.Contains(screen, "exit 3") {
		t.Errorf("the last screen is gone:\n%s", screen)
	}
}

func TestVimEditSaveQuit(t *testing.T) {
	var text strings.Builder
	for i := range 200 {
		fmt.Fprintf(&text, "line %d of the file\n", i+1)
	}
	p := newPair(t, write(t, "notes.c", text.String()), need(t, "vim"), "--clean", "-i", "NONE", "-n", "-c", "set background=dark", "notes.c")
	p.until(`^line 1 of`)
	p.keys("C-l") // vim omits the ruler while a reply of the terminal is pending
	p.same()
	p.sameCursor()

	p.keys("o")
	p.text("int main(void) { return 0; } // ünïcödé")
	p.keys("Escape")
	p.until(`^int main`)
	p.same()
	p.sameColours()
	p.sameCursor()

	p.keys("C-f")
	p.until(`^line 60 of`)
	p.same()
	p.text("gg2dd")
	p.text(":split")
	p.keys("Enter", "C-w", "j")
	p.text("G")
	p.until(`^line 200 of`)
	p.same()
	p.text(":set number hlsearch")
	p.keys("Enter")
	p.text("?line 19.")
	p.keys("Enter")
	p.same()
	p.sameCursor()
	p.sameColours() // of the highlighted matches and the status lines
	p.text("VGd")
	p.keys("C-w", "o")
	p.same()

	p.text(":w")
	p.keys("Enter")
	p.until(`written`)
	one, two := p.read(filepath.Join(p.gcDir, "notes.c")), p.read(filepath.Join(p.tmuxDir, "notes.c"))
	if one != two || strings.Contains(one, "line 1 of") || !strings.HasPrefix(one, "line 2 of") {
		t.Errorf("the files differ or are wrong: %.80q %.80q", one, two)
	}
	p.text(":q")
	p.keys("Enter")
	if code := p.exit(); code != 0 {
		t.Errorf("exit %d", code)
	}
}

// TestVimLeavesTheScreen: the screen from before vim is restored after it.
func TestVimLeavesTheScreen(t *testing.T) {
	b := newBox(t)
	p := b.pair(nil, b.bashArgs()...)
	vim := need(t, "vim")
	p.until(`^ready>`) // input before the prompt would be echoed twice
	p.nudge("seq 1 50; PS1='next> '")
	p.until(`^next>`)
	p.text(vim + " --clean -i NONE -n new.txt")
	p.keys("Enter")
	p.until(`^~`)
	p.keys("C-l")
	p.same()
	p.text("ihello")
	p.keys("Escape")
	p.text(":wq")
	p.keys("Enter")
	p.until(`^50$`)
	p.same()
	p.sameHistory()
	if got := p.read(filepath.Join(p.gcDir, "new.txt")); got != "hello\n" {
		t.Errorf("vim wrote %q", got)
	}
}

func TestLess(t *testing.T) {
	var text strings.Builder
	for i := range 500 {
		fmt.Fprintf(&text, "%04d %s ünï 日本 end\n", i, strings.Repeat("word ", i%40))
	}
	p := newPair(t, write(t, "long.txt", text.String()), need(t, "less"), "long.txt")
	p.until(`^0000 `)
	p.same()
	for _, key := range []string{"Space", "Down", "d", "b", "G", "u", "Up", "g"} {
		p.keys(key)
		p.same()
	}
	p.text("/^0321")
	p.keys("Enter")
	p.until(`^0321`)
	p.same()
	p.text("-S")
	p.keys("Enter", "Right")
	p.same()
	p.sameColours()
	p.sameCursor()
	p.keys("q")
	if code := p.exit(); code != 0 {
		t.Errorf("exit %d", code)
	}
}

var (
	number = regexp.MustCompile(`[0-9][0-9.,:]*`)
	blanks = regexp.MustCompile(` +`)
)

// topLayout is what two tops at different moments have in common: the summary
// without its numbers, and the column titles.
func topLayout(screen string) string {
	lines := strings.Split(screen, "\n")
	for i, line := range lines {
		if strings.Contains(line, "PID") {
			return strings.Join(append(lines[:i], line), "\n")
		}
		lines[i] = blanks.ReplaceAllString(number.ReplaceAllString(line, "#"), " ")
	}
	return "no column titles:\n" + screen
}

func TestTop(t *testing.T) {
	p := newPair(t, nil, need(t, "top"), "-d", "1")
	p.until(`^ *PID USER`)
	p.sameAfter(topLayout)
	if lines := strings.Count(p.gcScreen(), "\n"); lines < 8 {
		t.Errorf("only %d lines", lines)
	}
	// A summary bar for each CPU, then without the memory lines.
	p.keys("1")
	p.until(`^%Cpu0`)
	p.sameAfter(topLayout)
	p.keys("m", "m", "m")
	p.sameAfter(topLayout)
	// Columns keep their position from one refresh to the next.
	title := regexp.MustCompile(`(?m)^.*PID USER.*$`)
	p.gc("session", "wait", name, "--until", "quiet=300ms", "--timeout", patience.String())
	before := title.FindString(p.gcScreen())
	p.keys("Space")
	if after := title.FindString(p.gcScreen()); after != before {
		t.Errorf("the columns moved:\n%s\n%s", before, after)
	}
	p.keys("h")
	p.until(`^Help for Interactive Commands`)
	p.sameAfter(func(s string) string { return number.ReplaceAllString(s, "#") })
	p.keys("q")
	p.until(`^ *PID USER`)
	p.keys("q")
	if code := p.exit(); code != 0 {
		t.Errorf("exit %d", code)
	}
}

func TestPython(t *testing.T) {
	p := newPair(t, nil, need(t, "python3"), "-q")
	p.until(`^>>>`)
	p.nudge("print(6 * 7, 'ünï')")
	p.until(`^42`)
	p.same()
	p.sameCursor()
	p.text("for i in range(3):")
	p.keys("Enter")
	p.until(`^\.\.\.`)
	p.text("    print('row', i)")
	p.keys("Enter", "Enter")
	p.until(`^row 2`)
	p.same()
	p.nudge("1/0")
	p.until(`^ZeroDivisionError`)
	p.same()
	p.text("input('name? ')")
	p.keys("Enter")
	p.until(`^name\?`)
	p.nudge("somebody")
	p.until(`^'somebody'`)
	p.same()
	p.keys("C-d")
	if code := p.exit(); code != 0 {
		t.Errorf("exit %d", code)
	}
}

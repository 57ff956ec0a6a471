package menu

import (
	"strings"
	"testing"

	"gascity.dev/gc/mux/keys"
	"gascity.dev/gc/vt"
)

type panel interface {
	Key([]keys.Identity) (bool, string)
	Paint([]byte) []byte
}

// press types keys as a terminal sends them.
func press(p panel, input string) (left bool, chosen string) {
	var scan keys.Scanner
	take := func(tok keys.Token) {
		if _, pressed := keys.Decode(tok); len(pressed) > 0 {
			left, chosen = p.Key(pressed)
		}
	}
	scan.Feed([]byte(input), take)
	scan.Flush(take)
	return left, chosen
}

// shown returns what a terminal of a size shows of it.
func shown(t *testing.T, p panel, cols, rows int) string {
	t.Helper()
	term, err := vt.New(vt.Options{Cols: cols, Rows: rows})
	if err != nil {
		t.Fatal(err)
	}
	term.Write(p.Paint(nil))
	return term.ScreenText()
}

func TestList(t *testing.T) {
	items := []Item{{"mayor", "waits"}, {"worker-1", "runs"}, {"worker-2", "runs"}, {"漢字", "x\x1b[31my"}}
	for keys, want := range map[string]string{
		"\r": "mayor", "\x1b[B\r": "worker-1", "\x1b[B\x1b[B\x1b[A\r": "worker-1", "work\x1b[B\r": "worker-2", "WORKX\x7f\x7f-2\r": "mayor",
		"\x1b[6~\r": "漢字", "\x1b[A\r": "mayor", "-2\r": "worker-2", "none\r": "", "\x1b": "", "\x03": "",
	} {
		if keys == "WORKX\x7f\x7f-2\r" { // the filter is "WOR-2": nothing
			want = ""
		}
		left, chosen := press(NewList("attach to", items, 40, 10), keys)
		if chosen != want || left != (want != "" || keys == "\x1b" || keys == "\x03") {
			t.Errorf("%q: chose %q, left %v, want %q", keys, chosen, left, want)
		}
	}
	if got := shown(t, NewList("attach to", items, 40, 10), 40, 10); !strings.Contains(got, "worker-1  runs") || !strings.Contains(got, "x?[31my") {
		t.Errorf("shown:\n%s", got)
	}
	for _, size := range [][2]int{{2, 1}, {2, 2}, {5, 3}} {
		l := NewList("attach to", items, size[0], size[1])
		press(l, "\x1b[B\x1b[B\x1b[6~\x1b[5~")
		shown(t, l, size[0], size[1])
	}
}

func TestPage(t *testing.T) {
	p := NewPage(strings.Split("one two three four five six", " "), 10, 3)
	if left, _ := press(p, "j"); left || !strings.HasPrefix(shown(t, p, 10, 3), "two") {
		t.Errorf("left %v, shown %q", left, shown(t, p, 10, 3))
	}
	if left, _ := press(p, "\x1b[6~\x1b[6~"); left || !strings.HasPrefix(shown(t, p, 10, 3), "four") {
		t.Errorf("left %v, shown %q", left, shown(t, p, 10, 3))
	}
	if left, _ := press(p, "q"); !left {
		t.Error("q does not leave")
	}
}

package attach

import (
	"regexp"
	"strconv"
	"strings"
	"testing"

	"gascity.dev/gc/vt"
)

// The modes that are asked for are those that AppendReset sets, except a few.
func TestEveryResetModeIsAskedFor(t *testing.T) {
	untold := map[string]bool{"?1049": true, "?6": true, "?69": true}
	want := map[mode]bool{}
	for _, m := range regexp.MustCompile(`\x1b\[(\??)(\d+)([hl])`).FindAllStringSubmatch(string(vt.AppendReset(nil)), -1) {
		n, _ := strconv.Atoi(m[2])
		if !untold[m[1]+m[2]] {
			want[mode{n, m[1] != "", m[3] == "h"}] = true
		}
	}
	for _, m := range resetModes {
		if !want[m] {
			t.Errorf("%+v is not what AppendReset sets", m)
		}
		delete(want, m)
	}
	for m := range want {
		t.Errorf("AppendReset sets %+v, which is not asked for", m)
	}
}

// hosted is a host terminal that a shell has set up.
func hosted(t *testing.T, setup string) *vt.Terminal {
	t.Helper()
	host, err := vt.New(vt.Options{})
	if err != nil {
		t.Fatal(err)
	}
	host.Write([]byte(setup))
	host.TakeReplies()
	return host
}

// told returns a terminal's answers, split.
func told(host *vt.Terminal) []string {
	var list []string
	for _, s := range strings.Split(string(host.TakeReplies()), "\x1b") {
		switch {
		case s == "\\":
			list[len(list)-1] += "\x1b\\"
		case s != "":
			list = append(list, "\x1b"+s)
		}
	}
	return list
}

// A terminal is set to what it was, whatever the session set in between.
func TestBeforeComesBack(t *testing.T) {
	for _, setup := range []string{
		"",
		"\x1b[?2004h\x1b[?1004h\x1b[?1h\x1b=",
		"\x1b[?7l\x1b[?25l\x1b[4h\x1b[20h\x1b[?1007l\x1b[?5h",
		"\x1b[4 q\x1b[=5u\x1b]2;mine\a",
		"\x1b[3g\x1b[5G\x1bH\x1b[9G\x1bH\r",
		"\x1b[3g",
	} {
		host := hosted(t, setup)
		state := new(before)
		ask := state.question()
		host.Write(append(vt.AppendModes([]byte(ask)), askShape...))
		for _, reply := range told(host) {
			if !state.take(reply) {
				t.Errorf("%q: %q is no answer", setup, reply)
			}
		}
		var undo vt.Undo
		const out = "\x1b[?2004l\x1b[?1003h\x1b[?1006h\x1b[?7h\x1b[?25h\x1b[4l\x1b[20l\x1b[>3u\x1b[>1u\x1b[2 q\x1b]2;theirs\a\x1b[?1049h\x1b[?5l\x1b[?1l\x1b[3g\x1b[7G\x1bH"
		undo.Note([]byte(out))
		host.Write([]byte(out))
		host.Write(state.restore(undo.Append(vt.AppendReset(nil)), 80))

		want := hosted(t, setup)
		host.TakeReplies()
		for _, h := range []*vt.Terminal{host, want} {
			h.Write([]byte(strings.TrimSuffix(ask, "\x1b[22;0t")))
		}
		got, exp := told(host), told(want)
		if strings.Join(got, "\n") != strings.Join(exp, "\n") {
			for i := range got {
				if got[i] != exp[i] {
					t.Errorf("%q: %q, want %q", setup, got[i], exp[i])
				}
			}
		}
		if host.Title() != want.Title() {
			t.Errorf("%q: title %q, want %q", setup, host.Title(), want.Title())
		}
	}
}

// A terminal that was not asked, or did not answer, is only reset.
func TestNothingComesBackUnasked(t *testing.T) {
	if got := new(before).restore(nil, 80); len(got) > 0 {
		t.Errorf("%q", got)
	}
	silent := new(before)
	silent.question()
	for _, reply := range []string{"\x1b[?2004;0$y", "\x1b[?25;4$y", "\x1b[?9999;1$y", "\x1b[?1;x$y", "\x1bP0$r\x1b\\"} {
		silent.take(reply)
	}
	if got := string(silent.restore(nil, 0)); got != "\x1b[23;0t" {
		t.Errorf("%q", got)
	}
	if got := string(silent.restore(nil, 20)); got != "\x1b[3g\x1b[1G\x1bH\x1b[9G\x1bH\x1b[17G\x1bH\r\x1b[23;0t" {
		t.Errorf("20 columns: %q", got)
	}
}

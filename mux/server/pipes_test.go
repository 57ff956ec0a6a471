package server

import (
	"strings"
	"testing"

	"gascity.dev/gc/mux/api"
)

// TestModesOfAPipe: modes that a program on pipes sets do not change its input:
// no paste brackets, no application keys.
func TestModesOfAPipe(t *testing.T) {
	t.Parallel()
	c := startServer(t)
	const modes = `\033[?2004h\033[?1h\033=\033[>1u\033[>4;2m\033[?1000h\033[?1006h\033[?1004h`
	r := run(t, c, api.ExecRequest{Command: "printf '" + modes + "'; echo go; exec cat -v", Background: true})
	name := "exec-" + r.ID
	await(t, c, name, "^go")
	if err := c.Paste(t.Context(), name, []byte("pasted\n")); err != nil {
		t.Fatal(err)
	}
	if err := c.Keys(t.Context(), name, []string{"Up", "C-i", "M-a", "Enter"}, false); err != nil {
		t.Fatal(err)
	}
	if rec, err := c.Nudge(t.Context(), name, api.NudgeRequest{Text: "one\ntwo"}); err != nil || rec.State == api.Refused {
		t.Fatalf("nudge: %+v, %v", rec, err)
	}
	await(t, c, name, "^two")
	got := screenText(t, c, name)
	if want := "go\npasted\n^[[A    ^[a\none\ntwo"; got != want {
		t.Errorf("it read:\n%s\nwant:\n%s", got, want)
	}
	conn, err := c.Attach(t.Context(), api.AttachRequest{Name: name, Cols: 80, Rows: 24})
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	for painted := false; !painted; {
		_, data, err := conn.Read(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		if painted = len(data) > 0; painted {
			for _, m := range []string{"?2004h", "?1h", "?1000h", "?1004h", "u"} {
				if strings.Contains(string(data), "\x1b["+m) {
					t.Errorf("the paint switches %s on", m)
				}
			}
		}
	}
	if _, err := c.ProcessKill(t.Context(), r.ID, "", 0); err != nil {
		t.Fatal(err)
	}
}

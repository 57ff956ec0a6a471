package server

import (
	"strings"
	"testing"

	"gascity.dev/gc/mux/api"
	"gascity.dev/gc/mux/internal/persontest"
)

// TestInterruptBehindAFullQueue: Ctrl-C reaches a program that does not read, whatever is
// in its terminal's queue.
func TestInterruptBehindAFullQueue(t *testing.T) {
	t.Parallel()
	c := startServer(t)
	line := strings.Repeat("x", 3000)
	for name, test := range map[string]struct{ command, input string }{
		"empty":         {"echo ready; exec sleep 1000", ""},
		"a-line":        {"echo ready; exec sleep 1000", "one\n"},
		"lines":         {"echo ready; exec sleep 1000", "one\n" + line + "\n" + line},
		"many-lines":    {"echo ready; exec sleep 1000", strings.Repeat(line+"\n", 3)},
		"raw":           {"stty raw -echo; echo ready; exec sleep 1000", line + line},
		"half-raw":      {"stty -icanon -echo; echo ready; exec sleep 1000", line + line},
		"quiet":         {"stty -echo; echo ready; exec sleep 1000", "one\n" + line + "\n" + line},
		"without-flush": {"stty noflsh; echo ready; exec sleep 1000", "one\n"},
	} {
		create(t, c, name, test.command)
		await(t, c, name, "^ready")
		if test.input != "" {
			if err := c.Keys(t.Context(), name, []string{test.input}, true); err != nil {
				t.Fatal(err)
			}
		}
		if err := c.Interrupt(t.Context(), name); err != nil {
			t.Fatal(err)
		}
		r, err := c.Wait(t.Context(), name, api.WaitRequest{Conditions: []api.Condition{{Exit: true}}, Timeout: persontest.Patience})
		if err != nil || r.Exit == nil || r.Exit.Signal != "SIGINT" {
			t.Errorf("%s: %+v, %v", name, r, err)
		}
	}
}

// TestInterruptOnce: a program that reads gets one Ctrl-C or one SIGINT.
func TestInterruptOnce(t *testing.T) {
	t.Parallel()
	c := startServer(t)
	create(t, c, "raw", `stty raw -echo; printf 'ready\r\n'; while :; do dd bs=1 count=1 2>/dev/null | od -An -tx1; done`)
	create(t, c, "cooked", `trap 'echo signal' INT; echo ready; while :; do read -r x && echo "got $x"; done`)
	for _, name := range []string{"raw", "cooked"} {
		await(t, c, name, "^ready")
		if err := c.Keys(t.Context(), name, []string{"abc"}, true); err != nil {
			t.Fatal(err)
		}
		if err := c.Interrupt(t.Context(), name); err != nil {
			t.Fatal(err)
		}
		if err := c.Keys(t.Context(), name, []string{"z\n"}, true); err != nil {
			t.Fatal(err)
		}
	}
	await(t, c, "raw", "0a")
	if got := strings.Join(strings.Fields(screenText(t, c, "raw")), " "); got != "ready 61 62 63 03 7a 0a" {
		t.Errorf("raw: %q", got)
	}
	await(t, c, "cooked", "^got z")
	if got := screenText(t, c, "cooked"); strings.Count(got, "signal") != 1 {
		t.Errorf("cooked: %q", got)
	}
}

// TestInterruptKeys: a program with interrupt keys of its own gets each of them as a
// separate key, and no Ctrl-C.
func TestInterruptKeys(t *testing.T) {
	t.Parallel()
	c := startServer(t)
	_, err := c.Create(t.Context(), api.CreateRequest{
		Name: "keys", Command: `stty raw -echo min 0 time 1; printf 'ready\r\n'; while :; do dd bs=9 count=1 2>/dev/null | od -An -tx1; done`,
		InterruptKeys: []string{"Escape", "Escape"},
	})
	if err != nil {
		t.Fatal(err)
	}
	await(t, c, "keys", "^ready")
	if err := c.Interrupt(t.Context(), "keys"); err != nil {
		t.Fatal(err)
	}
	if err := c.Keys(t.Context(), "keys", []string{"z"}, true); err != nil {
		t.Fatal(err)
	}
	await(t, c, "keys", "7a")
	if got := strings.Join(strings.Fields(screenText(t, c, "keys")), " "); !strings.HasPrefix(got, "ready 1b 1b") || strings.Contains(got, "03") {
		t.Errorf("%q", got)
	}
	if _, err := c.Create(t.Context(), api.CreateRequest{Name: "bad", Command: "true", InterruptKeys: []string{"NoSuchKey"}}); err == nil {
		t.Error("accepted a key that does not exist")
	}
}

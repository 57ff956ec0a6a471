package mux

import (
	"bytes"
	"encoding/json"
	"errors"
	"strings"
	"testing"
	"time"
)

func TestRecording(t *testing.T) {
	c := startServer(t)
	_, err := c.Create(t.Context(), CreateRequest{
		Name: "r", Env: testEnv, Recording: true,
		Command: `printf 'fr\303'; printf '\251d\n'; while read -r x; do echo "got $x"; done`,
	})
	if err != nil {
		t.Fatal(err)
	}
	await(t, c, "r", "fréd")
	then := time.Now()
	if err := c.Resize(t.Context(), "r", 50, 10); err != nil {
		t.Fatal(err)
	}
	killServer(t, c)
	if _, err := c.Nudge(t.Context(), "r", NudgeRequest{Text: "one"}); err != nil {
		t.Fatal(err)
	}
	await(t, c, "r", "got one")
	var raw, cast bytes.Buffer
	if err := c.Recording(t.Context(), "r", RecordingRaw, &raw); err != nil {
		t.Fatal(err)
	}
	if got := raw.String(); got != "fréd\r\none\r\ngot one\r\n" {
		t.Errorf("raw %q", got)
	}
	if err := c.Recording(t.Context(), "r", "", &cast); err != nil {
		t.Fatal(err)
	}
	lines := strings.Split(strings.TrimSpace(cast.String()), "\n")
	var head struct{ Version, Width, Height int }
	if err := json.Unmarshal([]byte(lines[0]), &head); err != nil || head.Version != 2 || head.Width != 120 || head.Height != 40 {
		t.Errorf("header %s: %v", lines[0], err)
	}
	text, resized := "", false
	for _, l := range lines[1:] {
		var e [3]any
		if err := json.Unmarshal([]byte(l), &e); err != nil {
			t.Fatalf("%s: %v", l, err)
		}
		if e[1] == "o" {
			text += e[2].(string)
		}
		resized = resized || e[1] == "r" && e[2] == "50x10"
	}
	if text != raw.String() || !resized {
		t.Errorf("text %q, resized %v", text, resized)
	}
	p, err := c.Peek(t.Context(), PeekRequest{Name: "r", At: then})
	if err != nil || p.Text != "fréd" {
		t.Errorf("then: %+v, %v", p, err)
	}
	create(t, c, "plain", "exec cat")
	if err := c.Recording(t.Context(), "plain", "", &raw); !errors.Is(err, ErrRequest) {
		t.Errorf("without a recording: %v", err)
	}
}

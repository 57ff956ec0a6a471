package server

import (
	"bytes"
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"gascity.dev/gc/mux/api"
	"gascity.dev/gc/mux/journal"
	"gascity.dev/gc/vt"
)

// record begins or continues the recording of the bench's session.
func (b *journalBench) record(limit int64) {
	b.s.rec.Recording = true
	b.s.storage.recordUpTo(limit)
}

// recording is the path of the session's recording.
func (b *journalBench) recording() string { return b.srv.journals.recordingPath(b.s.rec.ID) }

func TestRecording(t *testing.T) {
	t.Parallel()
	c := startServer(t)
	_, err := c.Create(t.Context(), api.CreateRequest{
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
	if _, err := c.Nudge(t.Context(), "r", api.NudgeRequest{Text: "one"}); err != nil {
		t.Fatal(err)
	}
	await(t, c, "r", "got one")
	var raw, cast bytes.Buffer
	if err := c.Recording(t.Context(), "r", api.RecordingRaw, &raw); err != nil {
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
	p, err := c.Peek(t.Context(), api.PeekRequest{Name: "r", At: then})
	if err != nil || p.Text != "fréd" {
		t.Errorf("then: %+v, %v", p, err)
	}
	create(t, c, "plain", "exec cat")
	if err := c.Recording(t.Context(), "plain", "", &raw); !errors.Is(err, api.ErrRequest) {
		t.Errorf("without a recording: %v", err)
	}
}

// TestDropRecording: the recording of an ended session can be removed, for good; its
// screen stays.
func TestDropRecording(t *testing.T) {
	t.Parallel()
	c := startServer(t)
	s, err := c.Create(t.Context(), api.CreateRequest{Name: "r", Env: testEnv, Recording: true, Command: `echo first; read -r x`})
	if err != nil {
		t.Fatal(err)
	}
	await(t, c, "r", "first")
	if err := c.DropRecording(t.Context(), s.ID); !errors.Is(err, api.ErrRequest) {
		t.Errorf("while it runs: %v", err)
	}
	if info, err := c.Get(t.Context(), s.ID); err != nil || info.Recorded < 5 {
		t.Errorf("%d bytes recorded, %v", info.Recorded, err)
	}
	if err := c.End(t.Context(), s.ID, 0); err != nil {
		t.Fatal(err)
	}
	for range 2 { // again: there is nothing left to do
		if err := c.DropRecording(t.Context(), s.ID); err != nil {
			t.Fatal(err)
		}
	}
	killServer(t, c)
	info, err := c.Get(t.Context(), s.ID)
	if err != nil || info.Recording || info.Recorded != 0 {
		t.Errorf("afterwards: recording %v, %d bytes, %v", info.Recording, info.Recorded, err)
	}
	if err := c.Recording(t.Context(), s.ID, "", new(bytes.Buffer)); !errors.Is(err, api.ErrRequest) {
		t.Errorf("export: %v", err)
	}
	if p, err := c.Peek(t.Context(), api.PeekRequest{Name: s.ID}); err != nil || !strings.Contains(p.Text, "first") {
		t.Errorf("screen %q, %v", p.Text, err)
	}
}

// TestRecordingLimit: a session's own limit bounds its recording, also after a restart of
// the server.
func TestRecordingLimit(t *testing.T) {
	t.Parallel()
	c := startServer(t)
	s, err := c.Create(t.Context(), api.CreateRequest{
		Name: "r", Env: testEnv, Recording: true, RecordingMax: 256 << 10,
		Command: `seq 100000; echo one; read -r x; seq 100000; echo two; read -r x`,
	})
	if err != nil {
		t.Fatal(err)
	}
	for _, last := range []string{"one", "two"} {
		await(t, c, "r", last)
		info, err := c.Get(t.Context(), s.ID)
		if err != nil || info.Recorded == 0 || info.Recorded > 2*256<<10 {
			t.Errorf("%s: %d bytes recorded, %v", last, info.Recorded, err)
		}
		killServer(t, c)
		if _, err := c.Nudge(t.Context(), "r", api.NudgeRequest{Text: "on"}); err != nil && last == "one" {
			t.Fatal(err)
		}
	}
}

// TestRecordingKeepsTheNewest: at its limit a recording drops the older half, and what is
// left shows the screen at any time since.
func TestRecordingKeepsTheNewest(t *testing.T) {
	b := newJournalBench(t)
	b.record(128 << 10)
	want := map[uint64]string{} // by offset
	for i := range 4000 {
		b.write([]byte("\x1b[32mline " + strconv.Itoa(i) + "\x1b[m of what was written\r\n"))
		if i%100 == 0 {
			want[b.s.screen.rendered] = b.s.screen.term.ScreenText()
		}
		if i == 2500 { // a kill between the two files, at the worst moment
			b.crash(t)
			b.record(128 << 10)
		}
	}
	kept := int64(0)
	for _, path := range journal.RecordingFiles(b.recording()) {
		fi, err := os.Stat(path)
		if err != nil {
			t.Fatal(err)
		}
		kept += fi.Size()
	}
	if kept > 2*(64<<10+8<<10) {
		t.Errorf("%d bytes are kept", kept)
	}
	known := 0
	for offset, text := range want {
		term, err := b.s.screen.at(api.PeekRequest{AtOutput: &offset})
		if err != nil {
			if !errors.Is(err, api.ErrRequest) || !strings.Contains(err.Error(), "begins at") {
				t.Fatalf("at %d: %v", offset, err)
			}
			continue
		}
		known++
		if got := term.ScreenText(); got != text {
			t.Errorf("at %d: %q, want %q", offset, got, text)
		}
	}
	if known == 0 || known == len(want) {
		t.Errorf("%d of %d screens are known", known, len(want))
	}
	var cast bytes.Buffer
	if err := b.s.storage.export(&cast, api.RecordingASCIICast); err != nil {
		t.Fatal(err)
	}
	player := lastScreen(t, cast.Bytes())
	if got := player.ScreenText(); got != b.s.screen.term.ScreenText() {
		t.Errorf("played %q, want %q", got, b.s.screen.term.ScreenText())
	}
	b.s.storage.recording.Remove()
	if left, err := filepath.Glob(b.recording() + "*"); err != nil || len(left) > 0 {
		t.Errorf("left: %v, %v", left, err)
	}
}

// lastScreen plays an asciicast.
func lastScreen(t *testing.T, cast []byte) *vt.Terminal {
	t.Helper()
	lines := bytes.Split(bytes.TrimSpace(cast), []byte("\n"))
	var head struct{ Width, Height int }
	if err := json.Unmarshal(lines[0], &head); err != nil {
		t.Fatal(err)
	}
	term, err := vt.New(vt.Options{Cols: head.Width, Rows: head.Height})
	if err != nil {
		t.Fatal(err)
	}
	for _, line := range lines[1:] {
		var e [3]any
		if err := json.Unmarshal(line, &e); err != nil {
			t.Fatal(err)
		}
		if e[1] == "o" {
			_, _ = term.Write([]byte(e[2].(string)))
		}
	}
	return term
}

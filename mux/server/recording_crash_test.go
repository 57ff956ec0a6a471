package server

import (
	"bytes"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"gascity.dev/gc/internal/process"
	"gascity.dev/gc/mux/api"
	"gascity.dev/gc/mux/exec"
	"gascity.dev/gc/mux/journal"
)

// records makes the bench's session recorded, with a ring like a background
// command's.
func (b *journalBench) records(t *testing.T) {
	t.Helper()
	ring, err := process.OpenRing(filepath.Join(b.srv.settings.paths.Dir, "ring"))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { ring.Close() })
	b.ring = ring
	b.keeps = func(s *session) { s.rec.Recording, s.output.sink = true, exec.NewOutput(ring) }
	b.keeps(b.s)
	b.s.storage.startRecording()
	t.Cleanup(func() { b.s.storage.recording.Remove() })
}

// checkKept fails unless recording and ring hold exactly this output.
func (b *journalBench) checkKept(t *testing.T, when, want string) {
	t.Helper()
	var raw bytes.Buffer
	if err := b.s.storage.export(&raw, api.RecordingRaw); err != nil || raw.String() != want {
		t.Errorf("%s: the recording has %d bytes %.60q (%v), want %d", when, raw.Len(), raw.String(), err, len(want))
	}
	ring, _, missing, err := b.ring.Read(0, 1<<20)
	if err != nil || string(ring) != want || missing != 0 {
		t.Errorf("%s: the ring has %d bytes %.60q (%v), %d missing, want %d", when, len(ring), ring, err, missing, len(want))
	}
	out := b.s.screen.rendered
	term, err := b.s.screen.at(api.PeekRequest{AtOutput: &out})
	if err != nil || term.ScreenText() != b.s.screen.term.ScreenText() {
		t.Errorf("%s: the recording shows another screen (%v)", when, err)
	}
}

// TestRecordingAfterAKill: wherever the server is killed while it shows output, the
// recording and the ring have every byte once.
func TestRecordingAfterAKill(t *testing.T) {
	b := newJournalBench(t)
	b.records(t)
	var want strings.Builder
	write := func(text string) {
		want.WriteString(text)
		b.write([]byte(text))
	}
	write("shown, recorded and answered\r\n")
	effect := b.s.storage.journal.Effect.Load()
	write("shown and recorded, its answers did not go out\r\n")
	b.s.storage.journal.Effect.Store(effect)
	b.crash(t)
	b.checkKept(t, "killed before the effects", want.String())
	text := "in the journal only\r\n"
	want.WriteString(text)
	b.land([]byte(text))
	b.s.storage.journal.Commit(len(text))
	b.crash(t)
	b.checkKept(t, "killed before it was shown", want.String())
	text = "read, and the length not moved\r\n"
	want.WriteString(text)
	b.land([]byte(text))
	b.crash(t)
	b.checkKept(t, "killed behind the read", want.String())
	write("and on\r\n")
	b.checkKept(t, "afterwards", want.String())
	if err := b.s.screen.resize(30, 5); err != nil {
		t.Fatal(err)
	}
	fi, err := os.Stat(b.recording())
	if err != nil {
		t.Fatal(err)
	}
	const resizeFrame = 20 + 8
	if err := os.Truncate(b.recording(), fi.Size()-resizeFrame); err != nil {
		t.Fatal(err)
	}
	b.crash(t)
	write("of another size\r\n")
	b.checkKept(t, "killed before the size was recorded", want.String())
	files := journal.RecordingFiles(b.recording())
	if err := errors.Join(os.Rename(files[1], files[0]), os.WriteFile(files[1], nil, 0o600)); err != nil {
		t.Fatal(err)
	}
	text = "behind a file that was full\r\n"
	want.WriteString(text)
	b.land([]byte(text))
	b.crash(t)
	b.checkKept(t, "killed between two files", want.String())
}

// TestRecordingOfALostScreen: a lost screen loses no output, in the same server
// or the next.
func TestRecordingOfALostScreen(t *testing.T) {
	const bad = "this one panics\r\n"
	defer func(f func([]byte)) { feedFault = f }(feedFault)
	feedFault = func(p []byte) {
		if bytes.Contains(p, []byte(bad)) {
			panic("a test's own")
		}
	}
	b := newJournalBench(t)
	b.records(t)
	b.write([]byte("one\r\n"))
	b.write([]byte(bad))
	b.write([]byte("two\r\n"))
	if !b.s.screen.lost {
		t.Fatal("the screen is not lost")
	}
	want := "one\r\n" + bad + "two\r\n"
	b.checkKept(t, "in a server that lives", want)

	b.land([]byte(bad))
	b.s.storage.journal.Commit(len(bad))
	b.crash(t)
	want += bad
	b.write([]byte("three\r\n"))
	want += "three\r\n"
	b.checkKept(t, "in the next", want)

	b.land([]byte("four\r\n"))
	b.s.storage.journal.Commit(len("four\r\n"))
	b.s.storage.journal.Tries.Store(maxTries) // as after replays that ended their servers
	b.crash(t)
	want += "four\r\n"
	b.write([]byte("five\r\n"))
	want += "five\r\n"
	b.checkKept(t, "where replays end servers", want)
}

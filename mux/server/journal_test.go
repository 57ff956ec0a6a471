package server

import (
	"bytes"
	"encoding/json"
	"strings"
	"testing"

	"golang.org/x/sys/unix"
	"pgregory.net/rapid"

	"gascity.dev/gc/internal/clock"
	"gascity.dev/gc/internal/process"
	"gascity.dev/gc/mux/api"
	"gascity.dev/gc/mux/internal/sys"
	"gascity.dev/gc/mux/journal"
	"gascity.dev/gc/vt"
)

// journalBench is a session without a terminal, on a journal that outlives it.
type journalBench struct {
	srv *server
	fd  int
	s   *session

	replies []byte         // published
	ring    *process.Ring  // of a background command
	keeps   func(*session) // sets what keeps the output of each session on the journal; nil: nothing
}

func newJournalBench(t testing.TB) *journalBench {
	dir := t.TempDir()
	tableFD, err := sys.NewMemory(dir, journal.HeaderSize*journal.TableSize)
	if err != nil {
		t.Fatal(err)
	}
	table, err := journal.MapTable(tableFD)
	if err != nil {
		t.Fatal(err)
	}
	fd, err := sys.NewMemory(dir, journal.Size)
	if err != nil {
		t.Fatal(err)
	}
	b := &journalBench{srv: newServer(settings{paths: api.Paths{Dir: dir}, version: "test"}), fd: fd}
	b.srv.clock, b.srv.journals.table = clock.New(), table
	b.srv.compactor.close() // the test decides when a session is compacted
	t.Cleanup(func() {
		b.s.storage.journal.Close()
		unix.Close(fd)
		_ = unix.Munmap(table.Mem)
		unix.Close(tableFD)
	})
	if _, err := table.Alloc(); err != nil {
		t.Fatal(err)
	}
	b.open(t)
	return b
}

// open makes a session on the current journal.
func (b *journalBench) open(t testing.TB) {
	dup, err := unix.FcntlInt(uintptr(b.fd), unix.F_DUPFD_CLOEXEC, 0)
	if err != nil {
		t.Fatal(err)
	}
	j, err := journal.Open(dup, b.srv.journals.table.At(0))
	if err != nil {
		t.Fatal(err)
	}
	rec := sessionRecord{ID: "id", Name: "name", Cols: 40, Rows: 10}
	if b.s, err = newSession(b.srv, rec, 0, 0, -1, j); err != nil {
		t.Fatal(err)
	}
}

// reset gives the journal to a new session.
func (b *journalBench) reset(t testing.TB) {
	sys.PunchHole(b.fd, 0, b.s.storage.journal.Mem)
	b.s.storage.journal.Close()
	clear(b.srv.journals.table.Mem[:journal.HeaderSize])
	b.replies = nil
	b.open(t)
}

// sent collects the published replies.
func (b *journalBench) sent() {
	b.replies = append(b.replies, b.s.input.replies...)
	b.s.input.replies = nil
}

// crash drops the session as a kill does, and recovers it.
func (b *journalBench) crash(t testing.TB) {
	b.s.storage.journal.Close()
	b.srv.journals.writer = journal.NewWriter() // what was not written is lost
	b.open(t)
	if b.keeps != nil {
		b.keeps(b.s)
	}
	b.s.screen.recover()
	b.sent()
}

// land is a read after which the length was not moved.
func (b *journalBench) land(p []byte) {
	if len(b.s.storage.journal.Space()) < journal.SegmentPad {
		b.s.storage.nextSegment()
	}
	copy(b.s.storage.journal.Space(), p)
}

func (b *journalBench) write(p []byte) {
	for len(p) > 0 {
		n := min(len(p), journal.SegmentPad)
		b.land(p[:n])
		b.s.storage.journal.Commit(n)
		b.s.screen.show()
		b.sent()
		p = p[n:]
	}
}

func TestRecoveredScreenIsTheSame(t *testing.T) {
	pieces := []string{
		"plain text ", "\r\n", "\x1b[31mred\x1b[m", "世界", "\x1b[2J\x1b[H", "\x1b[?1049h", "\x1b[?1049l",
		"\x1b[?2004h", "\x1b]2;title\x07", "\x1b[5;3H", "\x1b[c", "\a", "\x1b]11;?\x07",
		strings.Repeat("many lines of output\r\n", 200), strings.Repeat("\x1b[32mmore \x1b[1mthan\x1b[m one page\r\n", 2200),
	}
	b := newJournalBench(t)
	rapid.Check(t, func(rt *rapid.T) {
		b.reset(t)
		o := b.s.screen.options()
		o.Pages = nil
		want, err := vt.New(o)
		if err != nil {
			rt.Fatal(err)
		}
		var replies []byte
		for range rapid.IntRange(1, 25).Draw(rt, "steps") {
			p := []byte(rapid.SampledFrom(pieces).Draw(rt, "output"))
			head := p[:rapid.IntRange(0, len(p)-1).Draw(rt, "head")]
			b.write(head)
			_, _ = want.Write(head)
			p = p[len(head):]
			switch rapid.IntRange(0, 8).Draw(rt, "step") {
			case 0:
				b.crash(t)
			case 1: // killed between the read and the length
				b.land(p[:min(len(p), journal.SegmentPad)])
				b.crash(t)
				_, _ = want.Write(p[:min(len(p), journal.SegmentPad)])
				p = p[min(len(p), journal.SegmentPad):]
			case 2:
				b.srv.journals.writer.Flush()
			case 3:
				cols, rows := rapid.IntRange(10, 60).Draw(rt, "cols"), rapid.IntRange(3, 20).Draw(rt, "rows")
				if err := b.s.screen.resize(cols, rows); err != nil {
					rt.Fatal(err)
				}
				if err := want.Resize(cols, rows); err != nil {
					rt.Fatal(err)
				}
			}
			if rapid.Bool().Draw(rt, "rest") {
				b.s.screen.compact(b.s.screen.usedAt)
			}
			if rest := p; len(rest) > 0 {
				b.write(rest)
				_, _ = want.Write(rest)
			}
			replies = append(replies, want.TakeReplies()...)
			want.TakeEvents()
		}
		b.crash(t)
		if got, w := b.s.screen.term.Text(vt.TextOptions{}), want.Text(vt.TextOptions{}); got != w {
			rt.Fatalf("text:\n%s\nwant:\n%s", got, w)
		}
		if got, w := state(rt, b.s.screen.term), state(rt, want); got != w {
			rt.Fatalf("state:\n%s\nwant:\n%s", got, w)
		}
		if got := b.replies; !bytes.Equal(got, replies) {
			rt.Fatalf("replies %q, want %q: each once", got, replies)
		}
	})
}

func TestPanicEndsNothingElse(t *testing.T) {
	b := newJournalBench(t)
	b.write([]byte("before\r\n"))
	b.s.screen.term = nil // the next write panics
	b.write([]byte("after\r\n"))
	if got := b.s.screen.term.ScreenText(); got != "before\nafter" || b.s.screen.lost {
		t.Fatalf("after one panic: %q, lost %v", got, b.s.screen.lost)
	}
	// the replay fails too: the screen is lost, and the output continues
	if err := b.s.storage.journal.Begin(nil, []byte("no snapshot")); err != nil {
		t.Fatal(err)
	}
	b.s.screen.panics, b.s.screen.term = 0, nil
	b.write([]byte("lost\r\n"))
	if !b.s.screen.lost {
		t.Fatal("the screen should be lost")
	}
	b.write([]byte("fresh\r\n"))
	if got := b.s.screen.term.ScreenText(); got != "fresh" {
		t.Fatalf("the fresh screen: %q", got)
	}
	b.crash(t)
	if got := b.s.screen.term.ScreenText(); got != "fresh" || !b.s.screen.lost {
		t.Fatalf("after a crash: %q, lost %v", got, b.s.screen.lost)
	}
	if n := uint64(len("before\r\nafter\r\nlost\r\nfresh\r\n")); b.s.screen.rendered != n {
		t.Fatalf("offset %d, want %d", b.s.screen.rendered, n)
	}
}

func TestReplayThatKillsTheServerIsGivenUp(t *testing.T) {
	b := newJournalBench(t)
	b.write([]byte("poison\r\n"))
	b.s.storage.journal.Tries.Store(maxTries) // two servers ended in the replay
	b.crash(t)
	if !b.s.screen.lost || b.s.screen.term.ScreenText() != "" {
		t.Fatalf("%q, lost %v", b.s.screen.term.ScreenText(), b.s.screen.lost)
	}
	b.write([]byte("goes on"))
	b.srv.settings.killed = true // these servers were killed during it, which does not count against the replay
	for range 10 {
		b.s.storage.journal.Tries.Add(1)
		b.s.screen.lost = false
		b.crash(t)
		b.s.storage.journal.Tries.Add(1)
	}
	b.crash(t)
	if got := b.s.screen.term.ScreenText(); got != "goes on" {
		t.Fatal(got)
	}
	b.srv.settings.killed = false
	b.s.storage.journal.Tries.Store(1)
	b.crash(t)
	if got := b.s.screen.term.ScreenText(); got != "goes on" {
		t.Fatalf("after one crash: %q", got)
	}
}

// state is everything a reader can see except for the revision.
func state(t *rapid.T, term *vt.Terminal) string {
	s := term.Screen()
	s.Revision = 0
	out, err := json.Marshal(s)
	if err != nil {
		t.Fatal(err)
	}
	return string(out) + string(term.Pending())
}

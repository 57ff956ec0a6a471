package keeper

import (
	"encoding/binary"
	"errors"
	"io"
	"os"
	"testing"

	"gascity.dev/gc/mux/api"
	"gascity.dev/gc/mux/internal/statedir"
	"gascity.dev/gc/mux/internal/sys"
	"golang.org/x/sys/unix"
	"pgregory.net/rapid"
)

func connPair(t testing.TB) (a, b *conn) {
	t.Helper()
	x, y, err := sys.SocketPair()
	if err != nil {
		t.Fatal(err)
	}
	if a, err = newConn(x); err != nil {
		t.Fatal(err)
	}
	if b, err = newConn(y); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { a.Close(); b.Close() })
	return a, b
}

func TestFramesCarryBytesAndDescriptors(t *testing.T) {
	a, b := connPair(t)
	r, w, err := sys.CloexecPipe()
	if err != nil {
		t.Fatal(err)
	}
	defer sys.CloseAll([]int{r, w})
	body := fields(nil).str(tagID, "id").num(tagPID, 7).bytes(tagData, make([]byte, 300<<10))
	done := make(chan error, 1)
	go func() {
		err := a.send(kindDeposit, body, r, w)
		if err == nil {
			err = a.send(kindOK, nil)
		}
		done <- err
	}()
	f, err := b.recv()
	if err != nil || f.kind != kindDeposit || len(f.fds) != 2 || len(f.body) != len(body) {
		t.Fatalf("kind %d, %d descriptors, %d bytes, %v", f.kind, len(f.fds), len(f.body), err)
	}
	if _, err := unix.Write(f.fds[1], []byte("x")); err != nil {
		t.Fatal(err)
	}
	var p [1]byte
	if n, err := unix.Read(r, p[:]); n != 1 || err != nil {
		t.Fatal(n, err)
	}
	sys.CloseAll(f.fds)
	if f, err := b.recv(); err != nil || f.kind != kindOK || len(f.fds) != 0 {
		t.Fatal(f, err)
	}
	if err := <-done; err != nil {
		t.Fatal(err)
	}
}

func TestFramesAreCheckedBeforeAllocation(t *testing.T) {
	for _, tc := range []struct {
		name  string
		bytes []byte
		want  error
	}{
		{"too long", binary.LittleEndian.AppendUint32(nil, maxKeeperFrame+1), ErrProtocol},
		{"too short", binary.LittleEndian.AppendUint32(nil, 3), ErrProtocol},
		{"descriptors that did not come", []byte{4, 0, 0, 0, 1, 0, 2, 0}, ErrProtocol},
		{"too many descriptors", []byte{4, 0, 0, 0, 1, 0, 254, 0}, ErrProtocol},
		{"cut short", []byte{9, 0, 0, 0, 1, 0, 0, 0, 1}, io.ErrUnexpectedEOF},
	} {
		a, b := connPair(t)
		for len(tc.bytes) < frameHeader {
			tc.bytes = append(tc.bytes, 0)
		}
		if _, err := a.conn.Write(tc.bytes); err != nil {
			t.Fatal(err)
		}
		a.Close()
		if _, err := b.recv(); !errors.Is(err, tc.want) {
			t.Errorf("%s: %v", tc.name, err)
		}
	}
	if _, err := appendFrame(nil, 1, make([]byte, maxKeeperFrame), 0); !errors.Is(err, api.ErrTooLarge) {
		t.Error(err)
	}
}

func TestSpawnRequestsComeThrough(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		text := rapid.StringMatching(`[a-z\x80-\xff ]{0,20}`)
		s := Spec{
			ID: text.Draw(t, "id"), Path: text.Draw(t, "path"), Dir: text.Draw(t, "dir"), Cgroup: text.Draw(t, "cgroup"),
			Argv: rapid.SliceOf(text).Draw(t, "argv"), Env: rapid.SliceOf(text).Draw(t, "env"),
			Umask: rapid.IntRange(0, 0o777).Draw(t, "umask"), Stdio: rapid.Uint64().Draw(t, "stdio"),
			Cols: rapid.Uint16().Draw(t, "cols"), Rows: rapid.Uint16().Draw(t, "rows"),
			Rlimits: [][3]uint64{{1, 2, rapid.Uint64().Draw(t, "hard")}}, Data: []byte(text.Draw(t, "data")),
		}
		// A later version's field is ignored.
		got, seq, err := decodeSpawn(fields(nil).num(tagSeq, 9).str(60000, "new").raw(s.encode()))
		if err != nil || seq != 9 {
			t.Fatal(seq, err)
		}
		again, _, err := decodeSpawn(got.encode())
		if err != nil || got.ID != s.ID || len(got.Argv) != len(s.Argv) || got.Rlimits[0] != s.Rlimits[0] || string(again.encode()) != string(got.encode()) {
			t.Fatalf("%+v became %+v (%v)", s, got, err)
		}
	})
}

func FuzzKeeperBodies(f *testing.F) {
	f.Add([]byte(fields(nil).num(tagSeq, 1).str(tagID, "x").num(tagFDs, 2)))
	f.Add([]byte((&Spec{ID: "a", Argv: []string{"b"}}).encode()))
	f.Add([]byte{1, 0, 255, 255, 255, 255})
	f.Fuzz(func(t *testing.T, body []byte) {
		_, _, _ = decodeSpawn(body)
		_, _, _ = decodeEntry(body)
		_ = decodeExit(body)
		_ = seqOf(body)
		_ = textOf(body)
	})
}

// startKeeperAlone runs a keeper with this process as its server.
func startKeeperAlone(t *testing.T) *Link {
	t.Helper()
	p := api.Paths{Dir: t.TempDir()} // nothing listens on its socket
	p.Socket = p.Dir + "/s"
	if err := statedir.Make(p.Dir); err != nil {
		t.Fatal(err)
	}
	lock, err := os.OpenFile(p.Lock(), os.O_RDWR|os.O_CREATE, 0o600)
	if err != nil {
		t.Fatal(err)
	}
	defer lock.Close()
	mine, theirs, err := sys.SocketPair()
	if err != nil {
		t.Fatal(err)
	}
	end := os.NewFile(uintptr(theirs), "keeper")
	defer end.Close()
	if err := Launch(p, lock, end, "detach-adopt", p.Dir, p.Socket, "test", "0"); err != nil {
		t.Fatal(err)
	}
	l, err := NewLink(mine, func(ExitNotice) {}, func() {})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = l.Tell(KindStop, "")
		l.Conn.Close()
		<-l.done
		if err := sys.WaitProcess(t.Context(), l.Info.PID); err != nil && t.Context().Err() == nil {
			t.Error(err)
		}
	})
	if err := l.Hello(); err != nil {
		t.Fatal(err)
	}
	return l
}

func TestKeeperRunsPipesToo(t *testing.T) {
	l := startKeeperAlone(t)
	p, err := l.Spawn(&Spec{
		ID: "pipes", Path: "/bin/sh", Argv: []string{"sh", "-c", "read x; echo out $x; echo err >&2; exit 6"},
		Dir: "/", Stdio: stdioPipes, Umask: 0o022,
	})
	if err != nil || len(p.FDs) != 3 {
		t.Fatal(p, err)
	}
	stdin, stdout, stderr := os.NewFile(uintptr(p.FDs[0]), "in"), os.NewFile(uintptr(p.FDs[1]), "out"), os.NewFile(uintptr(p.FDs[2]), "err")
	defer stdin.Close()
	defer stdout.Close()
	defer stderr.Close()
	if _, err := stdin.WriteString("hello\n"); err != nil {
		t.Fatal(err)
	}
	out, err := io.ReadAll(stdout)
	if err != nil || string(out) != "out hello\n" {
		t.Fatalf("%q, %v", out, err)
	}
	if e, err := io.ReadAll(stderr); err != nil || string(e) != "err\n" {
		t.Fatalf("%q, %v", e, err)
	}
	if _, err := l.Spawn(&Spec{ID: "bad", Path: "/no/such/file", Argv: []string{"x"}, Dir: "/"}); !errors.Is(err, api.ErrSpawn) {
		t.Fatal(err)
	}
	if err := l.Forget("pipes", "not there"); err != nil {
		t.Fatal(err)
	}
	entries, err := l.List()
	if err != nil || len(entries) != 0 {
		t.Fatal(entries, err)
	}
}

func TestKeeperHandsOverManyDescriptors(t *testing.T) {
	l := startKeeperAlone(t)
	r, w, err := sys.CloexecPipe()
	if err != nil {
		t.Fatal(err)
	}
	defer sys.CloseAll([]int{r, w})
	const n = 300 // more than fit into one message
	for i := range n {
		if err := l.Deposit(string(rune('a'+i%26))+string(rune('0'+i/26)), []byte{byte(i)}, r, w); err != nil {
			t.Fatal(err)
		}
	}
	entries, err := l.List()
	if err != nil || len(entries) != n {
		t.Fatal(len(entries), err)
	}
	for _, e := range entries {
		if len(e.FDs) != 2 || e.Kind != entryDeposit {
			t.Fatalf("%+v", e)
		}
		sys.CloseAll(e.FDs)
	}
}

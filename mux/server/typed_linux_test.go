package server

import (
	"fmt"
	"math/rand/v2"
	"os"
	"strings"
	"testing"
	"time"

	"gascity.dev/gc/mux/attach"
	"gascity.dev/gc/mux/internal/persontest"
	"golang.org/x/sys/unix"
)

// TestTypedWhileTheServerDies: lines typed while the server is killed
// repeatedly arrive once each and in order. At most one write in flight per
// kill is lost, and the client learns how many bytes.
func TestTypedWhileTheServerDies(t *testing.T) {
	t.Parallel()
	c := attachServer(t)
	file := t.TempDir() + "/got"
	startScript(t, c, `stty -echo -icanon -icrnl -isig -ixon min 1 time 0; echo ready; exec cat > `+file, "ready")
	p := persontest.New(t)
	r := attachPerson(p, c, "demo", nil)
	p.Shows("ready")
	var want strings.Builder
	kills, next := 0, time.Now()
	for i := 0; kills < 8; i++ {
		line := fmt.Sprintf("line %d of what is typed\n", i)
		want.WriteString(line)
		p.Types(line)
		if time.Now().After(next) {
			if st, err := c.Status(t.Context()); err == nil && unix.Kill(st.Server.PID, unix.SIGKILL) == nil {
				kills++
			}
			next = time.Now().Add(time.Duration(50+rand.IntN(200)) * time.Millisecond)
		}
	}
	p.Types("the end\n")
	want.WriteString("the end\n")
	var got string
	for end := time.Now().Add(persontest.Patience); !strings.HasSuffix(got, "the end\n"); {
		if time.Now().After(end) {
			t.Fatalf("the end does not come; of %d bytes %d came", want.Len(), len(got))
		}
		b, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		got = string(b)
	}
	p.Types("\x02d")
	result := r.want(attach.Detached)
	p.CheckRestored()
	if missing := want.Len() - len(got); missing > int(result.Lost) || missing < 0 {
		t.Errorf("%d bytes were typed, %d came, and %d may be lost", want.Len(), len(got), result.Lost)
	}
	if result.Lost == 0 && got != want.String() {
		t.Error("the bytes came in another order")
	}
	t.Logf("%d kills, %d bytes, %d may be lost", kills, want.Len(), result.Lost)
}

//go:build unix

package server

import (
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"gascity.dev/gc/mux/api"
	"gascity.dev/gc/mux/attach"
	"gascity.dev/gc/mux/client"
	"gascity.dev/gc/mux/internal/persontest"
)

// traceQueries asks a terminal for all that it tells: modes, keyboard flags, colours, the
// rendition, margins, protection, the cursor's shape, tab stops, character sets.
func traceQueries() string {
	var b strings.Builder
	for _, n := range []int{
		1, 5, 6, 7, 9, 12, 25, 40, 42, 45, 66, 67, 69, 95, 1000, 1002, 1003, 1004, 1005, 1006, 1007, 1015, 1016,
		1045, 1049, 2004, 2026, 2027, 2031, 2033, 2048,
	} {
		fmt.Fprintf(&b, "\x1b[?%d$p", n)
	}
	b.WriteString("\x1b[4$p\x1b[20$p\x1b[?u\x1b[?4m")
	for n := range 256 {
		fmt.Fprintf(&b, "\x1b]4;%d;?\a", n)
	}
	for n := 10; n <= 19; n++ {
		fmt.Fprintf(&b, "\x1b]%d;?\a", n)
	}
	for _, s := range []string{"m", "r", "s", " q", "\"q", "*x"} {
		b.WriteString("\x1bP$q" + s + "\x1b\\")
	}
	return b.String() + "\x1b[H\x1b[1$w\x1b[2$w"
}

// traceOf is the state of a person's terminal but for its text.
func traceOf(p *persontest.Person) string {
	p.Mu.Lock()
	defer p.Mu.Unlock()
	p.Screen.TakeReplies()
	p.Screen.Write([]byte(traceQueries()))
	return strings.ReplaceAll(string(p.Screen.TakeReplies()), "\x1b", "\n") + "\ntitle " + p.Screen.Title()
}

// lastingSettings are sequences that change what outlives a program; %d is a random number.
var lastingSettings = []string{
	"\x1b[?%dh", "\x1b[?%dl", "\x1b[?100%dh", "\x1b[?2004h", "\x1b[?1049h", "\x1b[?1049l", "\x1b[?47h", "\x1b[4h", "\x1b[20h",
	"\x1b[?25l", "\x1b[?7l", "\x1b[?69h\x1b[3;20s", "\x1b[2;10r", "\x1b[?6h", "\x1b=", "\x1b>", "\x1b(0", "\x1b)A", "\x0e", "\x1bn",
	"\x1b[%d q", "\x1b[>%du", "\x1b[<u", "\x1b[=%du", "\x1b[>4;2m", "\x1b[38;5;%dm", "\x1b[1;4;7m", "\x1b[1\"q", "\x1b[2*x",
	"\x1b[3g", "\x1bH", "\x1b[%dC\x1bH", "\x1b]0;title %d\a", "\x1b]1;icon\a", "\x1b[22;0t", "\x1b[23;0t", "\x1b[23t\x1b[23t",
	"\x1b]4;%d;#123456\a", "\x1b]10;#ff0000\a", "\x1b]11;#00ff00\a", "\x1b]12;#0000ff\a", "\x1b]17;#0000ff\a", "\x1b]19;#0000ff\a",
	"\x1b]22;wait\a", "\x1b]9;4;1;%d\a", "\x1b]8;;http://a/\x1b\\link", "\x1b[!p", "\x1bc", "\x1b7", "\x1b8", "\x1b[?5h", "\x1b[?2026h",
	"\x1b[?1;66;67;1004;1006s\x1b[?1;66;67;1004;1006r", "\x1b[%dj", "\x1b[g", "\x1b[?5W", "\x1b[1#{", "text \r\n", "漢字", "e\u0301",
	"\x1bPq\"1;1;30;40#0;2;0;0;0~~-~~\x1b\\", "\x1b_Ga=T,f=24,i=7,s=20,v=40;AAAA\x1b\\", "\x1b_Gi=3,a=q,s=1,v=1;AAAA\x1b\\",
	"\x1b]1337;File=inline=1;width=3;height=2:AAAA\a",
}

// randomOutput is a program's random output.
func randomOutput(r *rand.Rand) string {
	var b strings.Builder
	for range 1 + r.IntN(30) {
		s := lastingSettings[r.IntN(len(lastingSettings))]
		if strings.Contains(s, "%d") {
			s = fmt.Sprintf(s, r.IntN(70))
		}
		b.WriteString(s)
	}
	return b.String()
}

// traced plays a program's output in a session, with a person attached before or after,
// and detaches.
type traced struct {
	t   *testing.T
	c   *client.Client
	dir string
	n   int
}

func (x *traced) play(p *persontest.Person, output string, later bool) {
	x.t.Helper()
	x.n++
	name := fmt.Sprintf("s%d", x.n)
	file := filepath.Join(x.dir, name)
	if err := os.WriteFile(file, []byte(output), 0o600); err != nil {
		x.t.Fatal(err)
	}
	command := "stty raw -echo; cat " + file + "; exec sleep 1000"
	if !later {
		command = "stty raw -echo; head -c 1 >/dev/null; cat " + file + "; exec sleep 1000"
	}
	create(x.t, x.c, name, command)
	printed := func() {
		for {
			info, err := x.c.Get(x.t.Context(), name)
			if err != nil {
				x.t.Fatal(err)
			}
			if info.Output >= uint64(len(output)) {
				return
			}
			if _, err := x.c.Wait(x.t.Context(), name, api.WaitRequest{Conditions: []api.Condition{{Quiet: 5 * time.Millisecond}}}); err != nil {
				x.t.Fatal(err)
			}
		}
	}
	if later {
		printed()
	}
	p.Forget()
	keys, err := attach.ParseKeys("", nil)
	if err != nil {
		x.t.Fatal(err)
	}
	r := attachPerson(p, x.c, name, func(o *attach.Options) { o.Keys = &keys })
	p.Sees(attach.Questions)
	if !later {
		p.Types("x")
		printed()
	}
	if x.n%4 < 2 { // they look at the history
		p.Types("\x02[")
		p.Sees("copy mode: q leaves")
	}
	if x.n%4 == 1 {
		p.Forget()
		p.Types("q")
		p.Sees("\x1b[?2031h")
	}
	if x.n%7 == 0 {
		r.cancel()
		r.ended()
	} else {
		p.Types("\x02d")
		r.want(attach.Detached)
	}
	p.Sees("\x1b[23;0t")
	p.CheckRestored()
	if err := x.c.Kill(x.t.Context(), name, 0); err != nil {
		x.t.Fatal(err)
	}
}

// TestDetachLeavesNoTrace: whatever a program did, a detached terminal is as before in all
// that it can be asked for. It plays recordings of real programs, and random ones.
func TestDetachLeavesNoTrace(t *testing.T) {
	t.Parallel()
	x := &traced{t: t, c: startServer(t), dir: t.TempDir()}
	p := persontest.New(t)
	p.Answer()
	p.Resize(api.DefaultCols, api.DefaultRows)
	setups := []string{"\x1b[!p\x1b]2;mine\a", "\x1b[?2004h\x1b[?1004h\x1b[4 q\x1b[=5u\x1b[?1h\x1b=\x1b]2;other\a",
		"\x1b[4h\x1b[?7l\x1b[?25l\x1b[20h"}
	check := func(what, output string) {
		t.Helper()
		p.Write(setups[x.n%len(setups)])
		before := traceOf(p)
		x.play(p, output, x.n%3 == 0)
		if after := traceOf(p); after != before {
			a, b := strings.Split(after, "\n"), strings.Split(before, "\n")
			for i := range min(len(a), len(b)) {
				if a[i] != b[i] {
					t.Errorf("%s: %q, before %q", what, a[i], b[i])
				}
			}
		}
	}
	eachProgram(t, check)
}

// eachProgram calls check with the recordings of real programs, and with random output,
// until one fails.
func eachProgram(t *testing.T, check func(what, output string)) {
	t.Helper()
	files, err := filepath.Glob("../../vt/testdata/recordings/*.raw")
	if err != nil || len(files) < 50 {
		t.Fatal(len(files), err)
	}
	for _, name := range files {
		raw, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		check(filepath.Base(name), string(raw))
	}
	programs := 60
	if os.Getenv("GC_SOAK") != "" {
		programs = 500
	}
	for seed := range programs {
		output := randomOutput(rand.New(rand.NewPCG(uint64(seed), 1)))
		check(fmt.Sprintf("program %d, %q", seed, output), output)
		if t.Failed() {
			break
		}
	}
}

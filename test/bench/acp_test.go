package bench

import (
	"bufio"
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"gascity.dev/gc/internal/acp/acpsh"
	"gascity.dev/gc/internal/acp/transcript"
	"gascity.dev/gc/internal/proctree"
	"gascity.dev/gc/internal/shell"
	"gascity.dev/gc/runtime"
	"gascity.dev/gc/runtime/acp"
	"gascity.dev/gc/runtime/native"
)

// burstVar makes the test binary an agent whose turns are so many updates, in one write.
const burstVar = "GC_BENCH_BURST"

// burstUpdates is how many updates come at once: more than a replay of a long
// conversation has.
const burstUpdates = 20_000

// runBurst is the agent: as little as the protocol allows, and as fast.
func runBurst() {
	var all strings.Builder
	for i := range burstUpdates {
		fmt.Fprintf(&all, `{"jsonrpc":"2.0","method":"session/update","params":{"sessionId":"s","update":{"sessionUpdate":"agent_message_chunk","content":{"type":"text","text":"%d "}}}}`+"\n", i)
	}
	answers := []string{`{"protocolVersion":1}`, `{"sessionId":"s"}`}
	in := bufio.NewScanner(os.Stdin)
	for id := 1; in.Scan(); id++ { // the host's calls have the ids 1, 2, 3 …
		answer := `{"stopReason":"end_turn"}`
		if len(answers) > 0 {
			answer, answers = answers[0], answers[1:]
		} else {
			_, _ = os.Stdout.WriteString(all.String())
		}
		fmt.Printf(`{"jsonrpc":"2.0","id":%d,"result":%s}`+"\n", id, answer)
	}
}

// acpWorld is a city with two agents over ACP: a speaks the Go SDK and says again what
// it is told; burst says much.
type acpWorld struct {
	*world
	city string
	p    *acp.Provider
}

func newACPWorld(b *testing.B) *acpWorld {
	w := &acpWorld{world: newWorld(b)}
	w.city = filepath.Join(w.dir, "city")
	echo, err := acpsh.Command("exec cat")
	if err != nil {
		b.Fatal(err)
	}
	self, err := os.Executable()
	if err != nil {
		b.Fatal(err)
	}
	text := "[workspace]\nname = \"bench\"\n[daemon]\nshutdown_timeout = \"100ms\"\n"
	for name, command := range map[string]string{"a": echo, "burst": "exec env " + burstVar + "=1 " + shell.Quote(self)} {
		text += fmt.Sprintf("[[agents]]\nname = %q\nsession = \"acp\"\nstart_command = \"sh\"\nacp_command = %q\n", name, command)
	}
	if err = os.Mkdir(w.city, 0o700); err == nil {
		err = os.WriteFile(filepath.Join(w.city, "city.toml"), []byte(text), 0o600)
	}
	if err != nil {
		b.Fatal(err)
	}
	base, err := native.New(native.Options{Paths: w.paths(), Environ: w.env})
	if err == nil {
		w.p, err = acp.New(acp.Options{Base: base, Dir: filepath.Join(w.city, ".gc", "acp"), Host: w.gc})
	}
	if err != nil {
		b.Fatal(err)
	}
	w.run(w.gc, "--city", w.city, "start")
	b.Cleanup(func() {
		w.run(w.gc, "--city", w.city, "stop")
		w.p.Close()
	})
	return w
}

// host returns the pid of an agent's host.
func (w *acpWorld) host(agent string) int {
	w.b.Helper()
	info, err := w.client().Get(context.Background(), "gc-bench-"+agent)
	if err != nil {
		w.b.Fatal(err)
	}
	return info.PID
}

// nudge delivers a message and returns how long the receipt took.
func (w *acpWorld) nudge(agent, text string) time.Duration {
	w.b.Helper()
	began := time.Now()
	r, err := w.p.Nudge(context.Background(), "gc-bench-"+agent, runtime.TextContent(text))
	if err != nil || r.State != runtime.Submitted {
		w.b.Fatal(r, err)
	}
	return time.Since(began)
}

func (w *acpWorld) idle(agent string) {
	w.b.Helper()
	if err := w.p.WaitForIdle(context.Background(), "gc-bench-"+agent, time.Minute); err != nil {
		w.b.Fatal(err)
	}
}

// BenchmarkACP: the memory of an agent's host, a burst of updates, a message and a
// question by provider and by command, and what a killed host leaves behind.
func BenchmarkACP(b *testing.B) {
	w := newACPWorld(b)
	for b.Loop() {
		w.memory("memory of a host at rest, after the start")
		w.messages()
		w.questions()
		w.memory("memory of a host at rest, after the turns")
		w.burst()
		w.leftover()
	}
}

// memory measures the host once it is idle.
func (w *acpWorld) memory(name string) {
	w.b.Helper()
	pid := w.host("a")
	m := memoryOf(w.b, pid)
	for last := time.Now().Add(8 * time.Second); m.rss > 8e6 && time.Now().Before(last); m = memoryOf(w.b, pid) {
		time.Sleep(100 * time.Millisecond)
	}
	judge(w.b, target{name: name, gc: m.String(), value: float64(m.rss) / 1e6, unit: "MB", must: 8})
}

// messages measures until the receipt.
func (w *acpWorld) messages() {
	w.b.Helper()
	call, command, version := &samples{name: "Nudge"}, &samples{name: "gc nudge"}, &samples{name: "gc version"}
	for i := range rounds {
		call.add(w.nudge("a", fmt.Sprint("number ", i)))
		w.idle("a")
		began := time.Now()
		w.run(w.gc, "--city", w.city, "nudge", "a", "--delivery", "immediate", "by command")
		command.add(time.Since(began))
		w.idle("a")
		version.add(timed(func() { w.run(w.gc, "version") }))
	}
	table(w.b, "a message to an agent over ACP", call, command, version)
	judge(w.b, target{name: "message to an agent over ACP", gc: ms(call.median()), value: float64(call.median()) / 1e6, unit: "ms", must: 10})
	above := command.median() - version.median() // what is not the start of a process
	judge(w.b, target{name: "message to an agent over ACP, gc nudge above gc version", gc: ms(command.median()) + " – " + ms(version.median()), value: float64(above) / 1e6, unit: "ms", must: 10})
}

// questions measures from before the message that makes the agent ask until gc pending
// has printed the question.
func (w *acpWorld) questions() {
	w.b.Helper()
	s := &samples{name: "question"}
	for range rounds {
		began := time.Now()
		w.nudge("a", "ASK execute Yes No")
		for strings.TrimSpace(w.pending()) == "null" {
		}
		s.add(time.Since(began))
		if err := w.p.Respond(context.Background(), "gc-bench-a", runtime.Answer{Action: "Yes"}); err != nil {
			w.b.Fatal(err)
		}
		w.idle("a")
	}
	table(w.b, "from the question of an agent over ACP to gc pending", s)
	judge(w.b, target{name: "question of an agent over ACP, gc pending", gc: ms(s.median()), value: float64(s.median()) / 1e6, unit: "ms", must: 50})
}

// pending is what gc pending --json prints: it fails without a question.
func (w *acpWorld) pending() string {
	out, _ := w.command(w.gc, "--city", w.city, "pending", "a", "--json").Output()
	return string(out)
}

// burst measures a turn of 20,000 updates until its end is known and all are in the
// transcript.
func (w *acpWorld) burst() {
	w.b.Helper()
	s, before := &samples{name: "burst"}, w.updates()
	const turns = 5
	server, keeper := w.daemons()
	host, mux := cpu(w.b, w.host("burst")), cpu(w.b, server, keeper)
	for range turns {
		began := time.Now()
		w.nudge("burst", "go")
		w.idle("burst")
		s.add(time.Since(began))
	}
	table(w.b, "20,000 updates at once", s)
	w.b.Logf("processor time of each: host %s, multiplexer %s", ms((cpu(w.b, w.host("burst"))-host)/turns), ms((cpu(w.b, server, keeper)-mux)/turns))
	judge(w.b, target{name: "20,000 updates of an agent at once", gc: ms(s.median()), value: s.median().Seconds(), unit: "s", must: 1})
	lost := turns*burstUpdates - (w.updates() - before)
	judge(w.b, target{name: "lost updates of 100,000", gc: fmt.Sprint(lost), value: float64(lost), must: 0})
	judge(w.b, target{name: "memory of a host after them", gc: memoryOf(w.b, w.host("burst")).String(), value: float64(memoryOf(w.b, w.host("burst")).rss) / 1e6, unit: "MB", must: 64})
}

// updates counts the words in the transcript of burst: each update has one.
func (w *acpWorld) updates() int {
	w.b.Helper()
	n := 0
	err := transcript.Read(acp.SessionDir(filepath.Join(w.city, ".gc", "acp"), "gc-bench-burst"), 0, func(e transcript.Entry) error {
		if e.Kind == "message" {
			n += len(strings.Fields(e.Text))
		}
		return nil
	})
	if err != nil {
		w.b.Fatal(err)
	}
	return n
}

// leftover kills a host in a turn and measures how long its agent's tree lives on.
func (w *acpWorld) leftover() {
	w.b.Helper()
	w.nudge("a", "HOLD")
	pid := w.host("a")
	tree, err := proctree.Tree{Root: pid}.Members()
	if err != nil {
		w.b.Fatal(err)
	}
	alive := func() (n int) {
		for _, p := range tree {
			if p.Alive() {
				n++
			}
		}
		return n
	}
	began := time.Now()
	if err := unix.Kill(pid, unix.SIGKILL); err != nil {
		w.b.Fatal(err)
	}
	for alive() > 0 && time.Since(began) < 5*time.Second {
		time.Sleep(time.Millisecond)
	}
	w.b.Logf("a killed host of %d processes: the last ended after %v", len(tree), time.Since(began).Round(time.Millisecond))
	judge(w.b, target{name: "processes left 5 s after kill -9 of a host", gc: fmt.Sprint(alive()), value: float64(alive()), must: 0})
}

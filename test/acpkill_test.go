//go:build e2e

package e2e

import (
	"errors"
	"fmt"
	"io/fs"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"gascity.dev/gc/internal/proctree"
	"gascity.dev/gc/runtime"
)

// acpCity is a city with an agent over ACP whose controller, server and keeper are
// killed during questions and messages.
type acpCity struct {
	*liveCity
	rnd        *rand.Rand
	notes      string // the agent's file
	controller *exec.Cmd
	kills      map[string]int
}

// acpKills is how often something is killed: GC_SOAK_KILLS, default 10.
func acpKills() int {
	if os.Getenv("GC_SOAK_KILLS") == "" {
		return 10
	}
	return soakKills()
}

func newACPCity(t *testing.T) *acpCity {
	notes := filepath.Join(t.TempDir(), "notes")
	toml := "[daemon]\npatrol_interval = \"200ms\"\nshutdown_timeout = \"200ms\"\n" +
		"[[agents]]\nname = \"asker\"\nsession = \"acp\"\nacp_command = \"" + askerCommand(notes) + "\"\n"
	seed := uint64(time.Now().UnixNano())
	t.Logf("seed %d", seed)
	c := &acpCity{liveCity: newCity(t, toml), rnd: rand.New(rand.NewPCG(seed, 1)), notes: notes, kills: map[string]int{}}
	c.control()
	t.Cleanup(func() {
		_ = c.controller.Process.Kill()
		_ = c.controller.Wait()
	})
	eventually(t, func() string { return fmt.Sprint(c.agents()) }, func() bool { return c.agents()["asker"].Activity == runtime.ActivityIdle })
	return c
}

// city runs a command in the city.
func (c *acpCity) city(args ...string) result {
	c.t.Helper()
	return c.run(append([]string{"--city", c.path}, args...)...)
}

// control starts a controller.
func (c *acpCity) control() {
	c.t.Helper()
	c.controller = exec.Command(gcBin, "controller", "run", "--city", c.path)
	c.controller.Env, c.controller.Dir = c.env, "/"
	c.controller.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
	if err := c.controller.Start(); err != nil {
		c.t.Fatal(err)
	}
}

// said returns the agent's notes.
func (c *acpCity) said() []string {
	c.t.Helper()
	b, err := os.ReadFile(c.notes)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		c.t.Fatal(err)
	}
	return strings.Split(strings.TrimSuffix(string(b), "\n"), "\n")
}

// heard waits until the agent has written down exactly these notes.
func (c *acpCity) heard(want []string) {
	c.t.Helper()
	last := func(list []string) []string { return list[max(0, len(list)-3):] }
	eventually(c.t, func() string { return fmt.Sprintf("want … %q\nhave … %q", last(want), last(c.said())) }, func() bool {
		return slices.Equal(c.said(), want)
	})
}

func (c *acpCity) pause(most time.Duration) { time.Sleep(time.Duration(c.rnd.Int64N(int64(most)))) } // random on purpose

// kill kills one of the three.
func (c *acpCity) kill() {
	c.t.Helper()
	if c.rnd.IntN(4) > 0 {
		c.killMux()
		return
	}
	_ = c.controller.Process.Kill()
	_ = c.controller.Wait()
	c.kills["controller"]++
	c.control()
}

// killMux kills the server or the keeper. A keeper is killed only while a server lives,
// which continues with another one: without both, the sessions end by design.
func (c *acpCity) killMux() {
	c.t.Helper()
	switch c.rnd.IntN(3) {
	case 0:
		before := c.status()
		if before.Keeper.PID == 0 {
			return
		}
		kill9(c.t, before.Keeper.PID)
		c.kills["keeper"]++
		eventually(c.t, func() string { return "no other keeper" }, func() bool {
			now := c.status()
			return now.Keeper.PID != 0 && now.Keeper.PID != before.Keeper.PID
		})
	default:
		if pid := c.status().Server.PID; pid != 0 && syscall.Kill(pid, syscall.SIGKILL) == nil {
			c.kills["server"]++
		}
	}
}

// pending returns the open question, nil if there is none. A command that lost its
// controller is repeated.
func (c *acpCity) pending() *runtime.Interaction {
	c.t.Helper()
	var r result
	eventually(c.t, func() string { return r.String() }, func() bool {
		r = c.city("pending", "asker", "--json")
		return r.out != ""
	})
	var q *runtime.Interaction
	c.decode(r.out, &q)
	return q
}

// blocked fails unless the status says that the agent is blocked. A controller that has
// not asked yet may say unknown.
func (c *acpCity) blocked() {
	c.t.Helper()
	var last string
	eventually(c.t, func() string { return "a question is open, and the status says " + last }, func() bool {
		a := c.agents()["asker"]
		last = fmt.Sprintf("%q: %+v", a.Activity, a.ActivityInfo)
		if a.Activity != runtime.ActivityUnknown && a.Activity != runtime.ActivityBlocked {
			c.t.Fatal("a question is open, and the status says " + last)
		}
		return a.Activity == runtime.ActivityBlocked
	})
}

// answer answers a question as a person does who repeats a command that failed.
func (c *acpCity) answer(q *runtime.Interaction, label string) {
	c.t.Helper()
	for {
		r := c.city("respond", "asker", "--request", q.RequestID, "--option", label)
		if r.code == 0 {
			return
		}
		if now := c.pending(); now == nil || now.RequestID != q.RequestID {
			return // the first attempt arrived
		}
	}
}

// Controller, server and keeper are killed at random while questions are open: each
// question gets the answer that was given, once. GC_SOAK_KILLS is the number of kills.
func TestQuestionsOutliveKills(t *testing.T) {
	c := newACPCity(t)
	rounds := acpKills()
	if r := c.city("nudge", "asker", fmt.Sprintf("ASK %d", rounds), "--delivery", "immediate"); r.code != 0 {
		t.Fatalf("%s", r)
	}
	want := []string{fmt.Sprintf("prompt ASK %d", rounds)}
	last := ""
	for range rounds {
		var q *runtime.Interaction
		eventually(t, func() string { return fmt.Sprintf("another question than %s: %+v", last, q) }, func() bool {
			q = c.pending()
			return q != nil && q.RequestID != last
		})
		last = q.RequestID
		if c.rnd.IntN(2) == 0 {
			c.kill()
			c.blocked()
		}
		label, id := "First", "a"
		if c.rnd.IntN(2) == 0 {
			label, id = "Second", "b"
		}
		var answered sync.WaitGroup
		answered.Go(func() { c.answer(q, label) })
		c.pause(40 * time.Millisecond)
		c.kill()
		answered.Wait()
		number := strings.TrimPrefix(q.Prompt, "number ")
		want = append(want, fmt.Sprintf("answer %s %s%[1]s", number, id))
		c.heard(want)
		if t.Failed() {
			break
		}
	}
	t.Logf("%d questions, killed: %v", rounds, c.kills)
}

// The server is killed at random while messages come: each reaches the agent once.
func TestMessagesOutliveKills(t *testing.T) {
	c := newACPCity(t)
	rounds := acpKills()
	var want []string
	for i := range rounds {
		modes := []string{"immediate", "wait-idle", "queue"}
		text := fmt.Sprintf("message %d", i)
		var sent sync.WaitGroup
		var r result
		sent.Go(func() { r = c.city("nudge", "asker", text, "--delivery", modes[i%len(modes)]) })
		c.pause(40 * time.Millisecond)
		c.killMux()
		sent.Wait()
		if r.code != 0 {
			t.Errorf("%s", r)
		}
		want = append(want, "prompt "+text)
		c.heard(want)
	}
	t.Logf("%d messages, killed: %v", rounds, c.kills)
}

// The host is killed in a turn: nothing of its agent's tree is left, not even what
// ignores SIGTERM, and the controller starts the agent again in its conversation.
func TestHostKilledInATurn(t *testing.T) {
	c := newACPCity(t)
	host := c.live("asker").PID
	if r := c.city("nudge", "asker", "CHILD", "--delivery", "immediate"); r.code != 0 {
		t.Fatalf("%s", r)
	}
	eventually(t, func() string { return "no question" }, func() bool { return c.pending() != nil })
	tree, err := proctree.Tree{Root: host}.Members()
	if err != nil || len(tree) < 3 {
		t.Fatalf("host, agent and its child are %+v: %v", tree, err)
	}
	kill9(t, host)
	for _, p := range tree {
		eventually(t, func() string { return fmt.Sprintf("%+v lives", p) }, func() bool { return !p.Alive() })
	}
	c.heard([]string{"prompt CHILD", "load first"})
	eventually(t, func() string { return fmt.Sprintf("%+v", c.agents()) }, func() bool { return c.agents()["asker"].Activity == runtime.ActivityIdle })
	if a := c.agents()["asker"]; a.LastExit == nil || a.LastExit.Signal != "SIGKILL" {
		t.Errorf("the end is reported as %+v", a.LastExit)
	}
	if out := c.city("peek", "asker").out; !strings.Contains(out, "the message is not sent again") {
		t.Errorf("the screen does not say which turn died:\n%s", out)
	}
}

// Keeper and server die together, and with them the host's terminal: the question is
// not answered, its end is reported, and the agent continues in a new session.
func TestTerminalLostWhileAQuestionIsOpen(t *testing.T) {
	c := newACPCity(t)
	if r := c.city("nudge", "asker", "ASK 1", "--delivery", "immediate"); r.code != 0 {
		t.Fatalf("%s", r)
	}
	q := c.pending()
	before := c.status()
	_ = syscall.Kill(before.Server.PID, syscall.SIGSTOP) // so that it does not start another keeper
	kill9(t, before.Keeper.PID)
	kill9(t, before.Server.PID)
	eventually(t, func() string { return fmt.Sprintf("%+v\n%q", c.agents(), c.said()) }, func() bool {
		return slices.Contains(c.said(), "load first") && c.agents()["asker"].Activity == runtime.ActivityIdle
	})
	if r := c.city("respond", "asker", "--request", q.RequestID, "--option", "First"); r.code == 0 {
		t.Errorf("a question that is gone was answered: %s", r)
	}
	for _, note := range c.said() {
		if strings.HasPrefix(note, "answer") && !strings.HasSuffix(note, " ") {
			t.Errorf("an answer that nobody gave: %q", note)
		}
	}
	if a := c.agents()["asker"]; a.LastExit == nil || a.LastExit.Code == 0 {
		t.Errorf("the end is reported as %+v", a.LastExit)
	}
}

package notify

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"gascity.dev/gc/internal/config"
	"gascity.dev/gc/internal/controller/api"
)

// city is a city with occasions, and a disk.
type city struct {
	mu     sync.Mutex
	c      config.Notify
	items  []string  // IDs, kind/…
	since  time.Time // of every item
	disk   map[string]time.Time
	full   bool
	failed []string
	saved  chan int // how many were told; may be nil
}

func (c *city) Notify() config.Notify { return c.c }

func (c *city) Attention(context.Context) (out []api.Attention, _ error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, id := range c.items {
		kind, request, _ := strings.Cut(id, "/")
		it := api.Attention{ID: id, Kind: kind, Agent: "a", Text: "$(touch hacked) `x`", Since: c.since}
		if kind == api.AttentionQuestion {
			it.Request = request
		}
		out = append(out, it)
	}
	return out, nil
}

func (c *city) Told() (map[string]time.Time, error) {
	out := map[string]time.Time{}
	for id, at := range c.disk {
		out[id] = at
	}
	return out, nil
}

func (c *city) SetTold(_ context.Context, told map[string]time.Time) error {
	if c.full {
		return errors.New("no space left on device")
	}
	c.disk = map[string]time.Time{}
	for id, at := range told {
		c.disk[id] = at
	}
	if c.saved != nil {
		c.saved <- len(told)
	}
	return nil
}

func (c *city) Failed(why string) { c.failed = append(c.failed, why) }

// desk is a notifier with a clock of its own, and a command that keeps what it reads.
type desk struct {
	t   *testing.T
	n   *Notifier
	c   *city
	now time.Time
}

const keeps = `cat >>told; exit $(cat code 2>/dev/null || echo 0)`

func newDesk(t *testing.T, items ...string) *desk {
	d := &desk{t: t, now: time.Date(2026, 11, 1, 12, 0, 0, 0, time.UTC)}
	d.c = &city{c: config.Notify{Command: keeps, Every: 10 * time.Second}, items: items}
	d.again(t.TempDir())
	return d
}

// again is another controller of the same city.
func (d *desk) again(dir string) {
	d.n = &Notifier{City: d.c, Dir: dir, Env: os.Environ(), Now: func() time.Time { return d.now }}
}

// told returns what the command was told since the last call, a word a run.
func (d *desk) told() string {
	d.t.Helper()
	file := filepath.Join(d.n.Dir, "told")
	text, err := os.ReadFile(file)
	if errors.Is(err, os.ErrNotExist) {
		return ""
	}
	if err != nil {
		d.t.Fatal(err)
	}
	if err := os.Remove(file); err != nil {
		d.t.Fatal(err)
	}
	var runs []string
	for line := range strings.Lines(string(text)) {
		var m Message
		if err := json.Unmarshal([]byte(line), &m); err != nil || m.City != d.n.Dir {
			d.t.Fatalf("%q: %v", line, err)
		}
		run := ""
		for _, it := range m.Items {
			run += "+" + it.ID
		}
		runs = append(runs, run[1:])
	}
	return strings.Join(runs, " ")
}

func (d *desk) look(want string, wait time.Duration) {
	d.t.Helper()
	if got := d.n.look(d.t.Context()); got != wait {
		d.t.Errorf("looks again after %v, want %v", got, wait)
	}
	if got := d.told(); got != want {
		d.t.Errorf("told %q, want %q", got, want)
	}
}

func (d *desk) later(by time.Duration) { d.now = d.now.Add(by) }

func TestOnce(t *testing.T) {
	d := newDesk(t, "question/a/1", "done/a/1")
	d.look("question/a/1", 0)
	d.later(time.Minute)
	d.look("", 0)
	d.c.items = append(d.c.items, "question/b/1", "crashed/c/1")
	d.look("question/b/1+crashed/c/1", 0)
	d.c.items = append(d.c.items, "stuck/d/1")
	d.look("", 10*time.Second) // too soon
	d.again(d.n.Dir)           // the controller was restarted
	d.look("stuck/d/1", 0)
	d.c.items = nil
	d.later(25 * time.Hour)
	d.c.items = []string{"question/e/1"}
	d.look("question/e/1", 0)
	if len(d.c.disk) != 1 {
		t.Errorf("settled occasions are kept: %v", d.c.disk)
	}
	if _, err := os.Stat(filepath.Join(d.n.Dir, "hacked")); err == nil {
		t.Error("the text of an agent was executed")
	}
}

// TestAskedAgain: the same question after an answer is another occasion; after a restart of
// the controller it is not.
func TestAskedAgain(t *testing.T) {
	d := newDesk(t, "question/a/1", "lost/b")
	d.c.since = d.now
	d.look("question/a/1+lost/b", 0)
	d.later(time.Minute)
	d.look("", 0)
	d.again(d.n.Dir)
	d.look("", 0)
	d.c.since = d.now // the rest of this minute
	d.look("question/a/1", 0)
	d.later(time.Minute)
	d.look("", 0)
	d.c.since = d.now.Add(time.Second) // between the look and the answer of the city
	d.look("question/a/1", 0)
	d.later(time.Minute)
	d.look("", 0)
}

func TestKindsAndQuietHours(t *testing.T) {
	d := newDesk(t, "question/a/1", "done/a/1")
	d.c.c.Kinds = []string{"done"}
	d.c.c.Quiet = "11:30-12:30"
	d.look("", 30*time.Minute)
	d.later(30 * time.Minute)
	d.look("done/a/1", 0)
	d.c.c.Command = ""
	d.c.items = append(d.c.items, "done/a/2")
	d.look("", 0)
}

// TestFailure: what a command did not take is told again, later and later.
func TestFailure(t *testing.T) {
	d := newDesk(t, "question/a/1")
	code := filepath.Join(d.n.Dir, "code")
	if err := os.WriteFile(code, []byte("7"), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, wait := range []time.Duration{10, 20, 40} {
		d.look("question/a/1", wait*time.Second)
		d.later(wait * time.Second)
	}
	if len(d.c.failed) != 3 || !strings.Contains(d.c.failed[0], "ended with 7") {
		t.Errorf("%q", d.c.failed)
	}
	if err := os.Remove(code); err != nil {
		t.Fatal(err)
	}
	d.look("question/a/1", 0)
	d.later(time.Minute)
	d.look("", 0)
	d.c.items, d.c.full = []string{"question/a/2"}, true
	d.look("", again)
	if got := d.c.failed[len(d.c.failed)-1]; !strings.Contains(got, "no space") {
		t.Errorf("%q", got)
	}
}

// TestHang: a command that hangs is ended with what it started, reported, and run again
// later.
func TestHang(t *testing.T) {
	d := newDesk(t, "question/a/1")
	pipe := filepath.Join(d.n.Dir, "held")
	if err := syscall.Mkfifo(pipe, 0o600); err != nil {
		t.Fatal(err)
	}
	d.c.c.Command, d.n.limit = `(exec 3>held; echo up >&3; exec sleep 1000) & sleep 1000`, time.Second
	held := make(chan []byte)
	go func() { // ends with the last process that has the pipe
		b, _ := os.ReadFile(pipe)
		held <- b
	}()
	d.look("", 10*time.Second)
	if got := <-held; string(got) != "up\n" {
		t.Errorf("the command wrote %q", got)
	}
	if len(d.c.failed) != 1 || !strings.Contains(d.c.failed[0], "took longer than 1s") {
		t.Errorf("%q", d.c.failed)
	}
	d.c.c.Command = keeps
	d.later(10 * time.Second)
	d.look("question/a/1", 0)
}

// TestChangesAreHeard: many changes make one run, and a notifier ends with its context.
func TestChangesAreHeard(t *testing.T) {
	d := newDesk(t)
	d.n.Now = time.Now
	d.c.c.Every, d.c.saved = 0, make(chan int, 5)
	changes, ended := make(chan struct{}), make(chan struct{})
	ctx, cancel := context.WithCancel(t.Context())
	go func() { d.n.Run(ctx, changes); close(ended) }()
	for n := range 5 {
		d.c.mu.Lock()
		d.c.items = append(d.c.items, fmt.Sprint("question/a/", n))
		d.c.mu.Unlock()
		changes <- struct{}{}
	}
	for n := 0; n < 5; n = <-d.c.saved {
	}
	cancel()
	<-ended
	if len(d.c.disk) != 5 {
		t.Errorf("told %v", d.c.disk)
	}
}

//go:build e2e

package e2e

import (
	"context"
	"errors"
	"fmt"
	"net"
	"reflect"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	cityapi "gascity.dev/gc/internal/controller/api"
	"gascity.dev/gc/internal/fleet"
	"gascity.dev/gc/internal/fleet/wire"
	"gascity.dev/gc/internal/screens"
	"gascity.dev/gc/internal/sockpath"
	"gascity.dev/gc/mux/api"
)

// follower is a client of /v1/city that watches a city and all its screens.
type follower struct {
	*wire.Client
	t *testing.T

	mu      sync.Mutex // guards all below
	now     fleet.Snapshot
	screens map[string]screens.Screen
}

// follows watches a city until the test ends.
func (c *liveCity) follows() *follower {
	c.t.Helper()
	path := cityapi.SocketPath(c.path)
	f := &follower{t: c.t, screens: map[string]screens.Screen{}}
	f.Client = wire.New("", "", func(ctx context.Context) (conn net.Conn, err error) {
		err = sockpath.With(path, func(short string) error {
			conn, err = new(net.Dialer).DialContext(ctx, "unix", short)
			return err
		})
		return conn, err
	})
	ctx, cancel := context.WithCancel(context.Background())
	var tasks sync.WaitGroup
	c.t.Cleanup(func() { cancel(); tasks.Wait(); f.Close() })
	tasks.Go(func() {
		_ = f.Watch(ctx, func(s fleet.Snapshot) { f.mu.Lock(); defer f.mu.Unlock(); f.now = s }) // the end of ctx
	})
	return f
}

// looks shows the screens of agents until the connection breaks, leave is called or the test ends.
func (f *follower) looks(agents ...string) (leave func()) {
	f.t.Helper()
	v, err := f.Screens(f.t.Context())
	if err != nil {
		f.t.Fatal(err)
	}
	looks := []screens.Look{}
	for _, a := range agents {
		looks = append(looks, screens.Look{ID: a})
	}
	if err := v.Look(looks); err != nil {
		f.t.Fatal(err)
	}
	var reader sync.WaitGroup
	leave = func() { v.Close(); reader.Wait() }
	f.t.Cleanup(leave)
	reader.Go(func() {
		for {
			u, err := v.Next()
			if err != nil {
				return
			}
			f.mu.Lock()
			f.screens[u.ID] = f.screens[u.ID].Apply(u)
			f.mu.Unlock()
		}
	})
	return leave
}

// sees waits until the city is as wanted.
func (f *follower) sees(what string, ok func(fleet.Snapshot) bool) {
	f.t.Helper()
	eventually(f.t, func() string { f.mu.Lock(); defer f.mu.Unlock(); return what + ": " + fmt.Sprintf("%+v", f.now) }, func() bool {
		f.mu.Lock()
		defer f.mu.Unlock()
		return ok(f.now)
	})
}

// agent returns an agent of a snapshot; the zero value if there is none.
func agent(s fleet.Snapshot, id string) fleet.Agent {
	for _, a := range s.Agents {
		if a.ID == id {
			return a
		}
	}
	return fleet.Agent{}
}

// shows waits until the screen of an agent has a text.
func (f *follower) shows(id, text string) {
	f.t.Helper()
	got := ""
	eventually(f.t, func() string { return id + " does not show " + text + ":\n" + got }, func() bool {
		f.mu.Lock()
		defer f.mu.Unlock()
		got = rowsText(f.screens[id])
		return strings.Contains(got, text)
	})
}

func rowsText(s screens.Screen) string {
	var b strings.Builder
	for _, l := range s.Lines {
		for _, r := range l.Runs {
			b.WriteString(r.Text)
		}
		b.WriteByte('\n')
	}
	return b.String()
}

// TestCityAPI: over the API a city is seen as it changes, its screens are those of gc peek,
// a question gets its answer and no other, and a controller that is killed is back.
func TestCityAPI(t *testing.T) {
	c := newUICity(t)
	f := c.follows()
	f.sees("a question", func(s fleet.Snapshot) bool {
		a := agent(s, "web/coder")
		return len(s.Agents) == 5 && a.Rig == "web" && a.Status == "blocked" && a.Question != nil && slices.Equal(a.Question.Options, []string{"Yes", "No"}) &&
			slices.ContainsFunc(s.Attention, func(n fleet.Attention) bool { return n.Agent == "web/coder" && n.Kind == "question" })
	})
	f.looks("mayor", "web/coder", "w-1", "nobody")
	f.shows("mayor", "the mayor is here")
	f.shows("web/coder", "Do you want to proceed?")

	// The rows are those of gc peek, colours, wide and combined characters included.
	c.gc("--city", c.path, "keys", "mayor", "--literal", "--", "漢字 é 👩‍💻 end")
	f.shows("mayor", "end")
	for _, id := range []string{"mayor", "web/coder", "w-1"} {
		eventually(t, func() string { return "the screen of " + id + " differs from gc peek" }, func() bool {
			var p api.PeekResult
			c.decode(c.gc("--city", c.path, "peek", id, "--format", "json"), &p)
			f.mu.Lock()
			defer f.mu.Unlock()
			s := f.screens[id]
			return s.Revision == p.Revision && s.Incarnation == p.ID && s.Cols == p.Screen.Cols && s.Cursor == p.Screen.Cursor && reflect.DeepEqual(s.Lines, p.Screen.Lines)
		})
	}
	f.mu.Lock()
	if s := f.screens["nobody"]; s.State != screens.Gone {
		t.Errorf("an agent that does not exist: %+v", s)
	}
	question := agent(f.now, "web/coder").Question
	f.mu.Unlock()

	ctx := t.Context()
	if err := f.Answer(ctx, "web/coder", fleet.Answer{Request: "another", Option: "Yes"}); !errors.Is(err, fleet.ErrChanged) {
		t.Errorf("an answer to another question: %v", err)
	}
	if err := f.Answer(ctx, "web/coder", fleet.Answer{Request: question.Request, Option: "Yes"}); err != nil {
		t.Errorf("the answer: %v", err)
	}
	f.shows("web/coder", "the answer came")
	f.sees("no question", func(s fleet.Snapshot) bool { return agent(s, "web/coder").Question == nil })
	if x, err := f.Explain(ctx, "mayor"); err != nil || len(x.Facts) == 0 || len(x.Evidence) == 0 {
		t.Errorf("%+v, %v", x, err)
	}
	if err := f.Do(ctx, "w-1", fleet.Suspend); err != nil {
		t.Error(err)
	}
	f.sees("w-1 suspended", func(s fleet.Snapshot) bool { return agent(s, "w-1").State == "suspended" })

	// The last line is pushed when an agent prints, without an event.
	c.gc("--city", c.path, "keys", "w-2", "--literal", "--", "a new last line")
	f.sees("the last line", func(s fleet.Snapshot) bool { return agent(s, "w-2").LastLine == "a new last line" })

	var st cityapi.Status
	c.decode(c.gc("--city", c.path, "status", "--json"), &st)
	if err := syscall.Kill(st.Controller.PID, syscall.SIGKILL); err != nil {
		t.Fatal(err)
	}
	f.sees("lost", func(s fleet.Snapshot) bool { return s.Lost != "" && len(s.Agents) == 5 })
	c.run("start", c.path)
	f.sees("back", func(s fleet.Snapshot) bool { return s.Lost == "" && agent(s, "mayor").State == "running" })
	f.looks("mayor")
	f.shows("mayor", "the mayor is here")
}

// TestCityAPITerminal: an attached terminal is painted and takes what is typed.
func TestCityAPITerminal(t *testing.T) {
	c := newCity(t, "[[agents]]\nname = \"mayor\"\nstart_command = \"echo the mayor is here; exec cat\"\n")
	c.run("start", c.path)
	c.becomes(map[string]cityapi.State{"mayor": cityapi.StateRunning})
	f := c.follows()
	term, err := f.Attach(t.Context(), "mayor", fleet.AttachOptions{Cols: 90, Rows: 20})
	if err != nil {
		t.Fatal(err)
	}
	shown := make(chan string, 100)
	go func() {
		defer close(shown)
		buf := make([]byte, 4096)
		for {
			n, err := term.Read(buf)
			if err != nil {
				return
			}
			shown <- string(buf[:n])
		}
	}()
	text := ""
	until := func(want string) {
		t.Helper()
		timeout := time.After(time.Minute)
		for !strings.Contains(text, want) {
			select {
			case more, ok := <-shown:
				if text += more; !ok {
					t.Fatalf("ended without %q: %q", want, text)
				}
			case <-timeout:
				t.Fatalf("no %q in %q", want, text)
			}
		}
	}
	until("the mayor is here")
	if _, err := term.Write([]byte("typed by hand\r")); err != nil {
		t.Fatal(err)
	}
	until("typed by hand")
	if err := term.Close(); err != nil {
		t.Error(err)
	}
	for range shown { // its reader ends
	}
}

// TestCityAPIText: the agents of another provider have screens, too.
func TestCityAPIText(t *testing.T) {
	c := newCity(t, "[session]\nprovider = \"subprocess\"\n[[agents]]\nname = \"mayor\"\nstart_command = \"echo the mayor is here; exec sleep 1000\"\n")
	c.run("start", c.path)
	c.becomes(map[string]cityapi.State{"mayor": cityapi.StateRunning})
	f := c.follows()
	f.looks("mayor")
	f.shows("mayor", "the mayor is here")
	f.mu.Lock()
	defer f.mu.Unlock()
	if !f.screens["mayor"].Plain {
		t.Error("the screen is not said to be text")
	}
}

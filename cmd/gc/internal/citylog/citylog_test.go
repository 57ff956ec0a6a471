package citylog

import (
	"bytes"
	"context"
	"os"
	"strings"
	"testing"
	"time"

	"gascity.dev/gc/cmd/gc/internal/display"
	cityapi "gascity.dev/gc/internal/controller/api"
	"gascity.dev/gc/internal/testenv"
	"gascity.dev/gc/mux"
	"gascity.dev/gc/mux/api"
	"gascity.dev/gc/mux/client"
	"gascity.dev/gc/runtime"
	"gascity.dev/gc/runtime/runtimefake"
)

func TestMain(m *testing.M) {
	if mux.IsDaemon(os.Args) {
		testenv.Exit(mux.RunDaemon(os.Args))
	}
	os.Exit(m.Run())
}

// inMux is a provider whose sessions live in a mux.
type inMux struct {
	runtime.Provider
	client *client.Client
}

func (p *inMux) Client(context.Context) (*client.Client, error) { return p.client, nil }

func newMux(t *testing.T) *client.Client {
	t.Helper()
	dir, err := os.MkdirTemp("", "log")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.RemoveAll(dir) })
	c, err := client.Ensure(t.Context(), api.Paths{Dir: dir + "/s.d", Socket: dir + "/s"}, "test")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		ctx, cancel := context.WithTimeout(context.Background(), 20*time.Second)
		defer cancel()
		if err := c.Shutdown(ctx, true); err != nil {
			t.Error(err)
		}
		c.Close()
	})
	return c
}

// The lines of an incarnation that ended at once stand with its own events, although the
// next one has the name of its session by then.
func TestLinesAreOfTheirIncarnation(t *testing.T) {
	c := newMux(t)
	create := func(id, command, until string) {
		t.Helper()
		if _, err := c.Create(t.Context(), api.CreateRequest{ID: id, Name: "s", Command: command, WorkDir: t.TempDir()}); err != nil {
			t.Fatal(err)
		}
		when := api.Condition{Exit: true}
		if until != "" {
			when = api.Condition{Text: until}
		}
		if _, err := c.Wait(t.Context(), id, api.WaitRequest{Conditions: []api.Condition{when}}); err != nil {
			t.Fatal(err)
		}
	}
	create("one", "echo boom 1", "")
	create("two", "echo boom 2; exit 1", "")
	create("three", "echo ready 3; exec cat", "ready 3")

	event := func(kind, id, detail string) cityapi.Event {
		return cityapi.Event{Kind: kind, Agent: "a", Session: "s", SessionID: id, Detail: detail}
	}
	for name, events := range map[string][]cityapi.Event{
		"started and ended": {
			event(cityapi.EventStarted, "one", "1"), event(cityapi.EventCrashed, "one", "1"),
			event(cityapi.EventStarted, "two", "2"), event(cityapi.EventCrashed, "two", "2"),
			event(cityapi.EventStarted, "three", "3"),
		},
		"ended before it was known to run": {
			event(cityapi.EventCrashed, "one", "1"), event(cityapi.EventCrashed, "two", "2"), event(cityapi.EventStarted, "three", "3"),
		},
	} {
		var out bytes.Buffer
		s := New(display.NewMerged(&out, false, "a", "city"), "city", &inMux{runtimefake.New(), c})
		s.Run(t.Context())
		for _, e := range events {
			s.Take(e)
		}
		s.Close(t.Context())
		var got []string
		for _, line := range strings.Split(out.String(), "\n") {
			if _, text, isOutput := strings.Cut(line, " | "); isOutput {
				got = append(got, text)
			} else if strings.Contains(line, "crashed") {
				got = append(got, "crashed")
			}
		}
		if want := "boom 1, crashed, boom 2, crashed, ready 3"; strings.Join(got, ", ") != want {
			t.Errorf("%s: %q, want %s; all:\n%s", name, got, want, out.String())
		}
	}
}

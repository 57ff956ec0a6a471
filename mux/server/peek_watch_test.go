package server

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"net"
	"reflect"
	"sync"
	"testing"

	"gascity.dev/gc/mux/api"
	"gascity.dev/gc/mux/client"
)

// spied is a connection that reports its writes.
type spied struct {
	net.Conn
	tell func(p []byte)
}

func (c *spied) Write(p []byte) (int, error) {
	c.tell(p)
	return c.Conn.Write(p)
}

// TestPeekAgain: an unchanged list is sent once more and then requested by token;
// changes are reported by a server that knows the list and by one that does not.
func TestPeekAgain(t *testing.T) {
	t.Parallel()
	c := startServer(t)
	var mu sync.Mutex
	var said bytes.Buffer
	spy := client.NewClient(func(ctx context.Context) (net.Conn, error) {
		conn, err := new(net.Dialer).DialContext(ctx, "unix", c.Paths().Socket)
		return &spied{conn, func(p []byte) { mu.Lock(); defer mu.Unlock(); said.Write(p) }}, err
	})
	defer spy.Close()
	var asked []api.PeekRequest
	for i := range 3 {
		name := fmt.Sprintf("s%d", i)
		create(t, c, name, "echo ready; read x; echo more; exec cat")
		await(t, c, name, "^ready")
		asked = append(asked, api.PeekRequest{Name: name, Screen: true})
	}
	peek := func() (got []api.PeekResult, named bool) {
		t.Helper()
		mu.Lock()
		said.Reset()
		mu.Unlock()
		got, err := spy.PeekMany(t.Context(), asked)
		if err != nil || len(got) != len(asked) {
			t.Fatalf("%+v, %v", got, err)
		}
		mu.Lock()
		defer mu.Unlock()
		return got, bytes.Contains(said.Bytes(), []byte(`"s1"`))
	}
	follow := func(got []api.PeekResult) {
		for i := range got {
			asked[i].IfRevision = got[i].Revision
		}
	}
	got, _ := peek()
	follow(got)
	first, _ := peek()
	for range 3 {
		again, named := peek()
		if named || !reflect.DeepEqual(again, first) {
			t.Errorf("the list is sent again: %v; %+v, want %+v", named, again, first)
		}
	}
	asked[0], asked[1] = asked[1], asked[0]
	if got, named := peek(); !named || got[0].Name != "s1" || !got[0].Unchanged {
		t.Errorf("another list: sent %v, %+v", named, got)
	}
	if err := c.Keys(t.Context(), "s2", []string{"Enter"}, false); err != nil {
		t.Fatal(err)
	}
	await(t, c, "s2", "^more")
	got, named := peek()
	if named || !got[0].Unchanged || got[2].Unchanged || got[2].Text == "" || got[2].Revision == asked[2].IfRevision {
		t.Errorf("after a change: sent %v, %+v", named, got)
	}
	follow(got)
	peek()
	if err := c.Kill(t.Context(), "s0", 0); err != nil {
		t.Fatal(err)
	}
	if got, _ := peek(); !got[0].Unchanged || got[1].Error == nil {
		t.Errorf("after an end: %+v", got)
	}
	create(t, c, "s0", "echo ready; exec cat")
	await(t, c, "s0", "^ready")
	got, _ = peek()
	follow(got)
	peek()
	killServer(t, c)
	if got, named := peek(); !named || got[1].Name != "s0" || got[1].Error != nil {
		t.Errorf("of a new server: sent %v, %+v", named, got)
	}
}

// TestWatchesAreFew: the server keeps only the newest lists, and no long ones.
func TestWatchesAreFew(t *testing.T) {
	srv := newServer(settings{})
	w := &srv.api.watches
	list := func(name string) []api.PeekRequest { return []api.PeekRequest{{Name: name, IfRevision: 1}} }
	first, second := w.keep(list("first")), w.keep(list("second"))
	for i := range watchLists - 1 {
		w.keep(list(fmt.Sprint(i)))
	}
	srv.events.changes.Add(1)
	if got, err := srv.api.watch(first); !errors.Is(err, api.ErrTooOld) {
		t.Errorf("the oldest: %v, %v", got, err)
	}
	if got, err := srv.api.watch(second); err != nil || got[0].Name != "second" {
		t.Errorf("the next one: %v, %v", got, err)
	}
	if token := w.keep(make([]api.PeekRequest, watchMost+1)); token != "" {
		t.Errorf("a long list has the token %q", token)
	}
	if _, err := srv.api.watch(""); !errors.Is(err, api.ErrTooOld) {
		t.Error(err)
	}
}

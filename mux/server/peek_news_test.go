package server

import (
	"errors"
	"testing"
	"time"

	"gascity.dev/gc/mux/api"
)

// TestAwaitNews: one request waits for something new on any of several screens, also for
// the end of a session.
func TestAwaitNews(t *testing.T) {
	t.Parallel()
	c := startServer(t)
	var list []api.PeekRequest
	for _, name := range []string{"a", "b", "c"} {
		create(t, c, name, "echo ready; read x; echo more; exec cat")
		await(t, c, name, "^ready")
		list = append(list, api.PeekRequest{Name: name, Lines: 1})
	}
	follow := func(got []api.PeekResult) {
		for i := range got {
			list[i].IfRevision = got[i].Revision
		}
	}
	got, err := c.PeekMany(t.Context(), list)
	if err != nil {
		t.Fatal(err)
	}
	follow(got)
	if got, err := c.AwaitNews(t.Context(), list, 50*time.Millisecond); err != nil || !got[0].Unchanged || !got[1].Unchanged || !got[2].Unchanged {
		t.Errorf("nothing changed: %+v, %v", got, err)
	}
	type answer struct {
		got []api.PeekResult
		err error
	}
	wait := func() <-chan answer {
		ch := make(chan answer, 1)
		go func() { got, err := c.AwaitNews(t.Context(), list, time.Minute); ch <- answer{got, err} }()
		return ch
	}
	news := wait()
	if err := c.Keys(t.Context(), "b", []string{"Enter"}, false); err != nil {
		t.Fatal(err)
	}
	a := <-news
	if a.err != nil || !a.got[0].Unchanged || a.got[1].Unchanged || !a.got[2].Unchanged {
		t.Errorf("after a change: %+v, %v", a.got, a.err)
	}
	await(t, c, "b", "^more")
	if got, err = c.PeekMany(t.Context(), list); err != nil {
		t.Fatal(err)
	}
	follow(got)
	news = wait()
	if err := c.Kill(t.Context(), "c", 0); err != nil {
		t.Fatal(err)
	}
	if a := <-news; a.err != nil || a.got[2].Error == nil || !errors.Is(a.got[2].Error, api.ErrNotFound) {
		t.Errorf("after an end: %+v, %v", a.got, a.err)
	}
}

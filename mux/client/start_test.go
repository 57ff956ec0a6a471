package client

import (
	"context"

	"gascity.dev/gc/mux/api"
	"gascity.dev/gc/mux/internal/persontest"
	"gascity.dev/gc/mux/internal/statedir"

	osexec "os/exec"
	"testing"
)

// TestWaitGoneBesideAnother: a stop waits for the server that it ended, not for
// another one started at that moment.
func TestWaitGoneBesideAnother(t *testing.T) {
	t.Parallel()
	p := api.Paths{Dir: t.TempDir()}
	if err := statedir.Make(p.Dir); err != nil {
		t.Fatal(err)
	}
	d, err := statedir.Open(p.Dir)
	if err != nil {
		t.Fatal(err)
	}
	defer d.Close()
	another, err := d.Lock(t.Context(), api.ServerLock)
	if err != nil {
		t.Fatal(err)
	}
	defer another.Close()
	gone := osexec.Command("true")
	if err := gone.Run(); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), persontest.Patience/4)
	defer cancel()
	if err := waitGone(ctx, p, gone.Process.Pid, gone.Process.Pid); err != nil {
		t.Error(err)
	}
}

package controller

import (
	"os"
	goruntime "runtime"
	"testing"
	"time"

	"gascity.dev/gc/internal/controller/api"
)

// A client that was closed holds no connection, whatever it did last.
func TestClosedClientsHoldNoDescriptors(t *testing.T) {
	r, _ := served(t, oneAgent)
	open := func() int {
		list, err := os.ReadDir("/proc/self/fd")
		if err != nil {
			t.Fatal(err)
		}
		return len(list)
	}
	before := open()
	var clients []*api.Client // that the garbage collector closes nothing
	for i := range 100 {
		c, err := api.Dial(r.dir)
		if err != nil {
			t.Fatal(err)
		}
		if i%2 == 0 {
			if _, err := c.Status(t.Context()); err != nil {
				t.Fatal(err)
			}
		}
		c.Close()
		clients = append(clients, c)
	}
	limit := time.Now().Add(time.Second) // the other ends are closed by the server
	for open() > before+5 {
		if time.Now().After(limit) {
			t.Fatalf("%d descriptors, %d before", open(), before)
		}
		time.Sleep(time.Millisecond)
	}
	goruntime.KeepAlive(clients)
}

package controller

import (
	"os"
	goruntime "runtime"
	"testing"
	"time"

	"gascity.dev/gc/internal/controller/api"
)

// A closed client holds no connection, whatever it did last.
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
	var clients []*api.Client // keeps them from the garbage collector
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
	limit := time.Now().Add(time.Second) // the server closes the other ends
	for open() > before+5 {
		if time.Now().After(limit) {
			t.Fatalf("%d descriptors, %d before", open(), before)
		}
		time.Sleep(time.Millisecond)
	}
	goruntime.KeepAlive(clients)
}

package driver_test

import (
	"bytes"
	"context"
	"io"
	"os/exec"
	"testing"

	"gascity.dev/gc/runtime"
	"gascity.dev/gc/runtime/driver"
)

// A client that ignores HUP does not keep the attach from ending.
func TestAttachClientThatHangsIsEnded(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	// A child in another session also holds the terminal open.
	cmd := exec.Command("sh", "-c", "trap '' HUP; setsid sleep 10 & echo ready; while :; do sleep 1; done")
	in, keys := io.Pipe()
	defer keys.Close()
	err := driver.RunOnTerminal(ctx, cmd, runtime.Terminal{
		In: in, Out: whenWritten(cancel), Size: func() (int, int, error) { return 80, 24, nil },
		Resized: make(chan struct{}),
	}, nil)
	if err != nil || ctx.Err() == nil {
		t.Fatalf("%v, %v", err, ctx.Err())
	}
}

// whenWritten is called once "ready" is written.
type whenWritten func()

func (f whenWritten) Write(b []byte) (int, error) {
	if bytes.Contains(b, []byte("ready")) {
		f()
	}
	return len(b), nil
}

package acpsh

import (
	"bufio"
	"bytes"
	"time"
)

// inOrder passes the client's lines on, a cancel only once the prompts before it were taken: the
// SDK serves each message by itself, and a cancel that overtakes its prompt would be lost.
type inOrder struct {
	lines *bufio.Reader
	taken <-chan struct{} // a prompt was taken
	owed  int             // prompts that were read and of which that is not known
	line  []byte          // what of the line in hand is not read
	err   error
}

// takeTime bounds the wait for a prompt that is never taken: it was not valid.
const takeTime = 2 * time.Second

func (o *inOrder) Read(p []byte) (int, error) {
	if len(o.line) == 0 {
		if o.err != nil {
			return 0, o.err
		}
		o.line, o.err = o.lines.ReadBytes('\n')
		switch {
		case bytes.Contains(o.line, []byte(`"session/prompt"`)):
			o.owed++
		case bytes.Contains(o.line, []byte(`"session/cancel"`)):
			o.settle()
		}
	}
	n := copy(p, o.line)
	o.line = o.line[n:]
	if len(o.line) > 0 {
		return n, nil
	}
	return n, o.err
}

// settle waits until the prompts were taken.
func (o *inOrder) settle() {
	limit := time.After(takeTime)
	for ; o.owed > 0; o.owed-- {
		select {
		case <-o.taken:
		case <-limit:
			o.owed = 0
			return
		}
	}
}

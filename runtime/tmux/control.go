package tmux

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os/exec"
	"strings"
	"sync"
	"time"
)

// errLost means that the connection ended before the answer came.
var errLost = errors.New("the connection to tmux was lost")

// commandError is tmux's error message for a command.
type commandError struct{ message string }

func (e *commandError) Error() string { return "tmux: " + e.message }

func (e *commandError) duplicate() bool { return strings.HasPrefix(e.message, "duplicate session") }

// maxReplyLine bounds one line of an answer, in bytes: a wide pane with long
// graphemes.
const maxReplyLine = 4 << 20

// control is one control-mode client: each command is one line, and is answered by
// one block, in order.
//
// The format is that of tmux(1), CONTROL MODE: "%begin TIME NUMBER FLAGS", lines,
// "%end" or "%error" with the same three values. Other lines that begin with "%"
// outside a block are notices.
type control struct {
	cmd   *exec.Cmd
	stdin io.WriteCloser
	done  chan struct{} // closed when the reader ends

	mu      sync.Mutex
	pending []chan reply // one per command sent, oldest first
	lost    error        // why the client ended
	stderr  bytes.Buffer
}

type reply struct {
	lines []string
	err   error
}

// openControl starts a control-mode client and waits for its first block, the answer
// to args. If ctx ends first, the client is killed.
func openControl(ctx context.Context, binary string, env []string, args ...string) (*control, error) {
	c := &control{cmd: exec.Command(binary, args...), done: make(chan struct{})}
	c.cmd.Env = env
	c.cmd.Dir = "/"
	c.cmd.Stderr = &c.stderr
	c.cmd.SysProcAttr = childAttr()
	var err error
	if c.stdin, err = c.cmd.StdinPipe(); err != nil {
		return nil, err
	}
	stdout, err := c.cmd.StdoutPipe()
	if err != nil {
		return nil, err
	}
	first := make(chan reply, 1)
	c.pending = append(c.pending, first)
	if err := c.cmd.Start(); err != nil {
		return nil, err
	}
	go c.read(stdout)
	select {
	case r := <-first:
		if r.err != nil {
			c.close()
			return nil, r.err
		}
		return c, nil
	case <-ctx.Done():
		c.close()
		return nil, ctx.Err()
	}
}

// close ends the client; server and sessions stay.
func (c *control) close() {
	c.stdin.Close()
	select {
	case <-c.done:
	case <-time.After(closeGrace):
		_ = c.cmd.Process.Kill() // it may have ended
		<-c.done
	}
}

// closeGrace is how long a client may take to exit by itself.
const closeGrace = 200 * time.Millisecond

// read passes the blocks to the waiting commands, until the client ends.
func (c *control) read(stdout io.Reader) {
	defer close(c.done)
	scanner := bufio.NewScanner(stdout)
	scanner.Buffer(make([]byte, 64<<10), maxReplyLine)
	var block []string
	tag := "" // the three values of %begin of the open block
	for scanner.Scan() {
		line := scanner.Text()
		if tag == "" {
			if rest, ok := strings.CutPrefix(line, "%begin "); ok {
				tag, block = rest, nil
			}
			continue
		}
		switch line {
		case "%end " + tag:
			c.answer(reply{lines: block})
			tag = ""
		case "%error " + tag:
			c.answer(reply{err: &commandError{strings.Join(block, "; ")}})
			tag = ""
		default:
			block = append(block, line)
		}
	}
	err := scanner.Err()
	if err != nil {
		_ = c.cmd.Process.Kill() // the line is too long: the rest of the stream has no meaning
	}
	err = errors.Join(err, c.cmd.Wait())
	c.mu.Lock()
	defer c.mu.Unlock()
	c.lost = errLost
	if text := strings.TrimSpace(c.stderr.String()); text != "" {
		c.lost = fmt.Errorf("%w: %s", errLost, text)
	} else if err != nil {
		c.lost = fmt.Errorf("%w: %w", errLost, err)
	}
	for _, p := range c.pending {
		p <- reply{err: c.lost}
	}
	c.pending = nil
}

func (c *control) answer(r reply) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if len(c.pending) == 0 {
		return
	}
	c.pending[0] <- r
	c.pending = c.pending[1:]
}

// run sends one command and returns the lines of its answer. If ctx ends first, the
// command may still run.
func (c *control) run(ctx context.Context, words ...string) ([]string, error) {
	wait := make(chan reply, 1)
	c.mu.Lock()
	if c.lost != nil {
		defer c.mu.Unlock()
		return nil, c.lost
	}
	c.pending = append(c.pending, wait)
	// Written under the lock: answers come in the order of the commands.
	_, err := io.WriteString(c.stdin, quoteLine(words)+"\n")
	c.mu.Unlock()
	if err != nil {
		c.close()
		return nil, fmt.Errorf("%w: %w", errLost, err)
	}
	select {
	case r := <-wait:
		return r.lines, r.err
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}

package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/signal"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"time"

	"gascity.dev/gc/internal/proctree"
	"gascity.dev/gc/mux"
	"gascity.dev/gc/runtime"
)

// opConfig is the start config of the protocol. What else is in it belongs to
// other callers.
type opConfig struct {
	WorkDir string            `json:"work_dir"`
	Command string            `json:"command"`
	Env     map[string]string `json:"env"`
	Cols    int               `json:"cols"`
	Rows    int               `json:"rows"`

	ReadyPromptPrefix string `json:"ready_prompt_prefix"` // for wait-idle; start does not wait for it
}

func (c *opCall) config() (opConfig, error) {
	data, err := c.stdin()
	if err != nil {
		return opConfig{}, err
	}
	var o opConfig
	if len(strings.TrimSpace(string(data))) == 0 {
		return o, nil
	}
	if err := json.Unmarshal(data, &o); err != nil {
		return o, fmt.Errorf("start config: %w", err)
	}
	if o.WorkDir == "" {
		return o, nil
	}
	o.WorkDir, err = filepath.Abs(o.WorkDir)
	return o, err
}

// opStart waits for nothing but creation: readiness, dialogs and the nudge are
// the caller's.
func opStart(c *opCall) error {
	o, err := c.config()
	if err != nil {
		return err
	}
	client, err := c.p.EnsureClient(c.ctx)
	if err == nil {
		id := o.Env[proctree.SessionVar]
		if runtime.CheckName(id) != nil {
			id = ""
		}
		_, err = client.Create(c.ctx, mux.CreateRequest{
			ID: id, Name: c.name, Command: o.Command, WorkDir: o.WorkDir, Env: runtime.Environment(os.Environ(), o.Env),
			Cols: o.Cols, Rows: o.Rows, ReadyPrefix: o.ReadyPromptPrefix,
		})
	}
	switch {
	case errors.Is(err, mux.ErrUnreachable):
		return &opStatus{opTemporary, err}
	case err != nil:
		return fmt.Errorf("start %s: %w", c.name, err)
	}
	return forgetBox(c.name) // the session is the box now
}

func opStop(c *opCall) error { return errors.Join(c.p.Stop(c.ctx, c.name), forgetBox(c.name)) }

func opAttach(c *opCall) error {
	ctx, cancel := signal.NotifyContext(c.ctx, syscall.SIGHUP, syscall.SIGTERM, syscall.SIGINT)
	defer cancel()
	keys := firstOf(os.Getenv("GC_EXEC_DETACH_KEYS"), os.Getenv("GC_DETACH_KEYS"))
	if _, err := mux.ParseDetachKeys(keys); err != nil {
		return err
	}
	return c.p.Attach(ctx, c.name, runtime.Terminal{
		In: c.in, Out: c.out, DetachKeys: keys, ReadOnly: os.Getenv("GC_EXEC_READ_ONLY") == "1",
	})
}

func opProcessAlive(c *opCall) error {
	data, err := c.stdin()
	if err != nil {
		return err
	}
	var names []string
	for line := range strings.Lines(string(data)) {
		if line = strings.TrimSpace(line); line != "" {
			names = append(names, line)
		}
	}
	return c.printBool(c.p.ProcessAlive(c.ctx, c.name, names))
}

// nudgePatience is how long a nudge waits for a dialog to go away: callers give
// an operation 30 s.
const nudgePatience = 20 * time.Second

// opNudge prints the receipt. What was not delivered is a failure as well, for
// callers that do not read it.
func opNudge(c *opCall) error {
	text, err := c.stdin()
	if err != nil {
		return err
	}
	running, err := c.p.IsRunning(c.ctx, c.name)
	if err == nil && !running {
		err = fmt.Errorf("nudge %s: %w", c.name, runtime.ErrSessionNotFound)
	}
	if err != nil {
		return err
	}
	client, err := c.p.Client(c.ctx)
	if err != nil {
		return err
	}
	r, err := client.Nudge(c.ctx, c.name, mux.NudgeRequest{Text: string(text), Timeout: nudgePatience})
	if errors.Is(err, mux.ErrExited) {
		r, err = mux.Receipt{State: string(runtime.Dead), Detail: "the session ended"}, nil
	}
	if err != nil {
		return err
	}
	receipt := runtime.Receipt{State: runtime.State(r.State), By: r.By, Detail: r.Detail, Changed: r.Changed}
	if err := json.NewEncoder(c.out).Encode(receipt); err != nil {
		return err
	}
	if receipt.State != runtime.Submitted && receipt.State != runtime.Unverified {
		return fmt.Errorf("nudge %s: %s %s: %s", c.name, receipt.State, receipt.By, receipt.Detail)
	}
	return nil
}

func opSetMeta(c *opCall) error {
	value, err := c.stdin()
	if err != nil {
		return err
	}
	return c.p.SetMeta(c.ctx, c.name, c.args[0], string(value))
}

// opGetMeta prints the value and nothing else (exact-meta).
func opGetMeta(c *opCall) error {
	value, err := c.p.GetMeta(c.ctx, c.name, c.args[0])
	if err != nil {
		return err
	}
	_, err = c.out.Write([]byte(value))
	return err
}

func opPeek(c *opCall) error {
	what := "0"
	if len(c.args) > 0 {
		what = c.args[0]
	}
	text, err := c.peek(what)
	if err != nil || text == "" {
		return err
	}
	_, err = fmt.Fprintln(c.out, text)
	return err
}

// peek takes a number of lines, or "screen" for the live screen alone.
func (c *opCall) peek(what string) (string, error) {
	if what != "screen" {
		lines, err := strconv.Atoi(what)
		if err != nil {
			return "", fmt.Errorf("peek %s: %q is no number of lines", c.name, what)
		}
		return c.p.Peek(c.ctx, c.name, lines)
	}
	client, err := c.p.Client(c.ctx)
	if errors.Is(err, mux.ErrNoServer) {
		err = runtime.ErrSessionNotFound
	}
	if err != nil {
		return "", fmt.Errorf("peek %s: %w", c.name, err)
	}
	r, err := client.Peek(c.ctx, mux.PeekRequest{Name: c.name, Screen: true})
	if err != nil {
		return "", fmt.Errorf("peek %s: %w", c.name, err)
	}
	return r.Text, nil
}

func opActivity(c *opCall) error {
	at, err := c.p.GetLastActivity(c.ctx, c.name)
	if err != nil || at.IsZero() {
		return err
	}
	_, err = fmt.Fprintln(c.out, at.Format(time.RFC3339Nano))
	return err
}

func opCopyTo(c *opCall) error {
	dst := ""
	if len(c.args) > 1 {
		dst = c.args[1]
	}
	return c.p.CopyTo(c.ctx, c.name, c.args[0], dst)
}

// opRunLive has nothing to apply again: the caller runs the commands. It says
// whether the config is one and the session is there.
func opRunLive(c *opCall) error {
	if _, err := c.config(); err != nil {
		return err
	}
	running, err := c.p.IsRunning(c.ctx, c.name)
	if err == nil && !running {
		err = fmt.Errorf("%s: %w", c.name, runtime.ErrSessionNotFound)
	}
	return err
}

func opWaitIdle(c *opCall) error {
	seconds, err := strconv.ParseFloat(c.args[0], 64)
	if err != nil || seconds <= 0 || seconds > 1e9 {
		return fmt.Errorf("wait-idle %s: %q is no number of seconds", c.name, c.args[0])
	}
	err = c.p.WaitForIdle(c.ctx, c.name, time.Duration(seconds*float64(time.Second)))
	if errors.Is(err, context.DeadlineExceeded) {
		return &opStatus{exitTimeout, err}
	}
	return err
}

// opLastExit prints nothing for a session that runs.
func opLastExit(c *opCall) error {
	e, err := c.p.LastExit(c.ctx, c.name)
	if err != nil || e == nil {
		return err
	}
	return json.NewEncoder(c.out).Encode(e)
}

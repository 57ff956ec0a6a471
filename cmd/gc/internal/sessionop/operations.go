package sessionop

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/signal"
	"strconv"
	"strings"
	"syscall"
	"time"

	"gascity.dev/gc/mux/api"
	"gascity.dev/gc/mux/keys"
	"gascity.dev/gc/runtime"
)

func opStop(c *call) error { return errors.Join(c.p.Stop(c.ctx, c.name), c.endBox()) }

func opAttach(c *call) error {
	ctx, cancel := signal.NotifyContext(c.ctx, syscall.SIGHUP, syscall.SIGTERM, syscall.SIGINT)
	defer cancel()
	detach := cmp.Or(os.Getenv("GC_EXEC_DETACH_KEYS"), os.Getenv("GC_DETACH_KEYS"))
	if _, err := keys.ParseDetach(detach); err != nil {
		return err
	}
	return c.p.Attach(ctx, c.name, runtime.Terminal{
		In: c.In, Out: c.Out, DetachKeys: detach, Keys: map[string][]string{}, ReadOnly: os.Getenv("GC_EXEC_READ_ONLY") == "1",
	})
}

// opInput makes an operation best effort: a session that is gone is not a
// failure.
func opInput(run func(c *call) error) func(*call) error {
	return func(c *call) error {
		if gone, err := c.gone(); gone || err != nil {
			return err
		}
		return run(c)
	}
}

func opProcessAlive(c *call) error {
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

// nudgePatience is how long a nudge waits for a dialog to close; callers allow
// 30 s for an operation.
const nudgePatience = 20 * time.Second

// opNudge prints the receipt. An undelivered message is also a failure, for
// callers that do not read the receipt.
func opNudge(c *call) error {
	text, err := c.stdin()
	if err != nil {
		return err
	}
	if gone, err := c.gone(); gone || err != nil {
		return err
	}
	client, err := c.p.Client(c.ctx)
	if err != nil {
		return err
	}
	r, err := client.Nudge(c.ctx, c.name, api.NudgeRequest{Text: string(text), Timeout: nudgePatience})
	if errors.Is(err, api.ErrExited) {
		r, err = api.Receipt{State: string(runtime.Dead), Detail: "the session ended"}, nil
	}
	if err != nil {
		return err
	}
	receipt := runtime.Receipt{State: runtime.State(r.State), By: r.By, Detail: r.Detail, Changed: r.Changed}
	if err := json.NewEncoder(c.Out).Encode(receipt); err != nil {
		return err
	}
	if receipt.State != runtime.Submitted && receipt.State != runtime.Unverified {
		return fmt.Errorf("nudge %s: %s %s: %s", c.label, receipt.State, receipt.By, receipt.Detail)
	}
	return nil
}

func opSetMeta(c *call) error {
	value, err := c.stdin()
	if err != nil {
		return err
	}
	return c.p.SetMeta(c.ctx, c.name, c.args[0], string(value))
}

// opGetMeta prints only the value, without a line end (exact-meta).
func opGetMeta(c *call) error {
	value, err := c.p.GetMeta(c.ctx, c.name, c.args[0])
	if err != nil {
		return err
	}
	_, err = c.Out.Write([]byte(value))
	return err
}

func opPeek(c *call) error {
	what := "0"
	if len(c.args) > 0 {
		what = c.args[0]
	}
	text, err := c.peek(what)
	if err != nil || text == "" {
		return err
	}
	_, err = fmt.Fprintln(c.Out, text)
	return err
}

// peek takes a number of lines, or "screen" for the live screen alone.
func (c *call) peek(what string) (string, error) {
	if what != "screen" {
		lines, err := strconv.Atoi(what)
		if err != nil {
			return "", fmt.Errorf("peek %s: %q is not a number of lines", c.name, what)
		}
		return c.p.Peek(c.ctx, c.name, lines)
	}
	client, err := c.p.Client(c.ctx)
	if errors.Is(err, api.ErrNoServer) {
		err = runtime.ErrSessionNotFound
	}
	if err != nil {
		return "", fmt.Errorf("peek %s: %w", c.name, err)
	}
	r, err := client.Peek(c.ctx, api.PeekRequest{Name: c.name, Screen: true})
	if err != nil {
		return "", fmt.Errorf("peek %s: %w", c.name, err)
	}
	return r.Text, nil
}

func opActivity(c *call) error {
	at, err := c.p.GetLastActivity(c.ctx, c.name)
	if err != nil || at.IsZero() {
		return err
	}
	_, err = fmt.Fprintln(c.Out, at.Format(time.RFC3339Nano))
	return err
}

func copyFileTo(c *call) error {
	dst := ""
	if len(c.args) > 1 {
		dst = c.args[1]
	}
	return c.p.CopyTo(c.ctx, c.name, c.args[0], dst)
}

func opWaitIdle(c *call) error {
	seconds, err := strconv.ParseFloat(c.args[0], 64)
	if err != nil || seconds <= 0 || seconds > 1e9 {
		return fmt.Errorf("wait-idle %s: %q is not a number of seconds", c.name, c.args[0])
	}
	err = c.p.WaitForIdle(c.ctx, c.name, time.Duration(seconds*float64(time.Second)))
	if errors.Is(err, context.DeadlineExceeded) {
		return &statusError{statusTimeout, err}
	}
	return err
}

// opLastExit prints nothing for a running session.
func opLastExit(c *call) error {
	e, err := c.p.LastExit(c.ctx, c.name)
	if err != nil || e == nil {
		return err
	}
	return json.NewEncoder(c.Out).Encode(e)
}

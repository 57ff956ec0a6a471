package exec

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"

	"gascity.dev/gc/internal/shell"
	"gascity.dev/gc/runtime"
	"gascity.dev/gc/runtime/driver"
)

// Nudge implements runtime.Provider. The receipt is the script's own; if it prints
// none the screen decides, and otherwise it is unverified.
func (p *Provider) Nudge(ctx context.Context, name string, content []runtime.ContentBlock) (runtime.Receipt, error) {
	if err := checkName(name); err != nil {
		return runtime.Receipt{}, fmt.Errorf("nudge: %w: %w", runtime.ErrSessionNotFound, err)
	}
	text, changed, err := driver.PlainText(ctx, p, name, content)
	if err != nil {
		return runtime.Receipt{}, fmt.Errorf("nudge %s: %w", name, err)
	}
	r, err := p.nudge(ctx, name, text)
	if changed != "" && r.State != runtime.Blocked {
		r.Changed = changed
	}
	return r, err
}

func (p *Provider) nudge(ctx context.Context, name, text string) (runtime.Receipt, error) {
	release, err := p.lockInput(ctx, name)
	if err != nil {
		return runtime.Receipt{}, fmt.Errorf("nudge %s: %w", name, err)
	}
	defer release()
	w := p.newWitness(ctx, name, text)
	r := request{op: opNudge, name: name, stdin: text, keeps: true}
	a, err := p.call(ctx, r)
	if err != nil {
		return runtime.Receipt{}, err
	}
	if receipt, ok := parseReceipt(a.out); ok {
		p.receipts.Store(true)
		return receipt, nil
	}
	switch a.code {
	case 0:
		if w.missing || strings.Contains(strings.ToLower(a.stderr), "session not found") {
			return runtime.Receipt{}, fmt.Errorf("nudge %s: %w", name, runtime.ErrSessionNotFound)
		}
	case exitNotImplemented:
		return runtime.Receipt{State: runtime.Refused, Detail: "the session script accepts no input"}, nil
	default:
		return runtime.Receipt{}, p.failure(ctx, r, a)
	}
	if err := p.live(ctx, name); gone(err) {
		return runtime.Receipt{State: runtime.Dead, Detail: "the session has ended"}, nil
	}
	return w.verdict(ctx), nil
}

// SendKeys implements runtime.Provider.
func (p *Provider) SendKeys(ctx context.Context, name string, keys ...string) error {
	for _, k := range keys {
		if !runtime.KnownKey(k) {
			return fmt.Errorf("keys %s: %w: %q", name, runtime.ErrUnknownKey, k)
		}
	}
	if err := checkName(name); err != nil || len(keys) == 0 {
		return err
	}
	release, err := p.lockInput(ctx, name)
	if err != nil {
		return fmt.Errorf("keys %s: %w", name, err)
	}
	defer release()
	return bestEffort(p.must(ctx, request{op: opSendKeys, name: name, args: keys}))
}

// Exec implements runtime.ExecProvider.
func (p *Provider) Exec(ctx context.Context, name string, argv []string) ([]byte, int, error) {
	h, err := p.handshake(ctx)
	switch {
	case err != nil:
		return nil, 0, err
	case !h.has(capExec):
		return nil, 0, fmt.Errorf("%s: %w", p.what(request{op: opExec, name: name}), runtime.ErrExecUnsupported)
	case len(argv) == 0:
		return nil, 0, errors.New("exec: no command")
	case checkName(name) != nil:
		return nil, 0, fmt.Errorf("exec in %q: %w", name, runtime.ErrSessionNotFound)
	}
	words := make([]string, len(argv))
	for i, w := range argv {
		words[i] = shell.Quote(w)
	}
	out, code, err := p.execLine(ctx, name, "exec "+strings.Join(words, " "))
	if err != nil || code != exitCannotRun && code != exitNoCommand {
		return out, code, err
	}
	// The status may be the command's, or that of a shell that found no command.
	_, missing, err := p.execLine(ctx, name, "command -v "+words[0]+" >/dev/null 2>&1")
	if err == nil && missing != 0 {
		err = fmt.Errorf("exec in %s: %s: command not found", name, argv[0])
	}
	return out, code, err
}

// execLine runs one command line in the session's box.
func (p *Provider) execLine(ctx context.Context, name, line string) ([]byte, int, error) {
	r := request{op: opExec, name: name, stdin: line}
	a, err := p.call(ctx, r)
	if err != nil {
		return nil, 1, err
	}
	// A script that lacks the session fails like a command.
	if a.code == 1 && strings.Contains(strings.ToLower(a.stderr), "session not found") {
		if err := p.live(ctx, name); err != nil {
			return nil, 1, err
		}
	}
	return a.out, a.code, nil
}

// readyMeta is the metadata key of a session's ready prefix, for WaitForIdle in any
// process.
const readyMeta = "gc.ready-prefix"

const exitTimeout = 124 // of wait-idle, as in timeout(1)

// WaitForIdle implements runtime.IdleWaitProvider. Without wait-idle the screen is
// polled until the ready prefix has been unchanged for 1.5 s.
func (p *Provider) WaitForIdle(ctx context.Context, name string, timeout time.Duration) error {
	inner, cancel := context.WithTimeout(ctx, timeout)
	defer cancel()
	if err := p.live(inner, name); err != nil {
		return fmt.Errorf("idle %s: %w", name, err)
	}
	seconds := strconv.Itoa(int((timeout + time.Second - 1) / time.Second))
	r := request{op: opWaitIdle, name: name, args: []string{seconds}, noEnd: true}
	a, err := p.call(inner, r)
	switch {
	case inner.Err() != nil && ctx.Err() == nil:
		return fmt.Errorf("idle %s: %w", name, inner.Err())
	case err != nil || a.code == 0:
		return err
	case a.code == exitTimeout:
		return fmt.Errorf("%w: %w", context.DeadlineExceeded, p.failure(ctx, r, a))
	case a.code != exitNotImplemented:
		return p.failure(ctx, r, a)
	}
	if err := p.watchIdle(inner, name); err != nil {
		return fmt.Errorf("idle %s: %w", name, err)
	}
	return nil
}

// watchIdle polls the screen until it shows an idle prompt.
func (p *Provider) watchIdle(ctx context.Context, name string) error {
	prefix, err := p.GetMeta(ctx, name, readyMeta)
	if err != nil {
		return err
	}
	s := &starter{p: p, name: name}
	return driver.AwaitPrompt(ctx, func(ctx context.Context) (string, error) {
		text, err := s.screen(ctx)
		if err == nil {
			err = p.live(ctx, name)
		}
		return text, err
	}, prefix, p.o.Limits.Poll)
}

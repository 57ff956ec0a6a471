package tmux

import (
	"context"
	"errors"
	"fmt"
	"os/exec"
	"strings"

	"gascity.dev/gc/runtime"
	"gascity.dev/gc/runtime/driver"
)

// Attach implements runtime.Provider: it runs a tmux client on a new terminal and
// passes bytes both ways. The detach keys are the client's prefix and one key.
func (p *Provider) Attach(ctx context.Context, name string, t runtime.Terminal) error {
	v, err := p.live(ctx, name)
	if err != nil {
		return fmt.Errorf("attach %s: %w", name, err)
	}
	if err := p.bindDetach(ctx, v.target, t.DetachKeys); err != nil {
		return fmt.Errorf("attach %s: %w", name, err)
	}
	// If several terminals are attached, the one with the latest input sets the size,
	// since tmux 3.1.
	_, _ = p.query(ctx, "set-option", "-qw", "-t", v.target, "window-size", "latest")
	// Every connection is notified of its attach and detach.
	release, err := p.noticing(ctx)
	if err != nil {
		return fmt.Errorf("attach %s: %w", name, convert(err))
	}
	defer release()
	if err := p.attach(ctx, v.target, t); err != nil {
		return fmt.Errorf("attach %s: %w", name, err)
	}
	return nil
}

// bindDetach sets the detach keys: two keys like "ctrl-b d", or "none".
func (p *Provider) bindDetach(ctx context.Context, target, spec string) error {
	prefix, key := "C-b", "d"
	switch f := strings.FieldsFunc(spec, func(r rune) bool { return r == ' ' || r == ',' }); {
	case spec == "":
	case spec == "none":
		prefix, key = "None", ""
	case len(f) == 2 && strings.HasPrefix(f[0], "ctrl-") && len(f[0]) == 6 && len(f[1]) == 1:
		prefix, key = "C-"+f[0][5:], f[1]
	default:
		return fmt.Errorf("detach keys %q: %w; tmux takes two, the first with ctrl", spec, runtime.ErrUnsupported)
	}
	if _, err := p.query(ctx, "set-option", "-t", target, "prefix", prefix); err != nil || key == "" {
		return err
	}
	_, err := p.query(ctx, "bind-key", "-T", "prefix", key, "detach-client")
	return err
}

// attach runs the client.
func (p *Provider) attach(ctx context.Context, target string, t runtime.Terminal) error {
	args := p.serverArgs("attach-session", "-t", target)
	if t.ReadOnly {
		args = append(args, "-r")
	}
	if t.Alone {
		args = append(args, "-d")
	}
	cmd := exec.Command(p.o.Binary, args...)
	cmd.Env = append(p.environ(), "TERM="+outerTerm(p.o.Environ))
	err := driver.RunOnTerminal(ctx, cmd, t, nil)
	var exit *exec.ExitError
	if errors.As(err, &exit) { // its message is on the terminal; query the reason
		if _, gerr := p.get(ctx, target); gerr != nil {
			return gerr
		}
	}
	return err
}

func outerTerm(env []string) string {
	for _, kv := range env {
		if v, ok := strings.CutPrefix(kv, "TERM="); ok && v != "" && v != "dumb" {
			return v
		}
	}
	return "xterm-256color"
}

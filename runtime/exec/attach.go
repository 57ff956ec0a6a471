package exec

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os/exec"
	"strings"

	"gascity.dev/gc/runtime"
	"gascity.dev/gc/runtime/driver"
)

// Variables with which attach passes more to a script. A script that ignores them
// uses its own detach keys.
const (
	envDetachKeys = "GC_EXEC_DETACH_KEYS" // "ctrl-b d"
	envReadOnly   = "GC_EXEC_READ_ONLY"   // "1": read-only; do not resize
)

const defaultDetach = "ctrl-b d"

// Attach implements runtime.Provider: the script runs on a new terminal, and bytes
// are passed both ways. A reader's keys never reach it.
func (p *Provider) Attach(ctx context.Context, name string, t runtime.Terminal) error {
	if t.Alone {
		return fmt.Errorf("attach %s: %w: a script cannot detach other terminals", name, runtime.ErrUnsupported)
	}
	keys := t.DetachKeys
	if keys == "" {
		keys = defaultDetach
	}
	r := request{op: opAttach, name: name}
	h, err := p.handshake(ctx)
	if err != nil {
		return err
	}
	if h.spoken && !h.has(capAttach) {
		return fmt.Errorf("%s: %w", p.what(r), runtime.ErrUnsupported)
	}
	if checkName(name) != nil {
		return fmt.Errorf("attach to %q: %w", name, runtime.ErrSessionNotFound)
	}
	if err := p.live(ctx, name); err != nil {
		return fmt.Errorf("attach: %w", err)
	}
	cmd := exec.Command(p.path, opAttach, name)
	cmd.Env = append(without(p.o.Environ, envDetachKeys), envDetachKeys+"="+keys)
	var filter func([]byte) ([]byte, bool)
	if t.ReadOnly {
		leaves, err := parseLeaver(keys)
		if err != nil {
			return fmt.Errorf("attach to %s: %w", name, err)
		}
		cmd.Env = append(cmd.Env, envReadOnly+"=1")
		filter = func(in []byte) ([]byte, bool) { return nil, leaves.feed(in) }
	}
	err = driver.RunOnTerminal(ctx, cmd, t, filter)
	var exit *exec.ExitError
	if !errors.As(err, &exit) {
		return err
	}
	if exit.ExitCode() == exitNotImplemented {
		return fmt.Errorf("%s: %w", p.what(r), runtime.ErrUnsupported)
	}
	if live := p.live(ctx, name); gone(live) {
		return nil // the session ended
	}
	return &ScriptError{What: p.what(r), Code: exit.ExitCode(), Message: "what it said is on the terminal"}
}

// leaver finds the detach keys in a reader's input, which nothing else reads.
type leaver struct {
	first, last [][]byte // every encoding of the keys; without first, last alone leaves
	armed       bool     // first was pressed, or there is none
	rest        []byte   // incomplete key
}

// parseLeaver parses "ctrl-b d", "ctrl-q" or "none".
func parseLeaver(spec string) (*leaver, error) {
	if spec == "none" {
		return &leaver{}, nil
	}
	f := strings.FieldsFunc(spec, func(r rune) bool { return r == ' ' || r == ',' })
	if len(f) < 1 || len(f) > 2 {
		return nil, fmt.Errorf("detach keys %q: %w; one or two are", spec, runtime.ErrUnsupported)
	}
	last, err := encodings(f[len(f)-1])
	if err != nil || len(f) == 1 {
		return &leaver{last: last, armed: true}, err
	}
	first, err := encodings(f[0])
	return &leaver{first: first, last: last}, err
}

// encodings returns what terminals send for a key: the legacy character, and CSI u
// (fixterms, kitty) and modifyOtherKeys' form.
func encodings(key string) ([][]byte, error) {
	base, ctrl := strings.CutPrefix(key, "ctrl-")
	if len(base) != 1 || base[0] < 'a' || base[0] > 'z' {
		return nil, fmt.Errorf("detach key %q: %w; letters with or without ctrl- are", key, runtime.ErrUnsupported)
	}
	c := base[0]
	if !ctrl {
		return [][]byte{{c}, fmt.Appendf(nil, "\x1b[%du", c)}, nil
	}
	return [][]byte{{c - 'a' + 1}, fmt.Appendf(nil, "\x1b[%d;5u", c), fmt.Appendf(nil, "\x1b[27;5;%d~", c)}, nil
}

// feed takes the next bytes; it returns true once the keys were pressed.
func (l *leaver) feed(in []byte) bool {
	l.rest = append(l.rest, in...)
	for len(l.rest) > 0 {
		if l.armed && match(l.rest, l.last) > 0 {
			return true
		}
		if n := match(l.rest, l.first); n > 0 {
			l.armed, l.rest = true, l.rest[n:]
			continue
		}
		if begins(l.rest, l.first) || l.armed && begins(l.rest, l.last) {
			return false // wait for the rest
		}
		l.armed, l.rest = len(l.first) == 0, l.rest[1:]
	}
	return false
}

func match(b []byte, keys [][]byte) int {
	for _, k := range keys {
		if bytes.HasPrefix(b, k) {
			return len(k)
		}
	}
	return 0
}

// begins reports whether b is the start of a key.
func begins(b []byte, keys [][]byte) bool {
	for _, k := range keys {
		if len(b) < len(k) && bytes.HasPrefix(k, b) {
			return true
		}
	}
	return false
}

package check

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
)

// config is the start config of the protocol.
type config map[string]any

// program is what sessions run: it writes what happens to it to its screen and, if
// the script hosts it on this machine, to a file.
const program = `say() { printf '%s\n' "$*"; { printf '%s\n' "$*" >> "$GC_CHECK_LOG"; } 2>/dev/null; }
trap 'say interrupted' INT
say "dir=$(pwd -P)"
say "odd=$GC_CHECK_ODD."
say "id=$GC_SESSION_ID."
say ready
while :; do if IFS= read -r line; then say "got: $line"; else sleep 0.2; fi; done`

// odd is a value that faulty quoting breaks.
const odd = `it's "odd" $HOME \ *`

// host is a session that runs program.
type host struct {
	r    *run
	name string
	log  string
	dir  string
}

// start starts program under a new name and waits for its first output.
func (r *run) start(more config) (*host, error) { return r.startAs(r.name(), more) }

func (r *run) startAs(name string, more config) (*host, error) {
	h, err := r.tryStart(name, more)
	if err != nil {
		return nil, err
	}
	if err := h.says("ready"); err != nil {
		r.broken = true
		return nil, fmt.Errorf("the program of the start config does not start: %w", err)
	}
	return h, nil
}

// tryStart only makes the call. If a script starts no program, waiting for each one
// again shows nothing new.
func (r *run) tryStart(name string, more config) (*host, error) {
	if r.broken {
		return nil, skip("start does not run its command: see above")
	}
	h := &host{r: r, name: name, dir: filepath.Join(r.dir, fmt.Sprintf("w%d", len(r.started)))}
	if err := os.MkdirAll(h.dir, 0o700); err != nil {
		return nil, err
	}
	h.log = filepath.Join(h.dir, "log")
	if err := os.Remove(h.log); err != nil && !errors.Is(err, os.ErrNotExist) {
		return nil, err
	}
	env := map[string]string{"GC_CHECK_LOG": h.log, "GC_CHECK_ODD": odd}
	c := config{"work_dir": h.dir, "command": program, "env": env}
	for k, v := range more {
		if k != "env" {
			c[k] = v
			continue
		}
		for name, value := range v.(map[string]string) {
			env[name] = value
		}
	}
	data, err := encode(c)
	if err != nil {
		return nil, err
	}
	r.started = append(r.started, session{r.city, name})
	a, err := r.does("start", name, data)
	r.said = a.stderr
	if err == nil && a.held {
		err = errors.New("a process that start left behind holds its standard output: callers that read to the end wait forever")
	}
	return h, err
}

// encode returns a start config as one readable line.
func encode(c config) (string, error) {
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	err := e.Encode(c)
	return strings.TrimSpace(b.String()), err
}

// said returns what the program wrote to its file and its screen.
func (h *host) said() (string, error) {
	data, err := os.ReadFile(h.log)
	if err != nil && !errors.Is(err, os.ErrNotExist) {
		return "", err
	}
	if len(data) > 0 {
		return string(data), nil
	}
	a, err := h.r.does("peek", h.name, "", "0")
	return a.out, err
}

// says waits until the program has written the text.
func (h *host) says(text string) error {
	return h.r.eventually(func() error {
		got, err := h.said()
		switch {
		case errors.Is(err, errMissing):
			return fmt.Errorf("the program is not visible: no file in its work dir, and no peek")
		case err == nil && !strings.Contains(got, text):
			err = fmt.Errorf("no %q in %q", text, clip(got))
		}
		return err
	})
}

// ends waits until is-running prints false.
func (h *host) ends() error {
	return h.r.eventually(func() error { return h.r.prints("false", "is-running", h.name, "") })
}

func (h *host) runs() error { return h.r.prints("true", "is-running", h.name, "") }

// failsAsGone checks that an operation fails without a session.
func (r *run) failsAsGone(op, stdin string, args ...string) error {
	a, err := r.call(op, r.name(), stdin, args...)
	switch {
	case err != nil:
		return err
	case a.code == notImplemented:
		return errMissing
	case a.code == 0 || !strings.Contains(strings.ToLower(a.stderr), "session not found"):
		return fmt.Errorf("%s without a session must fail with \"session not found\": %v", op, a)
	}
	return nil
}

// succeedsAsGone checks that a best-effort operation succeeds without a session.
func (r *run) succeedsAsGone(op, stdin string, args ...string) error {
	a, err := r.does(op, r.name(), stdin, args...)
	switch {
	case err != nil:
		return err
	case a.out != "":
		return fmt.Errorf("%s without a session must print nothing: %v", op, a)
	case !strings.Contains(strings.ToLower(a.stderr), "session not found"):
		return fmt.Errorf("%s without a session must succeed and print \"session not found\" on standard error: %v", op, a)
	}
	return nil
}

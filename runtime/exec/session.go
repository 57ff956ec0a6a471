package exec

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"gascity.dev/gc/runtime"
	"gascity.dev/gc/runtime/driver"
)

// do runs an operation that changes something. It does nothing if the script lacks
// it.
func (p *Provider) do(ctx context.Context, r request) error {
	r.keeps = true
	a, err := p.call(ctx, r)
	switch {
	case err != nil:
		return err
	case a.code == 0 || a.code == exitNotImplemented:
		return nil
	}
	return p.failure(ctx, r, a)
}

// must is do for an operation without a substitute: ErrUnsupported if the script
// lacks it.
func (p *Provider) must(ctx context.Context, r request) error {
	r.keeps = true
	a, err := p.call(ctx, r)
	switch {
	case err != nil || a.code == 0:
		return err
	case a.code == exitNotImplemented:
		return fmt.Errorf("%s: %w", p.what(r), runtime.ErrUnsupported)
	}
	return p.failure(ctx, r, a)
}

// bestEffort drops the error of a missing session.
func bestEffort(err error) error {
	if gone(err) {
		return nil
	}
	return err
}

// Stop implements runtime.Provider. A script that cannot stop is an error: callers
// must not assume that the session ended.
func (p *Provider) Stop(ctx context.Context, name string) error {
	if checkName(name) != nil {
		return nil
	}
	r := request{op: opStop, name: name, keeps: true}
	a, err := p.call(ctx, r)
	if err != nil || a.code == 0 {
		return err
	}
	return bestEffort(p.failure(ctx, r, a))
}

// Interrupt implements runtime.Provider.
func (p *Provider) Interrupt(ctx context.Context, name string) error {
	if err := checkName(name); err != nil {
		return err
	}
	return bestEffort(p.must(ctx, request{op: opInterrupt, name: name}))
}

// queryBool runs a query with the answers true and false. If the script lacks it,
// missing answers; without missing it is unreachable.
func (p *Provider) queryBool(ctx context.Context, r request, missing func() (bool, error)) (bool, error) {
	if checkName(r.name) != nil {
		return false, nil // no session can have this name
	}
	a, err := p.call(ctx, r)
	switch {
	case err != nil:
		return false, err
	case a.code == exitNotImplemented && missing != nil:
		return missing()
	case a.code != 0:
		err = p.unknown(ctx, r, a)
		return false, bestEffort(err)
	}
	v, err := parseBool(a.out)
	if err != nil {
		return false, p.protocolError(r, err)
	}
	return v, nil
}

// IsRunning implements runtime.Provider.
func (p *Provider) IsRunning(ctx context.Context, name string) (bool, error) {
	up, err := p.queryBool(ctx, request{op: opIsRunning, name: name}, nil)
	if up {
		p.saw(name)
	}
	return up, err
}

// IsAttached implements runtime.Provider.
func (p *Provider) IsAttached(ctx context.Context, name string) (bool, error) {
	return p.queryBool(ctx, request{op: opIsAttached, name: name}, func() (bool, error) { return false, nil })
}

// ProcessAlive implements runtime.Provider. If the script cannot see processes, a
// running session counts as one.
func (p *Provider) ProcessAlive(ctx context.Context, name string, names []string) (bool, error) {
	if len(names) == 0 {
		return true, nil
	}
	r := request{op: opProcessAlive, name: name, stdin: strings.Join(names, "\n") + "\n"}
	return p.queryBool(ctx, r, func() (bool, error) { return p.IsRunning(ctx, name) })
}

// live returns ErrSessionNotFound unless the session runs.
func (p *Provider) live(ctx context.Context, name string) error {
	ok, err := p.IsRunning(ctx, name)
	if err == nil && !ok {
		err = fmt.Errorf("%s: %w", name, runtime.ErrSessionNotFound)
	}
	return err
}

// ListRunning implements runtime.Provider. Names that the contract does not allow are
// sessions of others. A script without list-running has no list, which is not an
// empty one: ErrUnsupported.
func (p *Provider) ListRunning(ctx context.Context, prefix string) ([]string, error) {
	r := request{op: opListRunning, name: prefix}
	a, err := p.call(ctx, r)
	switch {
	case err != nil:
		return nil, err
	case a.code == exitNotImplemented:
		return nil, fmt.Errorf("%s: %w", p.what(r), runtime.ErrUnsupported)
	case a.code != 0:
		return nil, bestEffort(p.unknown(ctx, r, a))
	}
	names, err := parseNames(a.out, prefix)
	if err != nil {
		return nil, p.protocolError(r, err)
	}
	return names, nil
}

// GetLastActivity implements runtime.Provider.
func (p *Provider) GetLastActivity(ctx context.Context, name string) (time.Time, error) {
	if checkName(name) != nil {
		return time.Time{}, nil
	}
	r := request{op: opActivity, name: name}
	a, err := p.call(ctx, r)
	switch {
	case err != nil:
		return time.Time{}, err
	case a.code == exitNotImplemented:
		return time.Time{}, nil
	case a.code != 0:
		return time.Time{}, bestEffort(p.unknown(ctx, r, a))
	}
	at, err := parseTime(a.out)
	if err != nil {
		return time.Time{}, p.protocolError(r, err)
	}
	return at, nil
}

// checkMeta checks that a key can be an argument.
func checkMeta(name, key string) error {
	if err := checkName(name); err != nil {
		return err
	}
	if key == "" || strings.ContainsRune(key, 0) {
		return fmt.Errorf("metadata of %s: bad key %q", name, key)
	}
	return nil
}

// SetMeta implements runtime.Provider.
func (p *Provider) SetMeta(ctx context.Context, name, key, value string) error {
	if err := checkMeta(name, key); err != nil {
		return err
	}
	return p.do(ctx, request{op: opSetMeta, name: name, args: []string{key}, stdin: value})
}

// GetMeta implements runtime.Provider. Trailing newlines are the script's own, unless
// it declares exact-meta.
func (p *Provider) GetMeta(ctx context.Context, name, key string) (string, error) {
	if checkMeta(name, key) != nil {
		return "", nil
	}
	r := request{op: opGetMeta, name: name, args: []string{key}}
	a, err := p.call(ctx, r)
	switch {
	case err != nil:
		return "", err
	case a.code == exitNotImplemented:
		return "", nil
	case a.code != 0:
		return "", bestEffort(p.unknown(ctx, r, a))
	}
	value := string(a.out)
	if !strings.HasSuffix(value, "\n") {
		return value, nil
	}
	h, err := p.handshake(ctx)
	if err != nil {
		return "", err
	}
	if h.has(capExactMeta) {
		return value, nil
	}
	return strings.TrimRight(value, "\n"), nil
}

// RemoveMeta implements runtime.Provider.
func (p *Provider) RemoveMeta(ctx context.Context, name, key string) error {
	if err := checkMeta(name, key); err != nil {
		return err
	}
	return bestEffort(p.do(ctx, request{op: opRemoveMeta, name: name, args: []string{key}}))
}

// Peek implements runtime.Provider. Bytes that are not UTF-8 become U+FFFD.
func (p *Provider) Peek(ctx context.Context, name string, lines int) (string, error) {
	text, err := p.peek(ctx, name, strconv.Itoa(max(lines, 0)))
	return runtime.LastLines(text, lines), err
}

// peekScreen is the argument of peek for the live screen alone.
const peekScreen = "screen"

// screen returns the live screen; if the script cannot return it alone, the last rows
// lines.
func (p *Provider) screen(ctx context.Context, name string, rows int) (string, error) {
	h, err := p.handshake(ctx)
	if err != nil {
		return "", err
	}
	if !h.has(capPeekScreen) {
		return p.Peek(ctx, name, rows)
	}
	text, err := p.peek(ctx, name, peekScreen)
	return runtime.LastLines(text, 0), err
}

func (p *Provider) peek(ctx context.Context, name, what string) (string, error) {
	if checkName(name) != nil {
		return "", fmt.Errorf("peek %q: %w", name, runtime.ErrSessionNotFound)
	}
	r := request{op: opPeek, name: name, args: []string{what}, limit: p.o.PeekLimit}
	a, err := p.call(ctx, r)
	switch {
	case err != nil:
		return "", err
	case a.code == exitNotImplemented:
		a.out = nil
	case a.code != 0:
		return "", p.unknown(ctx, r, a)
	}
	text := plain(string(a.out))
	if strings.TrimSpace(text) == "" { // an empty screen, or no session
		return "", p.live(ctx, name)
	}
	return text, nil
}

// ClearScrollback implements runtime.Provider.
func (p *Provider) ClearScrollback(ctx context.Context, name string) error {
	if err := checkName(name); err != nil {
		return err
	}
	return bestEffort(p.must(ctx, request{op: opClear, name: name}))
}

// CopyTo implements runtime.Provider.
func (p *Provider) CopyTo(ctx context.Context, name, src, relDst string) error {
	if err := checkName(name); err != nil {
		return err
	}
	if relDst != "" && !filepath.IsLocal(relDst) {
		return fmt.Errorf("copy to %s: %w: %s", name, runtime.ErrPathEscapes, relDst)
	}
	abs, err := filepath.Abs(src)
	if err != nil {
		return fmt.Errorf("copy to %s: %w", name, err)
	}
	if _, err := os.Stat(abs); errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	return bestEffort(p.do(ctx, request{op: opCopyTo, name: name, args: []string{abs, relDst}}))
}

// RunLive implements runtime.Provider: the commands run in the session's box, or here
// if the script has none. The script is called too, and may do its part.
func (p *Provider) RunLive(ctx context.Context, name string, cfg runtime.Config) error {
	if err := p.live(ctx, name); err != nil {
		return bestEffort(err)
	}
	begin := time.Now()
	config, err := encodeConfig(name, cfg, false)
	if err == nil {
		err = bestEffort(p.do(ctx, request{op: opRunLive, name: name, stdin: config}))
	}
	h, herr := p.handshake(ctx)
	if herr != nil {
		return herr
	}
	err = errors.Join(err, driver.RunSetup(ctx, name, cfg, cfg.SessionLive, (&starter{p: p, name: name, cfg: cfg}).hooks(h).Setup))
	if p.o.Report != nil {
		p.o.Report(runtime.Step{Session: name, Name: runtime.StepSetup, Took: time.Since(begin), Err: err, Warning: err != nil})
	}
	return nil
}

// Relaunch implements runtime.RelaunchProvider, if the script declares it.
func (p *Provider) Relaunch(ctx context.Context, name string, cfg runtime.Config) error {
	h, err := p.handshake(ctx)
	if err != nil {
		return err
	}
	if err := p.live(ctx, name); err != nil {
		return fmt.Errorf("relaunch: %w", err)
	}
	r := request{op: opRelaunch, name: name, noEnd: true}
	if !h.has(capRelaunch) {
		return fmt.Errorf("%s: %w", p.what(r), runtime.ErrRelaunchUnsupported)
	}
	if r.stdin, err = encodeConfig(name, cfg, false); err != nil {
		return fmt.Errorf("relaunch %s: %w", name, err)
	}
	return p.must(ctx, r)
}

// LastExit implements runtime.ExitReporter. A script that does not declare last-exit
// does not know how a session ended.
func (p *Provider) LastExit(ctx context.Context, name string) (*runtime.Exit, error) {
	r := request{op: opLastExit, name: name}
	h, err := p.handshake(ctx)
	if err != nil {
		return nil, err
	}
	if !h.has(capLastExit) {
		return nil, fmt.Errorf("%s: %w", p.what(r), runtime.ErrUnsupported)
	}
	if checkName(name) != nil {
		return nil, fmt.Errorf("exit of %q: %w", name, runtime.ErrSessionNotFound)
	}
	a, err := p.call(ctx, r)
	switch {
	case err != nil:
		return nil, err
	case a.code != 0:
		return nil, p.unknown(ctx, r, a)
	}
	e, err := parseExit(a.out)
	if err != nil {
		return nil, p.protocolError(r, err)
	}
	return e, nil
}

package subprocess

import (
	"context"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"time"

	"golang.org/x/sys/unix"

	"gascity.dev/gc/internal/proctree"
	"gascity.dev/gc/runtime"
	"gascity.dev/gc/runtime/driver"
)

// lock makes this call the only one, in any gc process, that creates or removes a
// session's directory.
func (p *Provider) lock(ctx context.Context) (release func(), err error) {
	if err := os.MkdirAll(p.o.Dir, 0o700); err != nil {
		return nil, unreachable(err)
	}
	f, err := os.OpenFile(filepath.Join(p.o.Dir, "lock"), os.O_RDWR|os.O_CREATE, 0o600)
	if err != nil {
		return nil, unreachable(err)
	}
	for {
		err := unix.Flock(int(f.Fd()), unix.LOCK_EX|unix.LOCK_NB)
		if err == nil {
			return func() { f.Close() }, nil
		}
		if !errors.Is(err, unix.EWOULDBLOCK) && !errors.Is(err, unix.EINTR) {
			f.Close()
			return nil, unreachable(err)
		}
		select {
		case <-ctx.Done():
			f.Close()
			return nil, unreachable(ctx.Err())
		case <-time.After(lookAgain):
		}
	}
}

// Stop implements runtime.Provider. It also removes a session that ended.
func (p *Provider) Stop(ctx context.Context, name string) error {
	s, err := p.read(name)
	if err == nil {
		err = p.end(ctx, s)
	}
	return driver.BestEffort("stop", name, err)
}

// end ends a session's process tree and removes its files.
func (p *Provider) end(ctx context.Context, s state) error {
	if err := proctree.Kill(ctx, s.tree().Scanner(), runtime.Grace(ctx, p.o.StopGrace)); err != nil {
		return err
	}
	if err := s.awaitParent(ctx); err != nil {
		return err
	}
	release, err := p.lock(ctx)
	if err != nil {
		return err
	}
	defer release()
	// Another start may have replaced it.
	if now, err := readState(s.dir); err != nil || now.Process != s.Process {
		return nil
	}
	return os.RemoveAll(s.dir)
}

// Interrupt implements runtime.Provider: SIGINT to the program's group.
func (p *Provider) Interrupt(_ context.Context, name string) error {
	s, err := p.live(name)
	if err == nil {
		err = syscall.Kill(-s.Process.PID, syscall.SIGINT)
	}
	if err != nil && !gone(err) && !errors.Is(err, syscall.ESRCH) {
		return fmt.Errorf("interrupt %s: %w", name, err)
	}
	return nil
}

// IsRunning implements runtime.Provider.
func (p *Provider) IsRunning(_ context.Context, name string) (bool, error) {
	_, err := p.live(name)
	return driver.YesNo(true, "state of", name, err)
}

// IsAttached implements runtime.Provider: always false.
func (p *Provider) IsAttached(context.Context, string) (bool, error) { return false, nil }

// Attach implements runtime.Provider.
func (p *Provider) Attach(_ context.Context, name string, _ runtime.Terminal) error {
	_, err := p.live(name)
	if err == nil {
		err = fmt.Errorf("%w: it has no terminal", runtime.ErrUnsupported)
	}
	return fmt.Errorf("attach %s: %w", name, err)
}

// Nudge implements runtime.Provider: refused, because there is no terminal.
func (p *Provider) Nudge(_ context.Context, name string, _ []runtime.ContentBlock) (runtime.Receipt, error) {
	if _, err := p.live(name); err != nil {
		return runtime.Receipt{}, fmt.Errorf("nudge %s: %w", name, err)
	}
	return runtime.Receipt{State: runtime.Refused, Detail: "the session has no terminal"}, nil
}

// SendKeys implements runtime.Provider: there are no keys without a terminal.
func (p *Provider) SendKeys(_ context.Context, name string, keys ...string) error {
	for _, k := range keys {
		if !runtime.KnownKey(k) {
			return fmt.Errorf("keys %s: %w: %q", name, runtime.ErrUnknownKey, k)
		}
	}
	if _, err := p.live(name); errors.Is(err, runtime.ErrSessionNotFound) {
		return nil
	} else if err != nil {
		return fmt.Errorf("keys %s: %w", name, err)
	}
	return fmt.Errorf("keys %s: %w: the session has no terminal", name, runtime.ErrUnsupported)
}

// ProcessAlive implements runtime.Provider.
func (p *Provider) ProcessAlive(_ context.Context, name string, names []string) (bool, error) {
	if len(names) == 0 {
		return true, nil
	}
	s, err := p.live(name)
	alive := false
	if err == nil {
		alive, err = s.runs(names)
	}
	return driver.YesNo(alive, "processes of", name, err)
}

// runs reports whether a process of the session has one of the names.
func (s state) runs(names []string) (bool, error) {
	members, err := s.tree().Members()
	if err != nil {
		return false, unreachable(err)
	}
	return slices.ContainsFunc(members, func(m proctree.Proc) bool {
		return !m.Zombie() && proctree.Matches(m.PID, names)
	}), nil
}

// ListRunning implements runtime.Provider.
func (p *Provider) ListRunning(_ context.Context, prefix string) ([]string, error) {
	entries, err := os.ReadDir(filepath.Join(p.o.Dir, sessionsDir))
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, fmt.Errorf("list sessions: %w", unreachable(err))
	}
	var names []string
	for _, e := range entries {
		s, err := readState(filepath.Join(p.o.Dir, sessionsDir, e.Name()))
		if gone(err) || err == nil && !strings.HasPrefix(s.Name, prefix) {
			continue
		}
		alive := false
		if err == nil {
			alive, err = s.Process.alive()
		}
		if err != nil {
			return nil, fmt.Errorf("list sessions: %w", err)
		}
		if alive {
			names = append(names, s.Name)
		}
	}
	slices.Sort(names)
	return names, nil
}

// GetLastActivity implements runtime.Provider: when the output last grew.
func (p *Provider) GetLastActivity(_ context.Context, name string) (time.Time, error) {
	s, err := p.read(name)
	if gone(err) {
		return time.Time{}, nil
	}
	if err != nil {
		return time.Time{}, fmt.Errorf("activity of %s: %w", name, err)
	}
	return lastOutput(s), nil
}

// LastExit implements runtime.ExitReporter.
func (p *Provider) LastExit(ctx context.Context, name string) (*runtime.Exit, error) {
	s, err := p.read(name)
	var e *runtime.Exit
	if err == nil {
		e, err = s.exit(ctx)
	}
	if err != nil {
		return nil, fmt.Errorf("exit of %s: %w", name, err)
	}
	return e, nil
}

// metaPath returns the file of a key.
func (s state) metaPath(key string) string {
	return filepath.Join(s.dir, metaDir, "k"+hex.EncodeToString([]byte(key)))
}

// SetMeta implements runtime.Provider.
func (p *Provider) SetMeta(_ context.Context, name, key, value string) error {
	s, err := p.live(name)
	if err == nil {
		err = writeBytes(s.metaPath(key), []byte(value))
	}
	if err != nil {
		return fmt.Errorf("set meta of %s: %w", name, err)
	}
	return nil
}

// GetMeta implements runtime.Provider.
func (p *Provider) GetMeta(_ context.Context, name, key string) (string, error) {
	s, err := p.read(name)
	var data []byte
	if err == nil {
		data, err = os.ReadFile(s.metaPath(key))
	}
	switch {
	case err == nil:
		return string(data), nil
	case gone(err), errors.Is(err, fs.ErrNotExist):
		return "", nil
	case errors.Is(err, runtime.ErrBackendUnreachable):
	default:
		err = unreachable(err)
	}
	return "", fmt.Errorf("meta of %s: %w", name, err)
}

// RemoveMeta implements runtime.Provider.
func (p *Provider) RemoveMeta(_ context.Context, name, key string) error {
	s, err := p.read(name)
	if err == nil {
		err = os.Remove(s.metaPath(key))
	}
	if err != nil && !gone(err) && !errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("remove meta of %s: %w", name, err)
	}
	return nil
}

// CopyTo implements runtime.Provider.
func (p *Provider) CopyTo(ctx context.Context, name, src, relDst string) error {
	s, err := p.live(name)
	if gone(err) {
		return nil
	}
	if err == nil {
		err = driver.CopyLocal(ctx, s.WorkDir, src, relDst)
	}
	if err != nil {
		return fmt.Errorf("copy to %s: %w", name, err)
	}
	return nil
}

// RunLive implements runtime.Provider. A failed command is reported as a warning of
// the setup step.
func (p *Provider) RunLive(ctx context.Context, name string, cfg runtime.Config) error {
	if _, err := p.live(name); gone(err) {
		return nil
	} else if err != nil {
		return fmt.Errorf("run live %s: %w", name, err)
	}
	driver.RunLive(ctx, name, cfg, nil, p.o.Report)
	return nil
}

package subprocess

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"time"

	"gascity.dev/gc/internal/proctree"
	"gascity.dev/gc/runtime"
	"gascity.dev/gc/runtime/driver"
)

// Exec implements runtime.ExecProvider: on this machine, in the work dir and with the
// environment of the session's program.
func (p *Provider) Exec(ctx context.Context, name string, argv []string) ([]byte, int, error) {
	s, err := p.live(name)
	var env map[string]string
	if err == nil {
		env, err = s.environ(ctx)
	}
	var out []byte
	code := 0
	if err == nil {
		out, code, err = driver.ExecLocal(ctx, s.WorkDir, env, argv)
	}
	if err != nil {
		return out, code, fmt.Errorf("exec in %s: %w", name, err)
	}
	return out, code, nil
}

// environ returns the environment of the session's program, which is empty during
// execve.
func (s state) environ(ctx context.Context) (map[string]string, error) {
	t := time.NewTicker(lookAgain)
	defer t.Stop()
	for {
		env, err := proctree.Environ(s.Process.PID)
		if err != nil || env[proctree.SessionVar] == s.ID {
			return env, err
		}
		select {
		case <-ctx.Done():
			return nil, ctx.Err()
		case <-t.C:
		}
	}
}

// providerName is the Provider of the runtimes that it finds.
const providerName = "subprocess"

// FindRuntimesBySessionID implements runtime.ProcessTableScanner.
func (p *Provider) FindRuntimesBySessionID(_ context.Context, id string) ([]runtime.LiveRuntime, error) {
	roots, err := proctree.Roots(id)
	if err != nil {
		return nil, fmt.Errorf("process table: %w", err)
	}
	tracked, err := p.tracked()
	out := make([]runtime.LiveRuntime, 0, len(roots))
	for _, r := range roots {
		out = append(out, runtime.LiveRuntime{
			SessionID: r.Env[proctree.SessionVar], Session: r.Env["GC_SESSION_NAME"], City: r.City(), Epoch: r.Epoch(),
			PID: r.PID, Provider: providerName, Tracked: tracked[process{r.PID, r.Start}], Start: r.Start,
		})
	}
	return out, err
}

// tracked returns the processes of this provider's sessions.
func (p *Provider) tracked() (map[process]bool, error) {
	dir := filepath.Join(p.o.Dir, sessionsDir)
	entries, err := os.ReadDir(dir)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, unreachable(err)
	}
	found := make(map[process]bool, len(entries))
	for _, e := range entries {
		s, err := readState(filepath.Join(dir, e.Name()))
		if err != nil && !gone(err) {
			return found, err
		}
		found[s.Process] = true
	}
	return found, nil
}

// TerminateRuntime implements runtime.ProcessTableScanner.
func (p *Provider) TerminateRuntime(ctx context.Context, r runtime.LiveRuntime) error {
	if r.City == "" {
		return fmt.Errorf("end process %d: no city owns it", r.PID)
	}
	if err := proctree.End(ctx, r.PID, r.Start, r.SessionID, p.o.StopGrace); err != nil {
		return fmt.Errorf("end process %d: %w", r.PID, err)
	}
	return nil
}

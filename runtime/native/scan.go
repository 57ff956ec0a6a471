package native

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"

	"gascity.dev/gc/internal/proctree"
	"gascity.dev/gc/runtime"
)

// providerName is what runtimes found in the process table are reported under.
const providerName = "native"

// FindRuntimesBySessionID implements runtime.ProcessTableScanner. A root is a
// marked process whose parent does not carry the same mark.
func (p *Provider) FindRuntimesBySessionID(ctx context.Context, id string) ([]runtime.LiveRuntime, error) {
	table, err := proctree.Table()
	if err != nil {
		return nil, fmt.Errorf("process table: %w", err)
	}
	marks := map[int]string{}
	envs := map[int]map[string]string{}
	for _, proc := range table {
		if proc.Zombie() || ctx.Err() != nil {
			continue
		}
		env, err := proctree.Environ(proc.PID)
		if err != nil {
			continue // gone, or another user's
		}
		if sid := env[proctree.SessionVar]; sid != "" {
			marks[proc.PID], envs[proc.PID] = sid, env
		}
	}
	tracked, listErr := p.trackedPIDs(ctx)
	var out []runtime.LiveRuntime
	for _, proc := range table {
		sid := marks[proc.PID]
		if sid == "" || id != "" && sid != id || marks[proc.PPID] == sid {
			continue
		}
		env := envs[proc.PID]
		city := env["GC_CITY_PATH"]
		if city == "" {
			city = env["GC_CITY"]
		}
		epoch, err := strconv.ParseInt(env["GC_RUNTIME_EPOCH"], 10, 64)
		if err != nil {
			epoch = 0
		}
		out = append(out, runtime.LiveRuntime{
			SessionID: sid, Session: env["GC_SESSION_NAME"], City: city, Epoch: epoch, PID: proc.PID,
			Provider: providerName, Tracked: tracked[proc.PID], Start: proc.Start,
		})
	}
	return out, errors.Join(listErr, ctx.Err())
}

// trackedPIDs are the leaders of the sessions that the server has.
func (p *Provider) trackedPIDs(ctx context.Context) (map[int]bool, error) {
	names, err := p.ListRunning(ctx, "")
	if err != nil {
		return nil, err
	}
	pids := map[int]bool{}
	for _, name := range names {
		if info, err := p.live(ctx, name); err == nil {
			pids[info.PID] = true
		}
	}
	return pids, nil
}

// TerminateRuntime implements runtime.ProcessTableScanner.
func (p *Provider) TerminateRuntime(ctx context.Context, r runtime.LiveRuntime) error {
	if r.City == "" {
		return fmt.Errorf("end process %d: it belongs to no city", r.PID)
	}
	proc, err := proctree.Get(r.PID)
	if errors.Is(err, proctree.ErrNotFound) || err == nil && (proc.Start != r.Start || proc.Zombie()) {
		return nil
	}
	if err != nil {
		return fmt.Errorf("end process %d: %w", r.PID, err)
	}
	tree := proctree.Tree{Root: r.PID, RootStart: r.Start, ID: r.SessionID}
	if err := proctree.Kill(ctx, tree.Members, p.o.StopGrace); err != nil {
		return fmt.Errorf("end process %d: %w", r.PID, err)
	}
	return nil
}

// lookPath finds a command as the session would: in its PATH, relative to its
// work dir.
func lookPath(name, path, dir string) (string, error) {
	if filepath.Base(name) != name {
		if !filepath.IsAbs(name) {
			name = filepath.Join(dir, name)
		}
		return name, executable(name)
	}
	for _, d := range filepath.SplitList(path) {
		if !filepath.IsAbs(d) {
			d = filepath.Join(dir, d)
		}
		full := filepath.Join(d, name)
		if executable(full) == nil {
			return full, nil
		}
	}
	return "", &exec.Error{Name: name, Err: exec.ErrNotFound}
}

func executable(path string) error {
	info, err := os.Stat(path)
	if err != nil {
		return err
	}
	if info.IsDir() || info.Mode()&0o111 == 0 {
		return fs.ErrPermission
	}
	return nil
}

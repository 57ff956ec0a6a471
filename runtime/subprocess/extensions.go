package subprocess

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"path/filepath"

	"gascity.dev/gc/runtime/driver"
)

// box returns where commands beside the agent run.
func (p *Provider) box(ctx context.Context, name string) (dir string, env map[string]string, err error) {
	s, err := p.live(name)
	if err != nil {
		return "", nil, err
	}
	env, err = driver.ProgramEnv(ctx, s.Process.PID, s.ID)
	return s.WorkDir, env, err
}

// tracked returns the processes of this provider's sessions.
func (p *Provider) tracked(context.Context) (map[int]uint64, error) {
	dir := filepath.Join(p.o.Dir, sessionsDir)
	entries, err := os.ReadDir(dir)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, unreachable(err)
	}
	found := make(map[int]uint64, len(entries))
	for _, e := range entries {
		s, err := readState(filepath.Join(dir, e.Name()))
		if err != nil && !gone(err) {
			return found, err
		}
		found[s.Process.PID] = s.Process.Start
	}
	return found, nil
}

package driver

import (
	"bytes"
	"context"
	"fmt"
	"time"

	"gascity.dev/gc/internal/proctree"
	"gascity.dev/gc/internal/spawn"
	"gascity.dev/gc/runtime"
)

// LocalSessions describes a provider whose sessions are processes of this machine, or of
// one that the last three fields reach.
type LocalSessions struct {
	Provider string        // name, for runtimes found in the process table
	Grace    time.Duration // between TERM and KILL
	// Box returns where commands beside the agent run: the work dir and environment
	// of a running session; see [ProgramEnv].
	Box func(ctx context.Context, name string) (dir string, env map[string]string, err error)
	// Tracked returns the pids of the sessions' programs with their start times, 0
	// if unknown. Results that come with an error are correct but incomplete.
	Tracked func(ctx context.Context) (map[int]uint64, error)

	Run   Runner                                                        // nil: spawn.Run
	Roots func(ctx context.Context, id string) ([]proctree.Root, error) // nil: proctree.Roots
	// End is proctree.End of another machine; nil: of this one.
	End func(ctx context.Context, pid int, start uint64, id string, grace time.Duration) error
}

// Local implements runtime.ExecProvider and runtime.ProcessTableScanner for a
// provider that embeds it.
type Local struct{ sessions LocalSessions }

var (
	_ runtime.ExecProvider        = Local{}
	_ runtime.ProcessTableScanner = Local{}
)

// NewLocal returns the Local of a provider.
func NewLocal(s LocalSessions) Local {
	if s.Run == nil {
		s.Run = spawn.Run
	}
	if s.Roots == nil {
		s.Roots = func(_ context.Context, id string) ([]proctree.Root, error) { return proctree.Roots(id) }
	}
	if s.End == nil {
		s.End = proctree.End
	}
	return Local{s}
}

// Exec implements runtime.ExecProvider.
func (l Local) Exec(ctx context.Context, name string, argv []string) ([]byte, int, error) {
	dir, env, err := l.sessions.Box(ctx, name)
	if err != nil {
		return nil, 0, fmt.Errorf("exec in %s: %w", name, err)
	}
	if len(argv) == 0 {
		return nil, 0, fmt.Errorf("exec in %s: no command", name)
	}
	var out bytes.Buffer
	code, err := l.sessions.Run(ctx, spawn.Command{Argv: argv, Dir: dir, Env: variables(env), Stdout: &out})
	if err != nil {
		return out.Bytes(), code, fmt.Errorf("exec in %s: %w", name, err)
	}
	return out.Bytes(), code, nil
}

// FindRuntimesBySessionID implements runtime.ProcessTableScanner.
func (l Local) FindRuntimesBySessionID(ctx context.Context, id string) ([]runtime.LiveRuntime, error) {
	roots, err := l.sessions.Roots(ctx, id)
	if err != nil {
		return nil, fmt.Errorf("process table: %w", err)
	}
	tracked, err := l.sessions.Tracked(ctx)
	out := make([]runtime.LiveRuntime, 0, len(roots))
	for _, r := range roots {
		start, ok := tracked[r.PID]
		out = append(out, runtime.LiveRuntime{
			SessionID: r.Env[proctree.SessionVar], Session: r.Env["GC_SESSION_NAME"], City: r.City(), Epoch: r.Epoch(), PID: r.PID,
			Provider: l.sessions.Provider, Tracked: ok && (start == 0 || start == r.Start), Start: r.Start,
		})
	}
	return out, err
}

// TerminateRuntime implements runtime.ProcessTableScanner.
func (l Local) TerminateRuntime(ctx context.Context, r runtime.LiveRuntime) error {
	if r.City == "" {
		return fmt.Errorf("end process %d: no city owns it", r.PID)
	}
	if err := l.sessions.End(ctx, r.PID, r.Start, r.SessionID, l.sessions.Grace); err != nil {
		return fmt.Errorf("end process %d: %w", r.PID, err)
	}
	return nil
}

// ProgramEnv returns the environment of a session's program; see
// [proctree.ProgramEnviron].
func ProgramEnv(ctx context.Context, pid int, id string) (map[string]string, error) {
	return proctree.ProgramEnviron(ctx, pid, id)
}

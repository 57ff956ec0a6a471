package driver

import (
	"bytes"
	"context"
	"errors"
	"maps"
	"os"
	"slices"
	"strings"
	"time"

	"gascity.dev/gc/internal/spawn"
	"gascity.dev/gc/runtime"
)

// shellTail is how many bytes of output an error shows.
const shellTail = 2 << 10

// Runner runs a command to its end, as [spawn.Run] does on this machine.
type Runner func(ctx context.Context, c spawn.Command) (code int, err error)

// runShell runs a shell command line in its own process group, in this process's
// environment plus env. When ctx ends, the group is killed. The error includes the
// end of the output.
func runShell(ctx context.Context, line, dir string, env map[string]string) error {
	if info, err := os.Stat(dir); err != nil || !info.IsDir() {
		dir = ""
	}
	return ShellLine(ctx, spawn.Run, spawn.Command{Line: line, Dir: dir, Env: append(os.Environ(), variables(env)...)})
}

// ShellLine runs a setup command. The error includes the end of its output.
func ShellLine(ctx context.Context, run Runner, c spawn.Command) error {
	out := &tail{}
	c.Stdout, c.Stderr = out, out
	code, err := run(ctx, c)
	return spawn.Failure(c.Line, out.String(), code, err)
}

// variables lists an environment, sorted.
func variables(env map[string]string) []string {
	var out []string
	for _, k := range slices.Sorted(maps.Keys(env)) {
		out = append(out, k+"="+env[k])
	}
	return out
}

// SetupEnviron returns the variables that setup commands get besides the environment of
// the machine they run on.
func SetupEnviron(name string, cfg runtime.Config) []string { return variables(setupEnv(name, cfg)) }

// tail keeps the last shellTail bytes written.
type tail struct{ bytes.Buffer }

func (t *tail) Write(p []byte) (int, error) {
	n := len(p)
	t.Buffer.Write(p)
	if over := t.Len() - shellTail; over > 0 {
		t.Next(over)
	}
	return n, nil
}

// setupEnv returns what setup commands get besides this process's environment: the
// session's name and the agent's GC_ variables.
func setupEnv(name string, cfg runtime.Config) map[string]string {
	env := map[string]string{}
	for k, v := range cfg.Env {
		if strings.HasPrefix(k, "GC_") {
			env[k] = v
		}
	}
	if cfg.WorkDir != "" {
		env["GC_DIR"] = cfg.WorkDir
	}
	env["GC_SESSION"] = name
	return env
}

// RunLive runs the live commands of a session with run, as [RunSetup] does, and passes
// the outcome to report, which may be nil.
func RunLive(ctx context.Context, name string, cfg runtime.Config, run func(ctx context.Context, line string) error, report func(runtime.Step)) {
	begin := time.Now()
	err := RunSetup(ctx, name, cfg, cfg.SessionLive, run)
	if report != nil {
		report(runtime.Step{Session: name, Name: runtime.StepSetup, Took: time.Since(begin), Err: err, Warning: err != nil})
	}
}

// RunSetup runs setup commands in order, each for at most Config.SetupTimeout, with
// run, or if that is nil with /bin/sh on this machine and GC_SESSION set. A failure
// does not stop the rest; the error joins all failures.
func RunSetup(ctx context.Context, name string, cfg runtime.Config, lines []string, run func(ctx context.Context, line string) error) error {
	if run == nil {
		run = func(ctx context.Context, line string) error {
			return runShell(ctx, line, cfg.WorkDir, setupEnv(name, cfg))
		}
	}
	limit := cfg.SetupTimeout
	if limit <= 0 {
		limit = defaultSetupTimeout
	}
	var errs []error
	for _, line := range lines {
		if line == "" {
			continue
		}
		if err := ctx.Err(); err != nil {
			return errors.Join(append(errs, err)...)
		}
		one, cancel := context.WithTimeout(ctx, limit)
		if err := run(one, line); err != nil {
			errs = append(errs, err)
		}
		cancel()
	}
	return errors.Join(errs...)
}

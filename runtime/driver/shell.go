package driver

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"maps"
	"os"
	"os/exec"
	"slices"
	"strings"
	"syscall"
	"time"

	"gascity.dev/gc/runtime"
)

const (
	// shellDrain is how long output is still read after a command's end: a child
	// that it left behind may hold the pipe open forever.
	shellDrain = time.Second
	// shellTail is how many bytes of output an error shows.
	shellTail = 2 << 10
)

// runShell runs a shell command line in its own process group, in this process's
// environment plus env. When ctx ends, the group is killed. The error includes the
// end of the output.
func runShell(ctx context.Context, line, dir string, env map[string]string) error {
	cmd := exec.CommandContext(ctx, "/bin/sh", "-c", line)
	if info, err := os.Stat(dir); err == nil && info.IsDir() {
		cmd.Dir = dir
	}
	cmd.Env = os.Environ()
	for _, k := range slices.Sorted(maps.Keys(env)) {
		cmd.Env = append(cmd.Env, k+"="+env[k])
	}
	out := &tail{}
	cmd.Stdout, cmd.Stderr = out, out
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	cmd.Cancel = func() error { return syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL) }
	cmd.WaitDelay = shellDrain
	err := cmd.Run()
	if err == nil || errors.Is(err, exec.ErrWaitDelay) && ctx.Err() == nil {
		return nil
	}
	if ctx.Err() != nil {
		err = ctx.Err()
	}
	if text := strings.TrimSpace(out.String()); text != "" {
		return fmt.Errorf("%q: %w: %s", line, err, text)
	}
	return fmt.Errorf("%q: %w", line, err)
}

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

// RunLive runs the live commands of a session and passes the outcome to report,
// which may be nil.
func RunLive(ctx context.Context, name string, cfg runtime.Config, report func(runtime.Step)) {
	begin := time.Now()
	err := RunSetup(ctx, name, cfg, cfg.SessionLive, nil)
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

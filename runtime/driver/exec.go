package driver

import (
	"bytes"
	"context"
	"errors"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"syscall"
)

// execLocal is ExecProvider.Exec on this machine: argv, found in env's PATH, runs in
// dir with exactly env. Its process group is killed when ctx ends.
func execLocal(ctx context.Context, dir string, env map[string]string, argv []string) (output []byte, code int, err error) {
	if len(argv) == 0 {
		return nil, 0, errors.New("no command")
	}
	path, err := lookPath(argv[0], env["PATH"], dir)
	if err != nil {
		return nil, 0, err
	}
	cmd := exec.CommandContext(ctx, path, argv[1:]...)
	cmd.Args[0] = argv[0]
	cmd.Dir = dir
	cmd.Env = []string{} // nil would mean this process's environment
	for k, v := range env {
		cmd.Env = append(cmd.Env, k+"="+v)
	}
	var out bytes.Buffer
	cmd.Stdout = &out
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	cmd.Cancel = func() error { return syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL) }
	cmd.WaitDelay = shellDrain
	err = cmd.Run()
	var exit *exec.ExitError
	switch {
	case ctx.Err() != nil:
		return out.Bytes(), 1, ctx.Err()
	case errors.As(err, &exit):
		return out.Bytes(), exitCode(exit), nil
	case err != nil && !errors.Is(err, exec.ErrWaitDelay):
		return nil, 0, err
	}
	return out.Bytes(), 0, nil
}

// exitCode returns the exit status, 128+n for signal n.
func exitCode(e *exec.ExitError) int {
	if ws, ok := e.Sys().(syscall.WaitStatus); ok && ws.Signaled() {
		return 128 + int(ws.Signal())
	}
	return e.ExitCode()
}

// lookPath finds a command as a program in dir with the given PATH would.
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
		return &fs.PathError{Op: "exec", Path: path, Err: fs.ErrPermission}
	}
	return nil
}

package program

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"golang.org/x/sys/unix"

	"gascity.dev/gc/internal/acp/control"
	"gascity.dev/gc/internal/proctree"
	shellwords "gascity.dev/gc/internal/shell"
	"gascity.dev/gc/mux/api"
	"gascity.dev/gc/mux/keeper"
)

// Session is the session that a program is for.
type Session struct {
	ID    string
	Pipes bool     // instead of a terminal
	Env   []string // variables that only its program gets
}

// Spec returns what the keeper must execute, and the command as people see it.
func Spec(r *api.CreateRequest, s Session) (spec *keeper.Spec, command string, err error) {
	env := append(sessionEnv(r.Env, s.ID, r.KeepSessionID), s.Env...)
	dir, err := workDir(r.WorkDir, lookupEnv(env, "HOME"))
	if err != nil {
		return nil, "", err
	}
	spec = &keeper.Spec{
		ID: s.ID, Env: env, Dir: dir, Umask: 0o022, Stdio: keeper.StdioPTY,
		Cols: uint16(r.Cols), Rows: uint16(r.Rows),
	}
	if s.Pipes {
		spec.Stdio = keeper.StdioMixed
	}
	if r.Umask != nil {
		spec.Umask = *r.Umask & 0o777
	}
	shell := lookupEnv(env, "SHELL")
	if !IsExecutable(shell) {
		shell = "/bin/sh"
	}
	argv := r.Argv
	if r.Command != "" && !IsExecutable(shell) { // as in a container image without one
		argv, _ = shellwords.Words(r.Command)
	}
	switch {
	case len(argv) > 0:
		command = strings.Join(argv, " ")
		spec.Path, spec.Argv = resolve(argv, lookupEnv(env, "PATH"), dir)
	case r.Command != "":
		command = r.Command
		spec.Path, spec.Argv = shell, []string{shell, "-c", r.Command}
	default:
		command = shell
		spec.Path, spec.Argv = shell, []string{shell}
	}
	return spec, command, nil
}

// workDir checks the directory to start in.
func workDir(dir, home string) (string, error) {
	if dir == "" {
		dir = home
		if fi, err := os.Stat(dir); dir == "" || err != nil || !fi.IsDir() {
			dir = "/"
		}
	}
	if !filepath.IsAbs(dir) {
		return "", fmt.Errorf("%w: %s is not absolute", api.ErrWorkDir, dir)
	}
	fi, err := os.Stat(dir)
	if err != nil {
		var pe *os.PathError
		if errors.As(err, &pe) {
			err = pe.Err
		}
		return "", fmt.Errorf("%w: %s: %w", api.ErrWorkDir, dir, err)
	}
	if !fi.IsDir() {
		return "", fmt.Errorf("%w: %s: not a directory", api.ErrWorkDir, dir)
	}
	if unix.Access(dir, unix.X_OK) != nil {
		return "", fmt.Errorf("%w: %s: permission denied", api.ErrWorkDir, dir)
	}
	return dir, nil
}

// sessionEnv returns the program's environment: the caller's, with the terminal's type
// and the session's id. If keep, GC_SESSION_ID stays the caller's.
func sessionEnv(env []string, id string, keep bool) []string {
	mark := proctree.SessionVar
	if keep && lookupEnv(env, proctree.SessionVar) != "" {
		mark = proctree.MarkerVar
	}
	out := make([]string, 0, len(env)+3)
	for _, kv := range env {
		key, _, ok := strings.Cut(kv, "=")
		if !ok || key == "" || key == "TERM" || key == "COLORTERM" || key == mark || key == proctree.MarkerVar ||
			key == control.SocketVar || key == control.NonceVar { // of the session that the caller is in
			continue
		}
		out = append(out, kv)
	}
	return append(out, "TERM=xterm-256color", "COLORTERM=truecolor", mark+"="+id)
}

func lookupEnv(env []string, key string) string {
	value := ""
	for _, kv := range env {
		if k, v, ok := strings.Cut(kv, "="); ok && k == key {
			value = v
		}
	}
	return value
}

// IsExecutable reports whether a path is absolute and that of a program.
func IsExecutable(path string) bool {
	fi, err := os.Stat(path)
	return filepath.IsAbs(path) && err == nil && fi.Mode().IsRegular() && unix.Access(path, unix.X_OK) == nil
}

// resolve finds argv's program as a shell would. If it does not exist or cannot be
// executed, it returns a shell that prints an error and exits with status 127 or 126.
func resolve(argv []string, path, dir string) (string, []string) {
	name := argv[0]
	found := ""
	switch {
	case strings.Contains(name, "/"):
		found = name
		if !filepath.IsAbs(name) {
			found = filepath.Join(dir, name)
		}
	default:
		if path == "" {
			path = "/usr/local/bin:/usr/bin:/bin"
		}
		for _, d := range filepath.SplitList(path) {
			if !filepath.IsAbs(d) {
				d = filepath.Join(dir, d)
			}
			if p := filepath.Join(d, name); IsExecutable(p) {
				return p, argv
			}
		}
	}
	why, status := "command not found", "127"
	if fi, err := os.Stat(found); found != "" && err == nil {
		if IsExecutable(found) {
			return found, argv
		}
		why, status = "permission denied", "126"
		if fi.IsDir() {
			why = "is a directory"
		}
	}
	const script = `printf 'gc: %s: %s\n' "$1" "$2" >&2; exit "$3"`
	return "/bin/sh", []string{"/bin/sh", "-c", script, "gc", name, why, status}
}

package sessionop

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"time"

	"gascity.dev/gc/internal/proctree"
	"gascity.dev/gc/runtime"
)

// opExec replaces this process with the shell that runs the command line, so
// status, output and signals are the command's own.
func opExec(c *call) error {
	line, err := c.stdin()
	if err != nil {
		return err
	}
	dir, env, err := c.p.Box(c.ctx, c.name)
	if errors.Is(err, runtime.ErrSessionNotFound) {
		dir, env, err = provisioned(c.name)
	}
	if err != nil {
		return fmt.Errorf("exec in %s: %w", c.name, err)
	}
	if dir != "" {
		if err := os.Chdir(dir); err != nil {
			return fmt.Errorf("exec in %s: %w", c.name, err)
		}
	}
	env[boxVar] = c.boxMark()
	list := make([]string, 0, len(env))
	for k, v := range env {
		list = append(list, k+"="+v)
	}
	return fmt.Errorf("exec in %s: %w", c.name, syscall.Exec("/bin/sh", []string{"sh", "-c", string(line)}, list))
}

// boxVar marks the processes that exec starts in a box, so that stop finds the
// remaining ones. GC_SESSION_ID would not do: it belongs to the caller.
const boxVar = "GC_SESSION_OP_BOX"

func (c *call) boxMark() string { return boxFile(stateFolder(), c.name) }

// boxGrace is how long processes that exec left running may take to end.
const boxGrace = 2 * time.Second

// endBox ends the processes that exec left running and removes the box.
func (c *call) endBox() error {
	mark := c.boxMark()
	members := func() ([]proctree.Proc, error) {
		all, err := proctree.Table()
		return slices.DeleteFunc(all, func(p proctree.Proc) bool {
			env, _, err := proctree.EnvironOf(p) // unreadable for other users' processes, which are not ours
			return err != nil || env[boxVar] != mark || p.PID == os.Getpid()
		}), err
	}
	return errors.Join(proctree.Kill(c.ctx, members, boxGrace), forgetBox(c.name))
}

// opProvision stores the work dir and environment for commands that run before
// the session exists.
func opProvision(c *call) error {
	o, err := c.config()
	if err != nil {
		return err
	}
	running, err := c.p.IsRunning(c.ctx, c.name)
	if err == nil && running {
		err = runtime.ErrSessionExists
	}
	if err != nil {
		return fmt.Errorf("provision %s: %w", c.name, err)
	}
	dir, err := stateDir()
	if err != nil {
		return fmt.Errorf("provision %s: %w", c.name, err)
	}
	o.Command = ""
	data, err := json.Marshal(o)
	if err != nil {
		return err
	}
	if err := os.WriteFile(boxFile(dir, c.name), data, 0o600); err != nil {
		return fmt.Errorf("provision %s: %w", c.name, err)
	}
	return nil
}

// provisioned returns the box of a name that has no session.
func provisioned(name string) (dir string, env map[string]string, err error) {
	state := stateFolder()
	if err := private(state); err != nil {
		return "", nil, runtime.ErrSessionNotFound
	}
	data, err := os.ReadFile(boxFile(state, name))
	if errors.Is(err, fs.ErrNotExist) {
		return "", nil, runtime.ErrSessionNotFound
	}
	if err != nil {
		return "", nil, err
	}
	var o startConfig
	if err := json.Unmarshal(data, &o); err != nil {
		return "", nil, err
	}
	env = map[string]string{}
	for _, kv := range runtime.Environment(os.Environ(), o.Env) {
		k, v, _ := strings.Cut(kv, "=")
		env[k] = v
	}
	return o.WorkDir, env, nil
}

func forgetBox(name string) error {
	state := stateFolder()
	if private(state) != nil {
		return nil // nothing of ours is in it
	}
	if err := os.Remove(boxFile(state, name)); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	return nil
}

func boxFile(state, name string) string { return filepath.Join(state, name+".box") }

// stateFolder is the directory of the boxes.
func stateFolder() string {
	if dir := os.Getenv("GC_EXEC_STATE_DIR"); dir != "" {
		return dir
	}
	return filepath.Join(os.TempDir(), "gc-session-op-"+strconv.Itoa(os.Getuid()))
}

// stateDir creates the directory; it fails if the directory is not private.
func stateDir() (string, error) {
	dir := stateFolder()
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return "", err
	}
	return dir, private(dir)
}

// private fails unless only this user can write to the directory.
func private(dir string) error {
	info, err := os.Lstat(dir)
	if err != nil {
		return err
	}
	st, ok := info.Sys().(*syscall.Stat_t)
	if !ok || !info.IsDir() || int(st.Uid) != os.Getuid() || info.Mode().Perm()&0o022 != 0 {
		return fmt.Errorf("%s: not a directory that only this user can write to", dir)
	}
	return nil
}

package controller

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"syscall"

	"gascity.dev/gc/internal/controller/api"
	"gascity.dev/gc/runtime"
)

// readyFD names the variable with the descriptor of the pipe on which a
// background controller reports that it is ready.
const readyFD = "GC_CONTROLLER_READY_FD"

// logLimit is the size, in bytes, above which the log is rotated; one older log
// is kept.
const logLimit = 4 << 20

// SpawnOptions say how a background controller is started.
type SpawnOptions struct {
	City string   // the city's folder, absolute
	Bin  string   // the gc program
	Args []string // arguments: the hidden command that calls Child
	Env  []string // environment, inherited by the agents
}

// report is what a background controller says about its start, once.
type report struct {
	Status *api.Status    `json:"status,omitempty"`
	Err    *api.WireError `json:"err,omitempty"`
}

// Spawn starts a controller in the background, in a session of its own, and
// returns its status once the first reconcile is done. An error is the
// controller's, with its hint; the controller has ended then.
//
// Cancelling ctx stops only the wait; the controller goes on.
func Spawn(ctx context.Context, o SpawnOptions) (api.Status, error) {
	made, err := api.MakeStateDir(o.City)
	if err != nil {
		return api.Status{}, err
	}
	log, err := openLog(o.City)
	if err != nil {
		if made {
			os.RemoveAll(api.StateDir(o.City))
		}
		return api.Status{}, api.StateDirError(o.City, err)
	}
	defer log.Close()
	r, w, err := os.Pipe()
	if err != nil {
		return api.Status{}, fmt.Errorf("start the controller: %w", err)
	}
	defer r.Close()
	cmd := exec.Command(o.Bin, o.Args...)
	cmd.Dir, cmd.Stdout, cmd.Stderr = "/", log, log
	cmd.Env = append(unmarked(o.Env), readyFD+"=3")
	cmd.ExtraFiles = []*os.File{w}
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
	err = cmd.Start()
	w.Close()
	if err != nil {
		return api.Status{}, fmt.Errorf("start the controller: %w", err)
	}
	return awaitReport(ctx, r, cmd, o.City)
}

// unmarked drops the variables that mark an agent's processes: a controller that
// an agent starts is not part of the agent. GC_SESSION stays if it selects a
// provider; inside a session it may hold the session's name.
func unmarked(env []string) []string {
	out := make([]string, 0, len(env)+1)
	self := ""
	for _, kv := range env {
		if name, ok := strings.CutPrefix(kv, "GC_SESSION_NAME="); ok {
			self = name
		}
	}
	for _, kv := range env {
		name, value, _ := strings.Cut(kv, "=")
		if !runtime.IsFixedEnv(name) || name == "GC_SESSION" && value != self {
			out = append(out, kv)
		}
	}
	return out
}

// awaitReport reads the child's report. A pipe that closes without one means
// that the child has ended.
func awaitReport(ctx context.Context, r *os.File, cmd *exec.Cmd, city string) (api.Status, error) {
	done := context.AfterFunc(ctx, func() { r.Close() })
	defer done()
	var rep report
	b, err := io.ReadAll(r)
	if err == nil {
		err = json.Unmarshal(b, &rep)
	}
	switch {
	case err == nil && rep.Status != nil:
		return *rep.Status, cmd.Process.Release()
	case err == nil && rep.Err != nil:
		_ = cmd.Wait() // nothing is left when the error is shown
		return api.Status{}, rep.Err
	case ctx.Err() != nil:
		return api.Status{}, errors.Join(
			&api.Error{Err: fmt.Errorf("wait for the controller: %w", ctx.Err()), Help: "it continues in the background: gc status"},
			cmd.Process.Release())
	}
	return api.Status{}, &api.Error{
		Err:  fmt.Errorf("the controller ended before it was ready (%s)", endText(cmd.Wait())),
		Help: "its log says why: " + api.LogPath(city),
	}
}

func endText(err error) string {
	if err == nil {
		return "exit status 0"
	}
	return err.Error()
}

// openLog opens the controller's log for appending, private.
func openLog(city string) (*os.File, error) {
	path := api.LogPath(city)
	if st, err := os.Stat(path); err == nil && st.Size() > logLimit {
		if err := os.Rename(path, path+".1"); err != nil {
			return nil, err
		}
	}
	return os.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_APPEND, 0o600)
}

// Child is the hidden command that Spawn runs: it makes the options, runs the
// controller and reports readiness, or its first error, to the parent. Standard
// error is the log.
func Child(ctx context.Context, options func() (Options, error)) error {
	tell := reporter()
	o, err := options()
	if err == nil {
		o.Log = os.Stderr
		o.Ready = func(st api.Status) { tell(report{Status: &st}) }
		err = Run(ctx, o)
	}
	if err != nil {
		tell(report{Err: api.NewWireError(err)})
	}
	return err
}

// reporter returns a function that sends one report and closes the pipe. Later
// reports are dropped.
func reporter() func(report) {
	fd, err := strconv.Atoi(os.Getenv(readyFD))
	os.Unsetenv(readyFD)
	if err != nil || fd < 3 {
		return func(report) {}
	}
	syscall.CloseOnExec(fd)
	pipe := os.NewFile(uintptr(fd), "ready")
	return func(r report) {
		if pipe == nil {
			return
		}
		if b, err := json.Marshal(r); err == nil {
			_, err = pipe.Write(b)
			if err != nil && !errors.Is(err, syscall.EPIPE) {
				fmt.Fprintln(os.Stderr, "report:", err)
			}
		}
		pipe.Close()
		pipe = nil
	}
}

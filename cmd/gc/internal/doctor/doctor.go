// Package doctor examines this machine for gc doctor: the environment, the
// multiplexer, the programs of session providers and presets.
//
// Each function adds findings; none starts, changes or repairs anything, and none waits
// for a server that hangs longer than the client does. Only cmd/gc calls it; a city is
// examined by internal/controller/outside.
package doctor

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"

	"golang.org/x/sys/unix"

	"gascity.dev/gc/cmd/gc/internal/display"
	"gascity.dev/gc/internal/config"
	"gascity.dev/gc/internal/controller/outside"
	"gascity.dev/gc/internal/proctree"
	"gascity.dev/gc/internal/shell"
	"gascity.dev/gc/mux/api"
	"gascity.dev/gc/mux/client"
)

// Environment checks the variables of terminal and shell.
func Environment(f *outside.Findings) {
	switch term := os.Getenv("TERM"); term {
	case "", "dumb":
		f.Warn("terminal", "attach from a terminal that sets TERM, or export TERM=xterm-256color", "TERM is %q: attach cannot draw", term)
	default:
		f.OK("terminal", "TERM=%s", term)
	}
	locale := cmp.Or(os.Getenv("LC_ALL"), os.Getenv("LC_CTYPE"), os.Getenv("LANG"))
	if l := strings.ToLower(locale); !strings.Contains(l, "utf-8") && !strings.Contains(l, "utf8") {
		f.Warn("locale", "export LANG=C.UTF-8", "%q is not UTF-8: programs may draw boxes and letters wrongly", locale)
	}
	if in := os.Getenv("GC_SESSION_NAME"); in != "" {
		f.OK("session", "this shell runs in session %s", in)
	}
}

// Mux checks the multiplexer's directory, socket and processes; version is this
// program's.
func Mux(ctx context.Context, f *outside.Findings, version string) {
	paths, err := api.DefaultPaths(os.Getenv)
	if err != nil {
		f.Fail("mux", "export HOME, XDG_STATE_HOME or GC_MUX_SOCKET", "%v", err)
		return
	}
	if !checkStateDir(f, paths.Dir) {
		return
	}
	checkSocket(f, paths.Socket)
	client, err := client.Dial(ctx, paths)
	switch {
	case errors.Is(err, api.ErrNoServer):
		f.OK("mux", "no server is running; the first session starts it")
		return
	case err != nil:
		checkSilent(f, paths, err)
		return
	}
	defer client.Close()
	s, err := client.Status(ctx)
	if err != nil {
		checkSilent(f, paths, err)
		return
	}
	checkStopped(f, "keeper", s.Keeper.PID)
	f.OK("mux", "server pid %d, keeper pid %d, %s, %s", s.Server.PID, s.Keeper.PID, display.Count(s.Sessions, "session"), display.Memory(s.Server.MemoryBytes+s.Keeper.MemoryBytes))
	if s.Version != version {
		f.Warn("mux", "gc mux upgrade replaces it; sessions keep running", "the server is version %s, this is %s", s.Version, version)
	}
	if s.UpgradeFailed != "" {
		f.Warn("mux", "the old server is still running; gc mux upgrade tries again", "the last upgrade failed and was undone: %s", s.UpgradeFailed)
	}
	for _, path := range s.Damaged {
		f.Warn("mux", "inspect it with bbolt, or remove it: rm "+path, "a damaged database was moved to %s: its metadata, queue, outbox and background commands are lost", path)
	}
	if s.Restarts > 0 {
		f.Warn("mux", "no session was lost; "+paths.Dir+"/mux.log has the reason", "the server died and was restarted: %s", display.Count(s.Restarts, "time"))
	}
}

// checkSilent reports a server that does not answer, and its keeper if that is
// stopped too.
func checkSilent(f *outside.Findings, paths api.Paths, why error) {
	pid := client.ServerPID(paths)
	if pid == 0 {
		f.Fail("mux", paths.Dir+"/mux.log may have the reason", "the server does not answer: %v", why)
		return
	}
	if !checkStopped(f, "server", pid) {
		f.Fail("mux", fmt.Sprintf("kill -KILL %d; its keeper starts another server, and sessions keep running", pid), "the server, pid %d, does not answer: %v", pid, why)
	}
	if server, err := proctree.Get(pid); err == nil {
		checkStopped(f, "keeper", server.PPID)
	}
}

// checkStopped reports whether a process is stopped (SIGSTOP), as a problem.
func checkStopped(f *outside.Findings, what string, pid int) bool {
	p, err := proctree.Get(pid)
	if err != nil || !p.Stopped() {
		return false
	}
	f.Fail("mux", fmt.Sprintf("kill -CONT %d", pid), "the %s, pid %d, is stopped", what, pid)
	return true
}

// checkStateDir reports whether the directory can be used or created.
func checkStateDir(f *outside.Findings, dir string) bool {
	st, err := os.Stat(dir)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		above := dir
		for above != filepath.Dir(above) {
			above = filepath.Dir(above)
			if _, err := os.Stat(above); !errors.Is(err, fs.ErrNotExist) {
				break
			}
		}
		if unix.Access(above, unix.W_OK) != nil {
			f.Fail("mux", "set XDG_STATE_HOME or GC_MUX_SOCKET to another place", "cannot create its directory %s: %s is not writable", dir, above)
			return false
		}
		f.OK("mux", "the first session creates its directory %s", dir)
		return true
	case err != nil:
		f.Fail("mux", "set XDG_STATE_HOME or GC_MUX_SOCKET to another place", "%v", err)
		return false
	case !st.IsDir() || unix.Access(dir, unix.W_OK) != nil:
		f.Fail("mux", "make it a directory that you can write to, or set XDG_STATE_HOME or GC_MUX_SOCKET", "cannot use %s", dir)
		return false
	case st.Mode().Perm()&0o077 != 0:
		f.Warn("mux", "chmod 700 "+shell.Word(dir), "other users can read %s", dir)
	}
	var disk unix.Statfs_t
	if err := unix.Statfs(dir, &disk); err == nil {
		if free := uint64(disk.Bavail) * uint64(disk.Bsize); free < lowDisk {
			f.Warn("mux", "free some space: scrollback is stored there", "only %d MiB free on the disk of %s", free>>20, dir)
		}
	}
	return true
}

// lowDisk is the free space below which doctor warns, in bytes.
const lowDisk = 256 << 20

func checkSocket(f *outside.Findings, socket string) {
	st, err := os.Lstat(socket)
	switch {
	case errors.Is(err, fs.ErrNotExist):
	case err != nil:
		f.Fail("mux", "make the directory readable", "%v", err)
	case st.Mode()&fs.ModeSocket == 0:
		f.Fail("mux", "move it, or set GC_MUX_SOCKET", "%s is not a socket", socket)
	case st.Mode().Perm()&0o077 != 0:
		f.Warn("mux", "chmod 600 "+shell.Word(socket), "other users can connect to %s", socket)
	}
}

// Providers looks for the programs of session providers and presets.
func Providers(f *outside.Findings) {
	f.OK("sessions", "native: built in")
	if path, err := exec.LookPath("tmux"); err == nil {
		f.OK("sessions", "tmux: %s", path)
	} else {
		f.OK("sessions", "tmux: not on PATH; only the tmux provider requires it")
	}
	presets, err := config.Presets()
	if err != nil {
		f.Fail("agents", "", "%v", err)
		return
	}
	var there, missing []string
	for name, p := range presets {
		program, _, _ := strings.Cut(p.Command, " ")
		if program == "" {
			continue // the user's shell
		}
		if _, err := exec.LookPath(program); err == nil {
			there = append(there, name)
		} else {
			missing = append(missing, name)
		}
	}
	slices.Sort(there)
	slices.Sort(missing)
	f.OK("agents", "known and on PATH: %s", cmp.Or(strings.Join(there, ", "), "none"))
	f.OK("agents", "known but not found: %s", cmp.Or(strings.Join(missing, ", "), "none"))
}

// Inherited lists, for each provider in use, which of the variables that its
// agents inherit are set here; only names, never values.
func Inherited(f *outside.Findings, city *config.City, environ []string) {
	seen := map[string]bool{}
	for i := range city.Agents {
		r, err := city.Resolve(&city.Agents[i])
		if err != nil || len(r.InheritEnv) == 0 || seen[r.Provider] {
			continue
		}
		seen[r.Provider] = true
		set, missing := r.Named(environ)
		f.OK("environment", "%s agents inherit %s; not set here: %s", r.Provider,
			cmp.Or(strings.Join(set, ", "), "none of their variables"), cmp.Or(strings.Join(missing, ", "), "none"))
	}
}

package main

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"

	"golang.org/x/sys/unix"

	"gascity.dev/gc/cmd/gc/internal/display"
	"gascity.dev/gc/internal/config"
	"gascity.dev/gc/internal/controller"
	"gascity.dev/gc/internal/shell"
	"gascity.dev/gc/mux"
)

// checkEnvironment looks at what the terminal and the shell say.
func checkEnvironment(f *controller.Findings) {
	switch term := os.Getenv("TERM"); term {
	case "", "dumb":
		f.Warn("terminal", "attach from a terminal that sets it, or export TERM=xterm-256color", "TERM is %q: attach cannot draw there", term)
	default:
		f.OK("terminal", "TERM=%s", term)
	}
	locale := firstOf(os.Getenv("LC_ALL"), os.Getenv("LC_CTYPE"), os.Getenv("LANG"))
	if l := strings.ToLower(locale); !strings.Contains(l, "utf-8") && !strings.Contains(l, "utf8") {
		f.Warn("locale", "export LANG=C.UTF-8", "%q is not UTF-8: programs will draw boxes and letters wrongly", locale)
	}
	if in := os.Getenv("GC_SESSION_NAME"); in != "" {
		f.OK("session", "this shell runs in session %s", in)
	}
}

// checkMux looks at the multiplexer's folder, socket and processes. It starts
// nothing.
func checkMux(ctx context.Context, f *controller.Findings) {
	paths, err := mux.DefaultPaths(os.Getenv)
	if err != nil {
		f.Fail("mux", "export HOME, XDG_STATE_HOME or GC_MUX_SOCKET", "%v", err)
		return
	}
	if !checkStateDir(f, paths.Dir) {
		return
	}
	checkSocket(f, paths.Socket)
	client, err := mux.Dial(ctx, paths)
	switch {
	case errors.Is(err, mux.ErrNoServer):
		f.OK("mux", "no server runs; the first session starts it")
		return
	case err != nil:
		f.Fail("mux", "gc mux stop --force ends it, with its sessions", "the server does not answer: %v", err)
		return
	}
	defer client.Close()
	s, err := client.Status(ctx)
	if err != nil {
		f.Fail("mux", "gc mux stop --force ends it, with its sessions", "the server does not answer: %v", err)
		return
	}
	f.OK("mux", "server pid %d, keeper pid %d, %s, %s", s.Server.PID, s.Keeper.PID, display.Count(s.Sessions, "session"), display.Memory(s.Server.MemoryBytes+s.Keeper.MemoryBytes))
	if s.Version != version {
		f.Warn("mux", "gc mux upgrade replaces it; no session ends", "the server is version %s, this is %s", s.Version, version)
	}
	if s.UpgradeFailed != "" {
		f.Warn("mux", "the old server goes on; gc mux upgrade tries again", "the last upgrade was undone: %s", s.UpgradeFailed)
	}
	for _, path := range s.Damaged {
		f.Warn("mux", "look into it with bbolt, or remove it: rm "+path, "a damaged database was put aside as %s: the metadata, queue and background commands in it are not known", path)
	}
	if s.Restarts > 0 {
		f.Warn("mux", "no session was lost; "+paths.Dir+"/mux.log says why", "the server has died and was started again: %s", display.Count(s.Restarts, "time"))
	}
}

// checkStateDir reports whether the folder can be used, or made.
func checkStateDir(f *controller.Findings, dir string) bool {
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
			f.Fail("mux", "XDG_STATE_HOME or GC_MUX_SOCKET name another place", "its folder %s cannot be made: %s is not writable", dir, above)
			return false
		}
		f.OK("mux", "its folder %s is made by the first session", dir)
		return true
	case err != nil:
		f.Fail("mux", "XDG_STATE_HOME or GC_MUX_SOCKET name another place", "%v", err)
		return false
	case !st.IsDir() || unix.Access(dir, unix.W_OK) != nil:
		f.Fail("mux", "make it a folder that you can write, or name another place by XDG_STATE_HOME or GC_MUX_SOCKET", "%s cannot be used", dir)
		return false
	case st.Mode().Perm()&0o077 != 0:
		f.Warn("mux", "chmod 700 "+shell.Word(dir), "%s can be read by others", dir)
	}
	var disk unix.Statfs_t
	if err := unix.Statfs(dir, &disk); err == nil {
		if free := uint64(disk.Bavail) * uint64(disk.Bsize); free < lowDisk {
			f.Warn("mux", "make room: output that scrolls off is kept there", "only %d MiB free on the disk of %s", free>>20, dir)
		}
	}
	return true
}

// lowDisk is when doctor warns, in bytes.
const lowDisk = 256 << 20

func checkSocket(f *controller.Findings, socket string) {
	st, err := os.Lstat(socket)
	switch {
	case errors.Is(err, fs.ErrNotExist):
	case err != nil:
		f.Fail("mux", "make the folder readable for you", "%v", err)
	case st.Mode()&fs.ModeSocket == 0:
		f.Fail("mux", "move it, or name another place by GC_MUX_SOCKET", "%s is not a socket", socket)
	case st.Mode().Perm()&0o077 != 0:
		f.Warn("mux", "chmod 600 "+shell.Word(socket), "others may connect to %s", socket)
	}
}

// checkProviders looks for the programs behind session providers and presets.
func checkProviders(f *controller.Findings) {
	f.OK("sessions", "native: built in")
	if path, err := exec.LookPath("tmux"); err == nil {
		f.OK("sessions", "tmux: %s", path)
	} else {
		f.OK("sessions", "tmux: not on PATH; only the tmux provider needs it")
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
	f.OK("agents", "known and on PATH: %s", firstOf(strings.Join(there, ", "), "none"))
	f.OK("agents", "known but not found: %s", firstOf(strings.Join(missing, ", "), "none"))
}

// checkInherited says, for each provider in use, which of the variables that its
// agents inherit by name are set here: names, never values.
func checkInherited(f *controller.Findings, city *config.City, environ []string) {
	seen := map[string]bool{}
	for i := range city.Agents {
		r, err := city.Resolve(&city.Agents[i])
		if err != nil || len(r.InheritEnv) == 0 || seen[r.Provider] {
			continue
		}
		seen[r.Provider] = true
		set, missing := r.Named(environ)
		f.OK("environment", "%s agents inherit %s; not set here: %s", r.Provider,
			firstOf(strings.Join(set, ", "), "none of their variables"), firstOf(strings.Join(missing, ", "), "none"))
	}
}

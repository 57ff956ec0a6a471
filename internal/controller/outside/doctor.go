// Package outside examines a city without being its controller: the status of a city
// that has none, and what `gc doctor` finds. It changes nothing. It serves gc status,
// gc config and gc doctor.
package outside

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"golang.org/x/sys/unix"

	"gascity.dev/gc/internal/agent"
	"gascity.dev/gc/internal/config"
	"gascity.dev/gc/internal/controller/api"
	"gascity.dev/gc/internal/kept"
	"gascity.dev/gc/runtime"
)

const queryTimeout = 10 * time.Second // for one question to a backend

// Level of a finding.
type Level string

// Levels.
const (
	LevelOK   Level = "ok"
	LevelWarn Level = "warning" // it works, but not as expected
	LevelFail Level = "problem"
)

// Finding is one thing that `gc doctor` checked.
type Finding struct {
	Level Level  `json:"level"`
	About string `json:"about"` // "config", "agent x", "controller" …
	Text  string `json:"text"`
	Hint  string `json:"hint,omitempty"` // what to do
}

// Findings collects the results of checks.
type Findings struct {
	List []Finding
}

// OK adds something that is as it should be.
func (f *Findings) OK(about, format string, args ...any) {
	f.List = append(f.List, Finding{Level: LevelOK, About: about, Text: fmt.Sprintf(format, args...)})
}

// Warn adds something that works, but not as expected.
func (f *Findings) Warn(about, hint, format string, args ...any) {
	f.List = append(f.List, Finding{Level: LevelWarn, About: about, Text: fmt.Sprintf(format, args...), Hint: hint})
}

// Fail adds a problem.
func (f *Findings) Fail(about, hint, format string, args ...any) {
	f.List = append(f.List, Finding{Level: LevelFail, About: about, Text: fmt.Sprintf(format, args...), Hint: hint})
}

// doctor checks one city.
type doctor struct {
	Findings
}

// Diagnose checks a city from outside, with a hint for each problem. It changes
// nothing. provider may be nil if none can be made.
func Diagnose(ctx context.Context, dir string, provider runtime.Provider, o agent.BuildOptions) []Finding {
	d := &doctor{}
	specs := d.config(dir, o)
	d.stateDir(dir)
	d.kept(ctx, dir, provider)
	running := d.controller(ctx, dir)
	sessions := d.backend(ctx, provider)
	for _, s := range specs {
		d.agent(s)
	}
	if !running && provider != nil && len(specs) > 0 {
		d.left(ctx, provider, specs[0].City.Dir, sessions)
	}
	return d.List
}

func (d *doctor) config(dir string, o agent.BuildOptions) []*agent.Spec {
	c, err := config.Load(dir)
	var specs []*agent.Spec
	if err == nil {
		specs, err = agent.Build(c, o)
	}
	var p *config.Problems
	switch {
	case errors.As(err, &p):
		for _, one := range p.List {
			d.Fail("config", one.Hint, "%s", one)
		}
		return nil
	case err != nil:
		d.Fail("config", cmp.Or(api.Hint(err), "gc init makes a city"), "%v", err)
		return nil
	}
	d.OK("config", "%s: %s", c.File, api.CountAgents(len(specs)))
	for _, w := range agent.TemplateWarnings(c) {
		d.Warn("config", "templates may use City, Agent, Dir, Name", "%s", w)
	}
	for _, p := range c.Unused() {
		d.Warn("config", p.Hint, "%s", p)
	}
	for i := range c.Rigs {
		path := config.Place(c.Dir, c.Rigs[i].Path)
		if st, err := os.Stat(path); err != nil || !st.IsDir() {
			d.Fail("rig "+c.Rigs[i].Name, "make the folder or change the rig's path", "%s: not a directory", path)
		}
	}
	if !slices.ContainsFunc(o.Environ, func(kv string) bool { return strings.HasPrefix(kv, "HOME=") }) {
		d.Warn("environment", "agents keep their settings and logins there", "HOME is not set")
	}
	return specs
}

func (d *doctor) stateDir(dir string) {
	state := api.StateDir(dir)
	st, err := os.Stat(state)
	switch {
	case errors.Is(err, os.ErrNotExist):
		if unix.Access(dir, unix.W_OK) != nil {
			d.Fail("state", "make the folder writable, or copy the city to one that is", "%s is not writable", dir)
			return
		}
		d.OK("state", "no %s yet: the city was never started", state)
		return
	case err != nil:
		d.Fail("state", "", "%v", err)
		return
	case !st.IsDir() || unix.Access(state, unix.W_OK) != nil:
		d.Fail("state", "remove what is in its place, or make it writable for you", "%s cannot be used", state)
		return
	case st.Mode().Perm()&0o077 != 0:
		d.Warn("state", "chmod 700 "+state, "%s can be read by others", state)
	}
	var fs unix.Statfs_t
	if err := unix.Statfs(state, &fs); err == nil {
		if free := uint64(fs.Bavail) * uint64(fs.Bsize); free < lowDisk {
			d.Warn("state", "free some space: records and logs need it", "only %d MiB free on the disk of %s", free>>20, state)
		}
	}
}

// lowDisk is the free space, in bytes, below which doctor warns.
const lowDisk = 256 << 20

// kept says how much the city keeps of its sessions.
func (d *doctor) kept(ctx context.Context, dir string, p runtime.Provider) {
	items, err := kept.Find(dir)
	if err != nil {
		d.Warn("kept files", "", "%v", err)
	}
	city, err := config.Load(dir)
	if err != nil {
		return // config reports it
	}
	if p != nil {
		ctx, cancel := context.WithTimeout(ctx, queryTimeout)
		defer cancel()
		recordings, err := kept.Recordings(ctx, p, city.Dir)
		if err != nil {
			d.Warn("kept files", "", "not all recordings are counted: %v", err)
		}
		items = append(items, recordings...)
	}
	total, most := kept.Total(items), int64(city.Daemon.MaxKept)
	const mib = 1 << 20
	switch {
	case most == 0:
		d.OK("kept files", "%d MiB of recordings, transcripts and artifacts, without a limit", total/mib)
	case total > most:
		d.Warn("kept files", "the controller removes the oldest of ended sessions; max_kept in [daemon] is the limit",
			"%d MiB of recordings, transcripts and artifacts, more than the %d MiB of max_kept", total/mib, most/mib)
	default:
		d.OK("kept files", "%d of %d MiB of recordings, transcripts and artifacts", total/mib, most/mib)
	}
}

// controller reports whether one runs.
func (d *doctor) controller(ctx context.Context, dir string) bool {
	c, err := api.Dial(dir)
	switch {
	case err == nil:
		defer c.Close()
		st, err := c.Status(ctx)
		if err != nil {
			d.silent(dir, err)
			return true
		}
		d.OK("controller", "pid %d", st.Controller.PID)
		if st.ConfigError != "" {
			first, _, _ := strings.Cut(st.ConfigError, "\n")
			d.Fail("controller", "correct city.toml: it is read again at once", "the old config is in use: %s", first)
		}
		for _, p := range st.Pools {
			if p.Error != "" {
				d.Warn("pool "+p.Name, "its check must print a number within "+api.CheckTimeout.String(), "%s; it keeps its minimum of %d", p.Error, p.Min)
			}
		}
		for _, a := range st.Agents {
			d.running(a)
		}
		return true
	case errors.Is(err, api.ErrNoController):
		d.noController(dir)
		return false
	}
	d.Fail("controller", "", "%v", err)
	return false
}

// silent reports a controller that listens but does not reply.
func (d *doctor) silent(dir string, why error) {
	held, locked, err := api.Holder(dir)
	if err != nil || !locked || held.PID == 0 {
		d.Fail("controller", "gc stop, then gc start", "it is running but does not reply: %v", why)
		return
	}
	hint := fmt.Sprintf("kill -CONT %d if it is stopped; otherwise kill -KILL %d, then gc start adopts the agents", held.PID, held.PID)
	d.Fail("controller", hint, "pid %d is running but does not reply: %v", held.PID, why)
}

// noController distinguishes a controller that does not listen from a missing
// one.
func (d *doctor) noController(dir string) {
	held, locked, err := api.Holder(dir)
	switch {
	case errors.Is(err, os.ErrNotExist):
		d.OK("controller", "none is running")
		d.database(dir)
		return
	case err != nil:
		d.Fail("controller", "make the folder readable for you", "%v", err)
		return
	case locked:
		d.Fail("controller", fmt.Sprintf("wait a moment; if it stays so: kill %d, then gc start adopts the agents", held.PID), "pid %d holds the city's lock but does not listen", held.PID)
		return
	}
	if _, err := os.Lstat(api.SocketPath(dir)); err == nil {
		d.Warn("controller", "gc start starts another, which adopts the agents", "the last one died: its socket is still there")
	} else {
		d.OK("controller", "none is running")
	}
	d.database(dir)
}

func (d *doctor) running(a api.AgentStatus) {
	about := "agent " + a.Name
	switch {
	case a.State == api.StateQuarantined:
		d.Fail(about, "gc peek "+a.Name+" shows why; gc restart "+a.Name+" tries again", "it died too often and is quarantined (%d restarts)", a.Restarts)
	case a.State == api.StateCrashed:
		d.Fail(about, cmpHint(a.Hint, "gc peek "+a.Name), "it has crashed%s", because(a))
	case a.Error != "":
		d.Warn(about, a.Hint, "%s", a.Error)
	case a.ActivityInfo != nil && a.ActivityInfo.Kind == runtime.BlockedAuth:
		d.Warn(about, a.Hint, "it requires a login: %s", a.ActivityInfo.Evidence)
	case a.Warning != "":
		d.Warn(about, "gc restart "+a.Name+" once it is fixed", "%s", a.Warning)
	}
}

func cmpHint(a, b string) string {
	if a != "" {
		return a
	}
	return b
}

func because(a api.AgentStatus) string {
	switch {
	case a.Error != "":
		return ": " + a.Error
	case a.LastExit != nil:
		return ", " + a.LastExit.Text()
	}
	return ""
}

// database opens and closes city.db, which no process holds.
func (d *doctor) database(dir string) {
	path := api.DBPath(dir)
	if _, err := os.Stat(path); errors.Is(err, os.ErrNotExist) {
		return
	}
	b, err := api.OpenStore(dir)
	if err != nil {
		d.Fail("state", api.Hint(err), "%v", err)
		return
	}
	if err := b.Close(); err != nil {
		d.Fail("state", "", "%v", err)
	}
}

// backend returns the running sessions; nil if it cannot tell.
func (d *doctor) backend(ctx context.Context, p runtime.Provider) []string {
	if p == nil {
		return nil
	}
	ctx, cancel := context.WithTimeout(ctx, queryTimeout)
	defer cancel()
	list, err := p.ListRunning(ctx, "")
	if errors.Is(err, runtime.ErrUnsupported) {
		d.Warn("sessions", "", "the backend cannot list its sessions: known ones are queried, leftovers are not found")
		return nil
	}
	if err != nil {
		d.Fail("sessions", cmp.Or(api.Hint(err), "see gc mux status or the provider's own tools"), "the session backend does not reply: %v", err)
		return nil
	}
	d.OK("sessions", "the backend replies; %d running", len(list))
	return list
}

// agent checks what a start of it needs.
func (d *doctor) agent(s *agent.Spec) {
	for _, err := range StartProblems(s) {
		d.Fail("agent "+s.Name(), err.Help, "%s", err.Msg)
	}
	if s.OverACP() {
		d.overACP(s)
	}
}

// StartProblems returns why a start of the agent would fail, as far as that is
// known without one.
func StartProblems(s *agent.Spec) []*agent.StartError {
	var out []*agent.StartError
	if _, err := s.StartConfig(agent.Instance{}); err != nil {
		var known *agent.StartError
		if !errors.As(err, &known) {
			known = &agent.StartError{Msg: err.Error(), Help: api.Hint(err)}
		}
		out = append(out, known)
	}
	switch word, missing := program(s); {
	case !missing:
	case s.OverACP():
		out = append(out, &agent.StartError{
			Msg: fmt.Sprintf("its acp_command %s was not found", word), Help: s.InstallHint(), Key: "acp_command",
		})
	default:
		out = append(out, &agent.StartError{
			Msg: fmt.Sprintf("its command %s was not found", word), Help: "install it, or change start_command (command) or PATH", Key: "start_command",
		})
	}
	return out
}

// program returns the path of the program that the agent's command runs, or its name
// if it is missing; "" if that cannot be checked: a script may run it on another
// machine.
func program(s *agent.Spec) (path string, missing bool) {
	if host := s.Resolved.Session; strings.HasPrefix(host, "exec:") || host == config.HostHybrid || s.InPod() {
		return "", false
	}
	line := s.Config.Command
	if s.Config.ACP != nil {
		line = s.Config.ACP.Command
	}
	word, _, _ := strings.Cut(strings.TrimSpace(line), " ")
	if word == "" || strings.ContainsAny(word, "\"'$`\\=(){};&|<>*?[]~#") || shellWords[word] {
		return "", false // the shell's business
	}
	if path := find(word, s.Config.BaseEnv["PATH"], s.Config.Env["PATH"], s.Config.WorkDir); path != "" {
		return path, false
	}
	return word, true
}

// shellWords are commands that need no file.
var shellWords = map[string]bool{
	"exec": true, "cd": true, "set": true, "export": true, "if": true, "while": true, "for": true, "until": true,
	"case": true, "true": true, "false": true, "echo": true, "trap": true, "exit": true, "read": true, "eval": true,
	".": true, ":": true, "test": true, "wait": true, "ulimit": true, "umask": true, "command": true, "printf": true,
}

// find returns the path of a program, "" if there is none.
func find(word, base, own, dir string) string {
	if strings.Contains(word, "/") {
		if path := config.Place(dir, word); executable(path) {
			return path
		}
		return ""
	}
	if own != "" {
		base = own
	}
	for _, p := range filepath.SplitList(base) {
		if path := config.Place(dir, filepath.Join(p, word)); executable(path) {
			return path
		}
	}
	if path, err := exec.LookPath(word); base == "" && err == nil {
		return path
	}
	return ""
}

func executable(path string) bool {
	st, err := os.Stat(path)
	return err == nil && !st.IsDir() && st.Mode()&0o111 != 0
}

// left reports sessions of the city that no controller manages.
func (d *doctor) left(ctx context.Context, p runtime.Provider, city string, sessions []string) {
	for _, name := range sessions {
		query, cancel := context.WithTimeout(ctx, queryTimeout)
		owner, err := p.GetMeta(query, name, agent.MetaCityPath)
		cancel()
		if err == nil && owner == city {
			d.Warn("session "+name, "gc start takes it over, gc stop ends it", "it runs without a controller")
		}
	}
}

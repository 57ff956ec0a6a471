package agent

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"gascity.dev/gc/internal/clock"
	"gascity.dev/gc/internal/config"
	"gascity.dev/gc/internal/shell"
	"gascity.dev/gc/runtime"
)

// Keys of a session's metadata that the controller sets.
const (
	MetaConfigHash    = "GC_CONFIG_HASH"
	MetaLaunchHash    = "GC_LAUNCH_HASH"
	MetaProvisionHash = "GC_PROVISION_HASH"
	MetaLiveHash      = "GC_LIVE_HASH"
	MetaCityPath      = "GC_CITY_PATH"
	MetaAgent         = "GC_AGENT"
	MetaSessionID     = "GC_SESSION_ID"
	MetaEpoch         = "GC_RUNTIME_EPOCH"
	MetaToken         = "GC_INSTANCE_TOKEN"
	MetaDrain         = "GC_DRAIN"     // unix seconds of the request
	MetaDrainAck      = "GC_DRAIN_ACK" // "1": the agent agrees to be stopped
	MetaDrained       = "GC_DRAINED"   // "1": the agent was drained
	MetaRestart       = "GC_RESTART_REQUESTED"
)

// Spec is one agent of a city with everything its sessions need. It is immutable.
type Spec struct {
	City     *config.City
	Resolved config.Resolved
	Session  string         // the session's name
	Config   runtime.Config // complete except the prompt and the incarnation's variables
	Hashes   Hashes
	Digest   string            // covers everything config says about the start
	others   map[string]string // core hashes that differ only by an inherited permission level → the level
	vars     config.Vars
	hostedBy string // the provider that hosts it

	podProblem *StartError // why no pod can be made for it; nil for none
}

// BuildOptions describe the environment of the city.
type BuildOptions struct {
	Environ []string // environment of the city's starter, "K=V"
	Bin     string   // the gc program, for GC_BIN
	Record  bool     // record all sessions

	Provider string // hosts the city, if not the config's: GC_SESSION
}

// Host returns the other machine that hosts the agent, as ssh://[user@]HOST[:port], or
// "k8s" for a pod; "" is this one.
func (s *Spec) Host() string {
	if s.InPod() {
		return config.HostPods
	}
	if !config.IsHost(s.hostedBy) {
		return ""
	}
	return strings.TrimSuffix(config.HostURL(s.hostedBy), "/")
}

// InPod reports whether the agent runs in a pod.
func (s *Spec) InPod() bool { return config.IsPods(s.hostedBy) }

// Name returns the agent's qualified name.
func (s *Spec) Name() string { return s.Resolved.Name }

// Build returns the specs of every agent of the city, in file order; a pool is
// one spec, whose members come from [Member]. Two agents with the same session
// name are a *config.Problems.
func Build(c *config.City, o BuildOptions) ([]*Spec, error) {
	specs := make([]*Spec, 0, len(c.Agents))
	for i := range c.Agents {
		r, err := c.Resolve(&c.Agents[i])
		if err != nil {
			return nil, fmt.Errorf("agent %s: %w", c.Agents[i].QualifiedName(), err)
		}
		s, err := build(c, r, o)
		if err != nil {
			return nil, fmt.Errorf("agent %s: %w", r.Name, err)
		}
		specs = append(specs, s)
	}
	return specs, checkNames(c, specs)
}

// Member returns the spec of a pool member, by its bare name.
func Member(pool *Spec, bare string, o BuildOptions) (*Spec, error) {
	a, ok := pool.City.Agent(pool.Resolved.Template)
	if !ok {
		return nil, fmt.Errorf("member %s: no pool is named %s", bare, pool.Resolved.Template)
	}
	r, err := pool.City.ResolveMember(a, bare)
	if err != nil {
		return nil, fmt.Errorf("member %s: %w", bare, err)
	}
	return build(pool.City, r, o)
}

// MemberNames returns the bare names of the first n members: those of namepool,
// then "<agent>-<n>" counted from 1.
func MemberNames(pool *Spec, n int) []string {
	names := make([]string, 0, n)
	for i := range n {
		if list := pool.Resolved.Pool.NamePool; i < len(list) {
			names = append(names, list[i])
			continue
		}
		names = append(names, pool.Resolved.Base+"-"+strconv.Itoa(i+1))
	}
	return names
}

// IsMemberName reports whether the pool gives the qualified name to a member,
// regardless of its size.
func IsMemberName(pool *Spec, name string) bool {
	_, ok := pool.memberNumber(name)
	return ok
}

// TemplateWarnings returns why the session template is ignored for some agents,
// one line per cause.
func TemplateWarnings(c *config.City) []string {
	var out []string
	for i := range c.Agents {
		err := CheckTemplate(c.Name(), c.NameID, c.Workspace.SessionTemplate, c.Agents[i].QualifiedName())
		if err != nil && !slices.Contains(out, err.Error()) {
			out = append(out, err.Error())
		}
	}
	return out
}

// checkNames rejects agents that would share a session.
func checkNames(c *config.City, specs []*Spec) error {
	first := map[string]*Spec{}
	var list []config.Problem
	for _, s := range specs {
		old, dup := first[s.Session]
		if !dup {
			first[s.Session] = s
			continue
		}
		line := 0
		if a, ok := c.Agent(s.Name()); ok {
			line = a.At.Line
		}
		list = append(list, config.Problem{
			File: c.File, Line: line,
			Msg:  fmt.Sprintf("agents %q and %q both get the session name %q", old.Name(), s.Name(), s.Session),
			Hint: "use {{.Agent}} in session_template",
		})
	}
	if len(list) == 0 {
		return nil
	}
	return &config.Problems{List: list}
}

// sessionName returns the session name of an agent of the city.
func sessionName(c *config.City, name string) string {
	return SessionNameFor(c.Name(), c.NameID, c.Workspace.SessionTemplate, name)
}

// NameSpace represents all session names of a city without its id: cities with
// the same one collide.
func NameSpace(c *config.City) string {
	return SessionNameFor(c.Name(), "", c.Workspace.SessionTemplate, "x")
}

// podWork is the volume for work in a pod. Directories of this machine mean nothing there.
const podWork = "/workspace"

func build(c *config.City, r config.Resolved, o BuildOptions) (*Spec, error) {
	s := &Spec{City: c, Resolved: r, Session: sessionName(c, r.Name)}
	s.hostedBy = s.HostedBy(cmp.Or(o.Provider, r.Session))
	s.vars = config.Vars{
		Session: s.Session, Agent: r.Name, AgentBase: r.Base, Rig: r.Rig, RigRoot: r.RigRoot,
		CityRoot: c.Dir, CityName: c.Name(), ConfigDir: filepath.Dir(c.File),
	}
	dir, err := config.Expand(r.WorkDir, s.vars)
	if err != nil {
		return nil, err
	}
	s.vars.WorkDir = config.Place(c.Dir, dir)
	switch chosen := r.Origins["work_dir"].Source; {
	case s.InPod() && chosen != "agent":
		s.vars.WorkDir = podWork
	case s.InPod():
		s.vars.WorkDir = config.Place(podWork, dir)
	case s.Host() != "" && chosen == config.OriginDefault: // the home directory there
		s.vars.WorkDir = ""
	case s.Host() != "":
		s.vars.WorkDir = dir
	}
	if s.Config, err = s.runtimeConfig(o); err != nil {
		return nil, err
	}
	return s, nil
}

// runtimeConfig fills the contract's Config and the hashes.
func (s *Spec) runtimeConfig(o BuildOptions) (runtime.Config, error) {
	r, c := &s.Resolved, s.City
	cfg := runtime.Config{
		WorkDir: s.vars.WorkDir, Lifecycle: r.Lifecycle, Upstream: r.Upstream,
		ReadyPromptPrefix: r.ReadyPromptPrefix, ReadyDelay: millis(r.ReadyDelayMS),
		ReportsStatus: r.ReportsStatus, InterruptKeys: r.InterruptKeys, StuckAfter: r.StuckAfter,
		ProcessNames: r.ProcessNames, EmitsPermissionWarning: r.EmitsPermissionWarning,
		AcceptStartupDialogs: r.AcceptStartupDialogs, MouseOn: r.Mouse,
		KeepChecks:   r.Permissions != "" && !r.Unchecked,
		Composer:     runtime.Composer{Commands: r.TextCommands, Words: r.TextWords, Openers: r.TextOpeners, Mark: r.TextMark, Clear: r.ClearKeys},
		ProviderName: r.Family, ProviderOverlayName: r.OverlayProvider, InstallAgentHooks: r.InstallAgentHooks,
		PackOverlayDirs: r.PackOverlays, OverlayDir: r.OverlayDir,
		Cols: c.Session.Size.Cols, Rows: c.Session.Size.Rows,
		SetupTimeout: c.Session.SetupTimeout, PreStartTimeout: c.Session.StartupTimeout,
		ScrollbackLines: c.Session.ScrollbackLines, ScrollbackBytes: int64(c.Session.ScrollbackBytes),
		Resources: runtime.Resources{MemoryBytes: int64(r.Limits.Memory), CPUs: float64(r.Limits.CPU), PIDs: r.Limits.PIDs},
		Record:    o.Record || r.Record, RecordMax: recordMax(c),
	}
	if r.Session != c.Session.Provider { // it sets its own
		cfg.Transport = r.Session
	}
	if cfg.ProviderName == "" {
		cfg.ProviderName = r.Provider
	}
	for i := range c.Dialogs {
		cfg.Dialogs = append(cfg.Dialogs, dialog(&c.Dialogs[i]))
	}
	if err := s.addScreenRules(&cfg); err != nil {
		return cfg, err
	}
	for _, f := range r.CopyFiles {
		cfg.CopyFiles = append(cfg.CopyFiles, runtime.CopyFile{Src: f.Src, RelDst: f.Dst})
	}
	if err := s.expandCommands(&cfg); err != nil {
		return cfg, err
	}
	cfg.Env = s.environment(o)
	if s.InPod() {
		pod := r.Pod(o.Environ)
		if problems := pod.Check(); len(problems) > 0 {
			s.podProblem = &StartError{Msg: "its pod: " + problems[0].String(), Help: "set it in [session.k8s], or in k8s of the agent", Key: "k8s"}
		}
		cfg.FingerprintExtra = config.PodIdentity(pod)
	} else {
		cfg.BaseEnv = config.Inherit(o.Environ, slices.Concat(c.Daemon.InheritEnv, r.InheritEnv))
	}
	if err := s.addACP(&cfg, o); err != nil {
		return cfg, err
	}
	if s.stagesHooks(&cfg) {
		cfg.FingerprintExtra = append(cfg.FingerprintExtra, "hooks") // as for MCP servers: a relaunch stages nothing
	}
	s.Hashes, s.Digest = hashes(cfg), digest(r, cfg)
	return cfg, s.addOthers(cfg, o)
}

// addOthers computes the core hashes of OtherLevels.
func (s *Spec) addOthers(cfg runtime.Config, o BuildOptions) (err error) {
	s.others = make(map[string]string, len(s.Resolved.OtherLevels))
	for level, l := range s.Resolved.OtherLevels {
		other := *s
		other.Resolved.PermissionArgs, other.Resolved.PermissionEnv = l.Args, l.Env
		if cfg.Command, err = other.command(); err != nil {
			return err
		}
		cfg.Env = other.environment(o)
		s.others[runtime.CoreHash(cfg)] = level
	}
	return nil
}

// Current reports whether a session started with this core hash runs what the
// config specifies. An inherited permission level does not count: a changed
// default takes effect with the next start.
func (s *Spec) Current(core string) bool {
	_, other := s.others[core]
	return other || core == s.Hashes.Core
}

// Permissions returns the level of a session with this core hash, "" if
// unknown, and whether it may do anything without asking.
func (s *Spec) Permissions(core string) (level string, unchecked bool) {
	if core == "" || core == s.Hashes.Core {
		return s.Resolved.Permissions, s.Resolved.Unchecked
	}
	level = s.others[core]
	return level, level == config.PermissionsBypass
}

// dialog converts a [[dialogs]] entry for the runtime.
func dialog(d *config.Dialog) runtime.Dialog {
	out := runtime.Dialog{Name: d.Name, Detect: d.Detect, Options: d.Options, Wanted: d.Wanted, When: config.WhenStartup}
	if d.When == config.WhenReport {
		out.When = config.WhenReport
	}
	return out
}

// millis is a duration of city.toml, whose key has the unit.
func millis(n int) clock.Millis { return clock.Millis(time.Duration(n) * time.Millisecond) }

func (s *Spec) expandCommands(cfg *runtime.Config) error {
	r := &s.Resolved
	var err error
	if cfg.Command, err = s.command(); err != nil {
		return err
	}
	for _, list := range []struct {
		dst *[]string
		src []string
	}{{&cfg.PreStart, r.PreStart}, {&cfg.SessionSetup, r.SessionSetup}, {&cfg.SessionLive, r.SessionLive}} {
		if *list.dst, err = config.ExpandAll(list.src, s.vars); err != nil {
			return err
		}
	}
	if cfg.SessionSetupScript, err = config.Expand(r.SessionSetupScript, s.vars); err != nil {
		return err
	}
	cfg.Nudge, err = config.Expand(r.Nudge, s.vars)
	return err
}

// command returns the shell command line: the program, its permission flags,
// its args.
func (s *Spec) command() (string, error) {
	r := &s.Resolved
	line, err := config.Expand(r.Command, s.vars)
	if err != nil {
		return "", err
	}
	args, err := config.ExpandAll(r.Args, s.vars)
	if err != nil {
		return "", err
	}
	args = append(slices.Clone(r.PermissionArgs), args...)
	if line == "" && len(args) > 0 {
		line = `"${SHELL:-/bin/sh}"`
	}
	for _, a := range args {
		line += " " + shell.Word(a)
	}
	return line, nil
}

// environment returns what the config sets, then the fixed variables;
// StartConfig adds those of the incarnation.
func (s *Spec) environment(o BuildOptions) map[string]string {
	env := s.Resolved.ConfiguredEnv(o.Environ)
	r := &s.Resolved
	maps.Copy(env, map[string]string{
		"GC_SESSION_NAME": s.Session, "GC_AGENT": r.Name, "GC_CITY": s.City.Dir, "GC_CITY_PATH": s.City.Dir, "GC_CITY_NAME": s.City.Name(),
		"GC_DIR": s.vars.WorkDir, "GC_TEMPLATE": r.Template,
	})
	if o.Bin != "" {
		env["GC_BIN"] = o.Bin
	}
	if r.Rig != "" {
		env["GC_RIG"], env["GC_RIG_ROOT"] = r.Rig, r.RigRoot
	}
	return env
}

// elsewhere reports whether the agent runs on a machine that cannot read files of this one.
func (s *Spec) elsewhere() bool { return s.Host() != "" }

// StartConfig returns the Config of one incarnation, with its prompt and
// variables. A missing work directory is an error with a hint.
func (s *Spec) StartConfig(inst Instance) (runtime.Config, error) {
	cfg := s.Config
	if s.podProblem != nil {
		return cfg, s.podProblem
	}
	if err := s.checkWorkDir(); err != nil {
		return cfg, err
	}
	cfg.Env = maps.Clone(cfg.Env)
	cfg.Env["GC_SESSION_ID"] = inst.ID
	cfg.Env["GC_RUNTIME_EPOCH"] = strconv.FormatInt(inst.Epoch, 10)
	cfg.Env["GC_INSTANCE_TOKEN"] = inst.Token
	if city, ok := config.ReadIdentity(s.City.Dir); ok {
		cfg.Env["GC_CITY_ID"] = city.ID
	}
	if err := s.startHooks(&cfg); err != nil {
		return cfg, err
	}
	if err := s.startServers(&cfg); err != nil {
		return cfg, err
	}
	cfg.Command = s.converse(cfg.Command, inst)
	if inst.Resume {
		cfg.Composer.Resumed = s.Resolved.ResumedLines
	}
	if err := s.startACP(&cfg, inst); err != nil {
		return cfg, err
	}
	return cfg, s.addPrompt(&cfg, inst)
}

// Mark writes the metadata that identifies a started session: its owner and
// what it was started with.
//
// The config hash is written last, by itself: if it is there, so are the
// others, which are written concurrently so that a backend that stores them on
// disk can batch them.
func (s *Spec) Mark(ctx context.Context, p runtime.Provider, inst Instance) error {
	keys := [...][2]string{
		{MetaCityPath, s.City.Dir}, {MetaAgent, s.Name()}, {MetaSessionID, inst.ID},
		{MetaEpoch, strconv.FormatInt(inst.Epoch, 10)}, {MetaToken, inst.Token},
		{MetaLaunchHash, s.Hashes.Launch}, {MetaProvisionHash, s.Hashes.Provision}, {MetaLiveHash, s.Hashes.Live},
	}
	var wg sync.WaitGroup
	var errs [len(keys)]error
	for i, kv := range keys {
		wg.Go(func() { errs[i] = p.SetMeta(ctx, s.Session, kv[0], kv[1]) })
	}
	wg.Wait()
	err := errors.Join(errs[:]...)
	if err == nil {
		err = p.SetMeta(ctx, s.Session, MetaConfigHash, s.Hashes.Core)
	}
	if err != nil {
		return fmt.Errorf("mark %s: %w", s.Session, err)
	}
	return nil
}

// StartError is a start that cannot succeed until something is changed.
type StartError struct {
	Msg  string
	Help string
	Key  string // the agent's key that it is about, "" for none
}

func (e *StartError) Error() string { return e.Msg }

// Hint returns what to do.
func (e *StartError) Hint() string { return e.Help }

func (s *Spec) checkWorkDir() error {
	if dir := s.vars.WorkDir; s.Host() != "" && dir != "" && !filepath.IsAbs(dir) {
		return &StartError{Msg: fmt.Sprintf("work dir %s: must be absolute on another machine", dir), Help: "it comes from: " + s.Resolved.Origins["work_dir"].String(), Key: "work_dir"}
	}
	if s.elsewhere() || len(s.Resolved.PreStart) > 0 { // PreStart may create it
		return nil
	}
	st, err := os.Stat(s.vars.WorkDir)
	origin := s.Resolved.Origins["work_dir"]
	switch {
	case err == nil && !st.IsDir():
		return &StartError{Msg: fmt.Sprintf("work dir %s: not a directory", s.vars.WorkDir), Help: "it comes from: " + origin.String(), Key: "work_dir"}
	case err == nil:
		return nil
	case !errors.Is(err, os.ErrNotExist):
		return fmt.Errorf("work dir: %w", err)
	case origin.Source == config.OriginDir:
		return &StartError{
			Msg:  fmt.Sprintf("dir %q is neither a rig nor a directory of the city", s.Resolved.Dir),
			Help: fmt.Sprintf("gc rig add adds a rig; or create the directory %s, or set work_dir", s.vars.WorkDir), Key: "dir",
		}
	}
	return &StartError{
		Msg:  fmt.Sprintf("work dir %s does not exist", s.vars.WorkDir),
		Help: fmt.Sprintf("create the directory, or change work_dir of agent %s; it comes from: %s", s.Name(), origin), Key: "work_dir",
	}
}

// Package trust decides whether a city may run its own commands.
//
// Its invariant: a person decides, for one directory and for what runs there; a
// city that other users can write is never trusted. It serves the command line
// and the controller, and runs nothing.
package trust

import (
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"gascity.dev/gc/internal/config"
	"gascity.dev/gc/internal/shell"
	"gascity.dev/gc/runtime"
)

// scriptPrefix selects a session script as provider.
const scriptPrefix = "exec:"

// onPath stands for the content of a session script found on PATH.
const onPath = "on PATH"

// fileSum returns the hash of a file that runs; "" if it is unreadable.
func fileSum(path string) string {
	if !strings.ContainsRune(path, filepath.Separator) {
		return onPath
	}
	return runtime.HashPathContent(path)
}

// AddFile adds a file that runs by the caller's choice, not the city's.
func (v *Survey) AddFile(path string) {
	if sum := fileSum(path); sum != "" {
		v.Files[path] = sum
	}
}

// Survey lists what a city runs.
type Survey struct {
	City    string            `json:"city"`    // its directory
	Runs    []string          `json:"runs"`    // one line each, for a person
	Content string            `json:"content"` // hash of all of it
	Files   map[string]string `json:"files"`   // the files involved: absolute path → hash
	Nothing bool              `json:"-"`       // it runs nothing at all
}

// Inspect surveys a city. A *config.UnsafeError names a file that another user
// could have written.
func Inspect(c *config.City) (Survey, error) {
	s := &surveyor{city: c, Survey: Survey{City: c.Dir, Files: map[string]string{}}}
	s.hosts()
	if c.Notify.Command != "" {
		s.says("notify", c.Notify.Command)
	}
	for i := range c.Agents {
		r, err := c.Resolve(&c.Agents[i])
		if err != nil {
			return s.Survey, fmt.Errorf("agent %s: %w", c.Agents[i].QualifiedName(), err)
		}
		s.agent(&r)
	}
	if s.err != nil {
		return s.Survey, s.err
	}
	s.Nothing = len(s.Runs) == 0
	text, err := written(c)
	if err != nil {
		return s.Survey, err
	}
	h := sha256.New()
	fmt.Fprintf(h, "%d %s\n", len(text), text)
	for _, path := range slices.Sorted(maps.Keys(s.Files)) {
		fmt.Fprintf(h, "%q %s\n", path, s.Files[path])
	}
	s.Content = hex.EncodeToString(h.Sum(nil))
	return s.Survey, nil
}

type surveyor struct {
	Survey
	city *config.City
	err  error // for the first file that cannot be trusted
}

// hosts adds the session scripts.
func (s *surveyor) hosts() {
	of := &s.city.Session
	for _, p := range []string{of.Provider, of.Local, of.Remote} {
		s.host("sessions", p)
	}
}

func (s *surveyor) host(about, provider string) {
	script, ok := strings.CutPrefix(provider, scriptPrefix)
	if !ok {
		return
	}
	s.says(about, script)
	if !strings.ContainsRune(script, filepath.Separator) {
		s.Files[script] = onPath
		return
	}
	s.file(config.Place(s.city.Dir, script))
}

func (s *surveyor) agent(r *config.Resolved) {
	about := "agent " + r.Name
	command := cmp.Or(r.Command, "your shell")
	for _, a := range r.Args {
		command += " " + shell.Word(a)
	}
	s.says(about, command)
	far := config.IsHost(r.Session) // its commands name files of the other machine
	if !far {
		s.programs(r, r.Command)
	}
	ofCity := !strings.HasPrefix(r.Origins["acp_command"].Source, "preset ")
	if r.ACPCommand != "" && (ofCity || config.IsACP(r.Session) || r.Session == config.HostHybrid) {
		s.says(about+", over acp", r.ACPCommand)
		if !far {
			s.programs(r, r.ACPCommand)
		}
	}
	s.servers(r, about)
	if r.Session != s.city.Session.Provider {
		s.host(about+", sessions", r.Session)
	}
	for _, of := range []struct {
		key  string
		list []string
	}{
		{"pre_start", r.PreStart}, {"session_setup", r.SessionSetup}, {"session_setup_script", present(r.SessionSetupScript)},
		{"session_live", r.SessionLive}, {"pool", poolCommands(r.Pool)},
	} {
		for _, line := range of.list {
			s.says(about+", "+of.key, line)
			if !far || of.key == "pool" { // the controller runs a pool's check
				s.programs(r, line)
			}
		}
	}
	if r.Nudge != "" {
		s.says(about+", nudge", r.Nudge)
	}
	for _, dir := range append(slices.Clone(r.PackOverlays), present(r.OverlayDir)...) {
		s.file(config.Place(s.city.Dir, dir))
	}
	for _, f := range r.CopyFiles {
		s.file(config.Place(s.city.Dir, f.Src))
	}
	for _, path := range append(slices.Clone(r.Fragments), present(r.PromptTemplate)...) {
		s.check(config.Place(s.city.Dir, path))
	}
}

// servers adds the MCP servers that the agent runs, or sends what it works on.
func (s *surveyor) servers(r *config.Resolved, about string) {
	for _, name := range r.MCPServers {
		m, ok := s.city.MCPServer(name)
		switch {
		case !ok: // gc's own
		case m.URL != "":
			s.says(about+", MCP server "+name, redacted(m.URL))
		default:
			line := m.Command
			for _, a := range m.Args {
				line += " " + shell.Word(a)
			}
			s.says(about+", MCP server "+name, line)
			s.programs(r, line)
		}
	}
}

// redacted returns an address without its password.
func redacted(address string) string {
	u, err := url.Parse(address)
	if err != nil {
		return address
	}
	return u.Redacted()
}

func present(text string) []string {
	if text == "" {
		return nil
	}
	return []string{text}
}

func poolCommands(p *config.Pool) []string {
	if p == nil || p.Max == 0 {
		return nil
	}
	return slices.DeleteFunc([]string{p.Check, p.OnBoot, p.OnDeath}, func(c string) bool { return c == "" })
}

func (s *surveyor) says(about, text string) {
	line := about + ": " + text
	if !slices.Contains(s.Runs, line) {
		s.Runs = append(s.Runs, line)
	}
}

// programs adds the files that a command line runs: those named by a path, and
// the script after an interpreter. Programs on PATH are the user's.
func (s *surveyor) programs(r *config.Resolved, line string) {
	previous := ""
	for _, word := range strings.FieldsFunc(line, func(c rune) bool { return strings.ContainsRune(" \t\n;&|()<>\"'`", c) }) {
		s.program(r, word, reads[filepath.Base(previous)])
		if !strings.HasPrefix(word, "-") {
			previous = word
		}
	}
}

// reads are programs that run the file they are given.
var reads = map[string]bool{
	"sh": true, "bash": true, "dash": true, "zsh": true, "ksh": true, ".": true, "source": true,
	"python": true, "python3": true, "node": true, "bun": true, "deno": true, "ruby": true, "perl": true, "php": true, "make": true,
}

func (s *surveyor) program(r *config.Resolved, word string, script bool) {
	if strings.Contains(word, "{{") || !script && !strings.ContainsRune(word, filepath.Separator) {
		return
	}
	for _, base := range []string{config.Place(s.city.Dir, r.WorkDir), s.city.Dir} {
		path := config.Place(base, word)
		st, err := os.Stat(path)
		if err != nil || !st.Mode().IsRegular() || !script && st.Mode()&0o111 == 0 {
			continue
		}
		if in, err := filepath.Rel(s.city.Dir, path); err == nil && filepath.IsLocal(in) {
			s.file(path)
		} else {
			s.check(path)
		}
		return
	}
}

// file adds the content of a file or a directory.
func (s *surveyor) file(path string) {
	if strings.Contains(path, "{{") || s.Files[path] != "" {
		return
	}
	s.check(path)
	s.AddFile(path)
}

// check rejects what another user could have written.
func (s *surveyor) check(path string) {
	if s.err != nil || strings.Contains(path, "{{") {
		return
	}
	if s.err = config.CheckOwner(path); s.err != nil {
		return
	}
	if st, err := os.Stat(path); err != nil || !st.IsDir() {
		return
	}
	err := filepath.WalkDir(path, func(p string, _ fs.DirEntry, err error) error {
		if err == nil {
			err = config.CheckOwner(p)
		}
		return err
	})
	var unsafe *config.UnsafeError
	if errors.As(err, &unsafe) {
		s.err = unsafe
	}
}

// written returns the parts of city.toml that can affect what runs, in a form
// that newer versions reproduce.
func written(c *config.City) ([]byte, error) {
	clone := *c
	clone.Dir, clone.File, clone.Where = "", "", config.Where{}
	clone.Attach = config.Attach{}
	clone.API, clone.StatusRules, clone.LimitRules = config.API{}, nil, nil
	clone.Daemon = config.Daemon{InheritEnv: c.Daemon.InheritEnv}
	clone.Notify = config.Notify{Command: c.Notify.Command}
	clone.Workspace.Name, clone.Workspace.SessionTemplate, clone.Workspace.Suspended = "", "", false
	clone.Session.Size, clone.Session.DetachKeys = config.Size{}, ""
	clone.Session.ScrollbackLines, clone.Session.ScrollbackBytes = 0, 0
	clone.Session.SetupTimeout, clone.Session.StartupTimeout = 0, 0
	clone.Session.ACP.HandshakeTimeout, clone.Session.ACP.AskTimeout = 0, 0
	clone.AgentDefaults.Care = config.Care{}
	clone.Agents = slices.Clone(c.Agents)
	for i := range clone.Agents {
		a := &clone.Agents[i]
		a.Description, a.Suspended, a.DependsOn, a.IdleTimeout, a.Attach = "", false, nil, 0, nil
		a.ReadyPromptPrefix, a.ReadyDelayMS, a.ProcessNames = "", 0, nil
		a.ReportsStatus, a.InterruptKeys, a.Care = false, nil, config.Care{}
	}
	b, err := json.Marshal(clone)
	var tree any
	if err == nil {
		err = json.Unmarshal(b, &tree)
	}
	if err == nil {
		b, err = json.Marshal(pruned(tree))
	}
	if err != nil {
		return nil, fmt.Errorf("what the city runs: %w", err)
	}
	return b, nil
}

// pruned drops empty values and their positions in the file; nil if nothing is
// left.
func pruned(v any) any {
	switch v := v.(type) {
	case map[string]any:
		for k, one := range v {
			if one = pruned(one); one == nil || k == "At" || k == "Keys" {
				delete(v, k)
			} else {
				v[k] = one
			}
		}
		if len(v) > 0 {
			return v
		}
	case []any:
		for i := range v {
			v[i] = pruned(v[i])
		}
		if len(v) > 0 {
			return v
		}
	case string:
		if v != "" {
			return v
		}
	case bool:
		if v {
			return v
		}
	case float64:
		if v != 0 {
			return v
		}
	}
	return nil
}

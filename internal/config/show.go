package config

import (
	"fmt"
	"io"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"time"
)

// Shown is the resolved config with the origin of each value, for `gc config
// show`; its JSON is stable.
type Shown struct {
	File   string       `json:"file"`
	City   []ShownValue `json:"city"`
	Agents []ShownAgent `json:"agents"`
}

// ShownAgent is one agent, or one pool.
type ShownAgent struct {
	Name   string       `json:"name"`
	Values []ShownValue `json:"values"`
}

// ShownValue is one value. Commands still contain their templates, and $VAR in
// a provider's env is not expanded.
type ShownValue struct {
	Key    string `json:"key"`
	Value  any    `json:"value"`
	Origin string `json:"origin"` // "default", "agent (city.toml:12)", "preset claude (presets.toml:5)"
}

// Show resolves everything. Agents are in file order; names, if given, select
// some. The environment is the caller's, which overrides some keys.
func Show(c *City, environ []string, names ...string) (Shown, error) {
	out := Shown{File: c.File, City: append(c.shownTables(), c.shownK8s(environ)...)}
	for i := range c.Agents {
		a := &c.Agents[i]
		if len(names) > 0 && !slices.Contains(names, a.QualifiedName()) {
			continue
		}
		r, err := c.Resolve(a)
		if err != nil {
			return out, fmt.Errorf("agent %s: %w", a.QualifiedName(), err)
		}
		out.Agents = append(out.Agents, ShownAgent{Name: r.Name, Values: append(r.shown(), r.shownPods(c, environ)...)})
	}
	return out, nil
}

// shownTables lists the tables of the city as a whole.
func (c *City) shownTables() []ShownValue {
	var out []ShownValue
	file := filepath.Base(c.File)
	for _, t := range []struct {
		name  string
		value any
	}{{"workspace", c.Workspace}, {"agent_defaults", c.AgentDefaults}, {"session", c.Session}, {"daemon", c.Daemon}, {"notify", c.Notify}, {"api", c.API}, {"attach", c.Attach}} {
		out = append(out, tableValues(t.name, reflect.ValueOf(t.value), file)...)
	}
	for i := range c.Rigs {
		r := &c.Rigs[i]
		out = append(out, ShownValue{Key: "rigs." + r.Name, Value: c.path(r.Path), Origin: Origin{Source: "city", File: file, Line: r.At.Line}.String()})
	}
	for i := range c.MCPServers {
		out = append(out, c.MCPServers[i].shown(file)...)
	}
	return out
}

// tableValues lists the keys of a table in the order of its struct, without
// empty values that the file does not set.
func tableValues(prefix string, v reflect.Value, file string) []ShownValue {
	where, _ := v.FieldByName("Where").Interface().(Where)
	var out []ShownValue
	for i := range v.NumField() {
		key, _, _ := strings.Cut(v.Type().Field(i).Tag.Get("toml"), ",")
		if key == "" {
			continue
		}
		f := v.Field(i)
		if f.Type() == reflect.TypeFor[K8s]() {
			continue // see shownK8s
		}
		if f.Kind() == reflect.Struct && f.FieldByName("Where").IsValid() {
			out = append(out, tableValues(prefix+"."+key, f, file)...)
			continue
		}
		origin := Origin{Source: "default"}
		if where.Has(key) {
			origin = Origin{Source: prefix, File: file, Line: where.Place(key).Line}
		} else if f.IsZero() {
			continue
		}
		out = append(out, ShownValue{Key: prefix + "." + key, Value: shownValue(f.Interface()), Origin: origin.String()})
	}
	return out
}

// shownValue spells durations and sizes as in the file.
func shownValue(v any) any {
	switch v := v.(type) {
	case time.Duration:
		return v.String()
	case Size:
		return v.String()
	}
	return v
}

// shown lists what an agent runs with, without empty values that are not set.
func (r *Resolved) shown() []ShownValue {
	command := r.Command
	if command == "" {
		command = "(the user's shell)"
	}
	commandKey := "command"
	if _, ok := r.Origins["start_command"]; ok {
		commandKey = "start_command"
	}
	all := []ShownValue{
		{Key: "provider", Value: r.Provider}, {Key: commandKey, Value: command}, {Key: "args", Value: r.Args},
		{Key: "permissions", Value: r.Permissions}, {Key: "permissions.args", Value: r.PermissionArgs},
		{Key: "work_dir", Value: r.WorkDir}, {Key: "description", Value: r.Description}, {Key: "suspended", Value: r.Suspended},
		{Key: "session", Value: r.Session}, {Key: "prompt_mode", Value: r.PromptMode}, {Key: "prompt_flag", Value: r.PromptFlag},
		{Key: "prompt_template", Value: r.PromptTemplate}, {Key: "global_fragments", Value: r.Fragments}, {Key: "nudge", Value: r.Nudge},
		{Key: "ready_prompt_prefix", Value: r.ReadyPromptPrefix}, {Key: "ready_delay_ms", Value: r.ReadyDelayMS},
		{Key: "reports_status", Value: r.ReportsStatus}, {Key: "interrupt_keys", Value: r.InterruptKeys},
		{Key: "inherit_env", Value: r.InheritEnv}, {Key: "process_names", Value: r.ProcessNames}, {Key: "emits_permission_warning", Value: r.EmitsPermissionWarning},
		{Key: "accept_startup_dialogs", Value: r.AcceptStartupDialogs}, {Key: "supports_acp", Value: r.SupportsACP},
		{Key: "supports_hooks", Value: r.SupportsHooks}, {Key: "instructions_file", Value: r.InstructionsFile},
		{Key: "resume_flag", Value: r.ResumeFlag}, {Key: "resume_style", Value: r.ResumeStyle}, {Key: "session_id_flag", Value: r.SessionIDFlag},
		{Key: "conversation_dir", Value: r.ConversationDir}, {Key: "conversation_files", Value: r.ConversationFiles}, {Key: "conversation_from", Value: r.ConversationFrom},
		{Key: "text_commands", Value: r.TextCommands}, {Key: "text_words", Value: r.TextWords}, {Key: "text_openers", Value: r.TextOpeners},
		{Key: "resumed_lines", Value: r.ResumedLines},
		{Key: "text_mark", Value: r.TextMark}, {Key: "clear_keys", Value: r.ClearKeys},
		{Key: "pre_start", Value: r.PreStart}, {Key: "session_setup", Value: r.SessionSetup},
		{Key: "session_setup_script", Value: r.SessionSetupScript}, {Key: "session_live", Value: r.SessionLive},
		{Key: "overlay_dir", Value: r.OverlayDir}, {Key: "overlay_provider", Value: r.OverlayProvider},
		{Key: "pack_overlays", Value: r.PackOverlays}, {Key: "install_agent_hooks", Value: r.InstallAgentHooks},
		{Key: "copy_files", Value: copyNames(r.CopyFiles)}, {Key: "mouse", Value: r.Mouse}, {Key: "upstream", Value: r.Upstream},
		{Key: "mcp_servers", Value: r.MCPServers}, {Key: "lifecycle", Value: r.Lifecycle}, {Key: "idle_timeout", Value: r.IdleTimeout},
		{Key: "depends_on", Value: r.DependsOn}, {Key: "wake_mode", Value: r.WakeMode}, {Key: "mail", Value: r.Mail}, {Key: "hooks", Value: r.Hooks}, {Key: "attach", Value: r.Attach},
		{Key: "record", Value: r.Record},
	}
	if p := r.Pool; p != nil {
		all = append(all, ShownValue{Key: "pool", Value: fmt.Sprintf("min %d, max %d, check %q, drain %v", p.Min, p.Max, p.Check, p.DrainTimeout)})
	}
	all = append(all, r.shownCare()...)
	all = append(all, r.shownACP()...)
	out := make([]ShownValue, 0, len(all))
	for _, v := range all {
		o, set := r.Origins[v.Key]
		if !set && reflect.ValueOf(v.Value).IsZero() {
			continue
		}
		if !set {
			o = Origin{Source: "default"}
		}
		v.Value, v.Origin = shownValue(v.Value), o.String()
		out = append(out, v)
	}
	return append(out, r.shownEnv()...)
}

// shown lists a server's keys, each variable and header by itself.
func (s *MCPServer) shown(file string) []ShownValue {
	prefix := "mcp_servers." + s.Name
	var out []ShownValue
	for _, v := range tableValues(prefix, reflect.ValueOf(*s), file) {
		m, ok := v.Value.(map[string]string)
		if !ok {
			out = append(out, v)
			continue
		}
		for _, k := range sortedKeys(m) {
			out = append(out, ShownValue{Key: v.Key + "." + k, Value: m[k], Origin: v.Origin})
		}
	}
	return out
}

// shownACP lists how the agent is hosted over ACP; nothing if it is not.
func (r *Resolved) shownACP() []ShownValue {
	if !IsACP(r.Session) {
		return nil
	}
	a := &r.ACP
	return []ShownValue{
		{Key: "acp_command", Value: r.ACPCommand}, {Key: "acp.auth", Value: a.Auth}, {Key: "acp.permission", Value: a.Permission},
		{Key: "acp.allow", Value: a.Allow}, {Key: "acp.deny", Value: a.Deny}, {Key: "acp.mode", Value: a.Mode}, {Key: "acp.model", Value: a.Model},
		{Key: "acp.fs", Value: a.FS}, {Key: "acp.terminal", Value: a.Terminal}, {Key: "acp.record", Value: a.Record},
		{Key: "acp.handshake_timeout", Value: a.HandshakeTimeout}, {Key: "acp.ask_timeout", Value: a.AskTimeout},
	}
}

func (r *Resolved) shownEnv() []ShownValue {
	env := map[string]string{}
	for k, v := range r.ProviderEnv {
		env[k] = v
	}
	for k, v := range r.AgentEnv {
		env[k] = v
	}
	var out []ShownValue
	for _, k := range sortedKeys(r.PermissionEnv) {
		out = append(out, ShownValue{Key: "permissions.env." + k, Value: r.PermissionEnv[k], Origin: r.Origins["permissions.args"].String()})
	}
	for _, k := range sortedKeys(env) {
		out = append(out, ShownValue{Key: "env." + k, Value: env[k], Origin: r.Origins["env."+k].String()})
	}
	return out
}

func copyNames(list []CopyFile) []string {
	var out []string
	for _, f := range list {
		out = append(out, f.Src+" -> "+f.Dst)
	}
	return out
}

// WriteText writes it for people, one value per line, in columns.
func (s Shown) WriteText(w io.Writer) error {
	var b strings.Builder
	fmt.Fprintf(&b, "%s\n", s.File)
	writeValues(&b, s.City)
	for _, a := range s.Agents {
		fmt.Fprintf(&b, "\nagent %s\n", a.Name)
		writeValues(&b, a.Values)
	}
	_, err := io.WriteString(w, b.String())
	return err
}

func writeValues(b *strings.Builder, list []ShownValue) {
	const most = 60
	keys, values := 0, 0
	text := make([]string, len(list))
	for i, v := range list {
		text[i] = plain(v.Value)
		keys = max(keys, len(v.Key))
		values = max(values, min(len([]rune(text[i])), most))
	}
	for i, v := range list {
		pad := max(0, values-len([]rune(text[i])))
		fmt.Fprintf(b, "  %-*s  %s%s  # %s\n", keys, v.Key, text[i], strings.Repeat(" ", pad), v.Origin)
	}
}

// plain returns a value on one line, without control characters.
func plain(v any) string {
	switch v := v.(type) {
	case string:
		if v == "" || badText(v) || strings.ContainsAny(v, `"#`) {
			return fmt.Sprintf("%q", v)
		}
		return v
	case []string:
		parts := make([]string, len(v))
		for i, s := range v {
			parts[i] = fmt.Sprintf("%q", s)
		}
		return "[" + strings.Join(parts, ", ") + "]"
	case *bool:
		if v != nil {
			return fmt.Sprint(*v)
		}
		return "unset"
	}
	return fmt.Sprint(v)
}

package agent

import (
	"cmp"
	"fmt"
	"strings"

	"gascity.dev/gc/internal/config"
	"gascity.dev/gc/runtime"
)

// HostedBy returns the provider that hosts the agent's session, if selected is the
// city's provider or a router.
func (s *Spec) HostedBy(selected string) string {
	return s.City.HostedBy(selected, s.Session, s.Resolved.Session)
}

// OverACP reports whether the agent is hosted over the Agent Client Protocol, as far
// as the config says.
func (s *Spec) OverACP() bool { return config.IsACP(s.HostedBy(s.Resolved.Session)) }

// InstallHint is what to do when the agent's program was not found.
func (s *Spec) InstallHint() string {
	if !s.OverACP() {
		return "check start_command (command) and PATH"
	}
	if how := s.Resolved.ACPInstall; how != "" {
		return how + "; or change acp_command or PATH"
	}
	return "install it, or change acp_command or PATH"
}

// addACP sets how the agent is hosted over ACP, with the MCP servers: what belongs to
// the fingerprint.
func (s *Spec) addACP(cfg *runtime.Config, o BuildOptions) error {
	if err := s.addServers(cfg, o); err != nil {
		return err
	}
	over := s.OverACP()
	if !over && (o.Provider == "" || !config.IsACP(s.HostedBy(o.Provider))) {
		return nil
	}
	a, err := s.acp()
	if err != nil {
		return err
	}
	if a == nil { // config cannot check it: hybrid depends on the session's name
		help := `add acp_command = "PROGRAM ARGS" to the agent or its provider`
		if !over {
			help += ", or unset GC_SESSION"
		}
		return &StartError{
			Msg:  fmt.Sprintf("its session %s is hosted over acp, but there is no acp_command", s.Session),
			Help: help, Key: "acp_command",
		}
	}
	if over {
		cfg.ACP = a
	}
	cfg.ProcessNames = nil // the host is the session's program: it outlives the agent's, whose end it reports
	return nil
}

// acp returns how the agent would be hosted over ACP, nil if its program has no ACP
// mode.
func (s *Spec) acp() (*runtime.ACP, error) {
	r := &s.Resolved
	command, err := config.Expand(r.ACPCommand, s.vars)
	if err != nil || command == "" {
		return nil, err
	}
	a := &r.ACP
	return &runtime.ACP{
		Command: command, Auth: a.Auth, Permission: a.Permission, Allow: a.Allow, Deny: a.Deny,
		Mode: a.Mode, Model: a.Model, FS: a.FS, Terminal: a.Terminal, Record: a.Record,
		HandshakeTimeout: a.HandshakeTimeout, AskTimeout: a.AskTimeout,
	}, nil
}

// startACP completes an incarnation's config for a provider that speaks ACP: also for
// an agent that is hosted so by GC_SESSION, not by the config.
func (s *Spec) startACP(cfg *runtime.Config, inst Instance) error {
	a := cfg.ACP
	if a == nil {
		var err error
		if a, err = s.acp(); err != nil || a == nil {
			return err
		}
	}
	own := *a
	if v := s.Resolved.ACPAuthIf; v != "" && cmp.Or(cfg.Env[v], cfg.BaseEnv[v]) == "" {
		own.Auth = ""
	}
	cfg.ACP = &own
	if inst.Resume {
		cfg.ResumeID = inst.Conversation
	}
	return nil
}

// addMessage sets the first message for a provider that delivers it itself: beacon
// and text apart, if there are both.
func addMessage(cfg *runtime.Config, prompt, beacon string) {
	cfg.Prompt = prompt
	if text, ok := strings.CutPrefix(prompt, beacon+"\n\n"); ok {
		cfg.Prompt, cfg.StartupEnvelope = text, beacon
	}
}

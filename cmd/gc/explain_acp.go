package main

import (
	"cmp"
	"fmt"
	"strconv"
	"strings"
	"time"

	"gascity.dev/gc/cmd/gc/internal/display"
	"gascity.dev/gc/internal/agent"
	"gascity.dev/gc/internal/config"
	"gascity.dev/gc/runtime"
)

// explainedACP is how an agent is hosted over ACP, and what it does without asking.
type explainedACP struct {
	Command    string   `json:"command"`
	Mode       string   `json:"mode,omitempty"` // that it is in, or will be
	Model      string   `json:"model,omitempty"`
	Permission string   `json:"permission"`
	Allow      []string `json:"allow,omitempty"`
	Deny       []string `json:"deny,omitempty"`
	Asks       bool     `json:"asks"`                  // it asks before it acts
	Why        string   `json:"why,omitempty"`         // why it may not
	AskTimeout string   `json:"ask_timeout,omitempty"` // a question open for so long is rejected
}

// explainedServer is an MCP server of the agent. Its environment is a secret.
type explainedServer struct {
	Name   string `json:"name"`
	Passed bool   `json:"passed"` // the agent gets it
	How    string `json:"how"`    // how, or why not
}

// explainConfig adds what the config says about ACP and MCP servers.
func (e *explained) explainConfig(s *agent.Spec) {
	r := &s.Resolved
	if acp := s.Config.ACP; acp != nil {
		x := &explainedACP{
			Command: acp.Command, Mode: acp.Mode, Model: acp.Model,
			Permission: acp.Permission, Allow: acp.Allow, Deny: acp.Deny,
		}
		if acp.AskTimeout > 0 {
			x.AskTimeout = acp.AskTimeout.String()
		}
		if e.Activity != nil { // gc agent set may have changed them
			x.Mode, x.Model = cmp.Or(e.Activity.Mode, x.Mode), cmp.Or(e.Activity.Model, x.Model)
		}
		x.Asks, x.Why = r.Asks(x.Mode)
		e.ACP = x
	}
	for _, name := range r.MCPServers {
		how := serverWays[r.MCPStyle]
		if s.OverACP() {
			how = "over acp"
		}
		e.MCPServers = append(e.MCPServers, explainedServer{
			Name: name, Passed: how != "", How: cmp.Or(how, "its program takes none from its command line"),
		})
	}
}

// serverWays are how programs on a terminal get their MCP servers.
var serverWays = map[string]string{
	config.MCPByFile: "--mcp-config", config.MCPByCodex: "-c mcp_servers", config.MCPByOpenCode: "OPENCODE_CONFIG_CONTENT",
}

// addACP adds the facts about an agent over ACP, and its MCP servers.
func (e *explained) addACP(facts *display.Table, now time.Time) {
	if x := e.ACP; x != nil {
		facts.Add("hosted by", "acp: "+x.Command)
		mode := cmp.Or(x.Mode, "its own default")
		if x.Asks {
			mode += ": it asks before it acts"
		} else {
			mode += ": it may act without asking: " + x.Why
		}
		facts.Add("mode", mode)
		if x.Model != "" {
			facts.Add("model", x.Model)
		}
		facts.Add("policy", x.policy()+"; it covers only what the agent asks, and is not a sandbox")
	}
	if e.Activity != nil {
		addUsage(facts, e.Activity, now)
	}
	for _, m := range e.MCPServers {
		how := m.How
		if !m.Passed {
			how = "not passed: " + how
		}
		facts.Add("MCP server", m.Name+", "+how)
	}
}

// policy is "deny delete, execute:rm *; allow read; else ask".
func (x *explainedACP) policy() string {
	var parts []string
	if len(x.Deny) > 0 {
		parts = append(parts, "deny "+strings.Join(x.Deny, ", "))
	}
	if len(x.Allow) > 0 {
		parts = append(parts, "allow "+strings.Join(x.Allow, ", "))
	}
	rest := x.Permission
	if len(parts) > 0 {
		rest = "else " + rest
	}
	parts = append(parts, rest)
	if x.AskTimeout != "" {
		parts = append(parts, "a question is rejected after "+x.AskTimeout)
	}
	return strings.Join(parts, "; ")
}

// addUsage adds what the conversation has used, and how its last turn ended.
func addUsage(facts *display.Table, a *runtime.Activity, now time.Time) {
	if u := a.Usage; u != nil {
		if text := contextUsed(u); text != "" {
			facts.Add("context", text)
		}
		if u.Currency != "" {
			facts.Add("cost", strconv.FormatFloat(u.Cost, 'f', 4, 64)+" "+u.Currency)
		}
	}
	if t := a.LastTurn; t != nil {
		took := time.Duration(t.Duration).Round(100 * time.Millisecond)
		text := fmt.Sprintf("%s after %v", cmp.Or(t.Error, t.StopReason, "ended"), took)
		if !t.Ended.IsZero() {
			text += ", " + display.Ago(t.Ended, now) + " ago"
		}
		facts.Add("last turn", text)
	}
	if a.Notice != "" {
		facts.Add("notice", a.Notice)
	}
}

// contextUsed is "12000 of 200000 tokens"; "" if nothing is known.
func contextUsed(u *runtime.Usage) string {
	switch {
	case u.Size > 0:
		return fmt.Sprintf("%d of %d tokens", u.Used, u.Size)
	case u.Used > 0:
		return fmt.Sprintf("%d tokens", u.Used)
	}
	return ""
}

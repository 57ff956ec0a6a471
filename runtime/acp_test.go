package runtime_test

import (
	"testing"
	"time"

	"gascity.dev/gc/runtime"
)

func acpBase() runtime.Config {
	c := base()
	c.ACP = &runtime.ACP{Command: "agent --acp", Auth: "key", Permission: runtime.ACPAsk, Allow: []string{"read"}, Deny: []string{"delete"}}
	c.MCPServers = []runtime.MCPServer{
		{Name: runtime.MCPSelf, Type: runtime.MCPStdio, Command: "/bin/gc", Args: []string{"mcp"}},
		{Name: "db", Type: runtime.MCPStdio, Command: "db-mcp", Env: map[string]string{"DB_API_KEY": "old", "DB_HOST": "a"}},
		{Name: "web", Type: runtime.MCPHTTP, URL: "https://x/mcp", Headers: map[string]string{"Authorization": "old", "X-Team": "a"}},
	}
	return c
}

// What reaches the agent's process restarts the agent, not its box; credentials and
// what only the host uses restart nothing.
func TestFingerprintOfACP(t *testing.T) {
	for name, c := range map[string]struct {
		change   func(*runtime.Config)
		restarts bool
	}{
		"acp off":          {func(c *runtime.Config) { c.ACP = nil }, true},
		"acp command":      {func(c *runtime.Config) { c.ACP.Command = "agent --experimental-acp" }, true},
		"auth":             {func(c *runtime.Config) { c.ACP.Auth = "login" }, true},
		"permission":       {func(c *runtime.Config) { c.ACP.Permission = runtime.ACPDeny }, true},
		"permission unset": {func(c *runtime.Config) { c.ACP.Permission = "" }, false},
		"allow":            {func(c *runtime.Config) { c.ACP.Allow = append(c.ACP.Allow, "search") }, true},
		"deny":             {func(c *runtime.Config) { c.ACP.Deny = nil }, true},
		"rule moved":       {func(c *runtime.Config) { c.ACP.Allow, c.ACP.Deny = nil, []string{"read", "delete"} }, true},
		"mode":             {func(c *runtime.Config) { c.ACP.Mode = "plan" }, true},
		"model":            {func(c *runtime.Config) { c.ACP.Model = "plan" }, true},
		"fs":               {func(c *runtime.Config) { c.ACP.FS = true }, true},
		"terminal":         {func(c *runtime.Config) { c.ACP.Terminal = true }, true},
		"record":           {func(c *runtime.Config) { c.ACP.Record = true }, false},
		"handshake":        {func(c *runtime.Config) { c.ACP.HandshakeTimeout = time.Second }, false},
		"ask timeout":      {func(c *runtime.Config) { c.ACP.AskTimeout = time.Second }, false},
		"prompt":           {func(c *runtime.Config) { c.Prompt = "hi" }, false},
		"envelope":         {func(c *runtime.Config) { c.StartupEnvelope = "[city] a" }, false},
		"resume id":        {func(c *runtime.Config) { c.ResumeID = "s1" }, false},
		"no servers":       {func(c *runtime.Config) { c.MCPServers = nil }, true},
		"gc moved":         {func(c *runtime.Config) { c.MCPServers[0].Command = "/opt/gc" }, false},
		"gc env":           {func(c *runtime.Config) { c.MCPServers[0].Env = map[string]string{"GC_MUX_SOCKET": "/s"} }, false},
		"gc args":          {func(c *runtime.Config) { c.MCPServers[0].Args = nil }, true},
		"server command":   {func(c *runtime.Config) { c.MCPServers[1].Command = "other" }, true},
		"server env":       {func(c *runtime.Config) { c.MCPServers[1].Env["DB_HOST"] = "b" }, true},
		"server key":       {func(c *runtime.Config) { c.MCPServers[1].Env["DB_API_KEY"] = "new" }, false},
		"server key gone":  {func(c *runtime.Config) { delete(c.MCPServers[1].Env, "DB_API_KEY") }, true},
		"url":              {func(c *runtime.Config) { c.MCPServers[2].URL = "https://y/mcp" }, true},
		"server type":      {func(c *runtime.Config) { c.MCPServers[2].Type = runtime.MCPSSE }, true},
		"header":           {func(c *runtime.Config) { c.MCPServers[2].Headers["X-Team"] = "b" }, true},
		"header key":       {func(c *runtime.Config) { c.MCPServers[2].Headers["Authorization"] = "new" }, false},
	} {
		t.Run(name, func(t *testing.T) {
			a, b := acpBase(), acpBase()
			c.change(&b)
			core, launch := runtime.CoreHash(a) != runtime.CoreHash(b), runtime.LaunchHash(a) != runtime.LaunchHash(b)
			if core != c.restarts || launch != c.restarts {
				t.Errorf("core changed %v, launch changed %v, want %v", core, launch, c.restarts)
			}
			if runtime.ProvisionHash(a) != runtime.ProvisionHash(b) || runtime.LiveHash(a) != runtime.LiveHash(b) {
				t.Error("the provision or live half changed")
			}
		})
	}
}

// Hashes of agents that use none of this are in the metadata of running sessions:
// another value would restart them all at an upgrade.
func TestHashesOfOlderReleases(t *testing.T) {
	c := base()
	for _, h := range []struct{ name, got, want string }{
		{"core", runtime.CoreHash(c), "8dac89a4c9a452610f17373dbae4f15285bbbb1c1f0d77422488f18232459eca"},
		{"launch", runtime.LaunchHash(c), "e82736234f72521bc161ab71127e5b66746d200b154cd6cda2347309bb9181a8"},
	} {
		if h.got != h.want {
			t.Errorf("%s hash %s, want %s", h.name, h.got, h.want)
		}
	}
}

func TestFirstMessage(t *testing.T) {
	c := runtime.Config{StartupEnvelope: "[city] a"}
	if got := c.FirstMessage("do it"); got != "[city] a\n\ndo it" {
		t.Errorf("%q", got)
	}
	if got := c.FirstMessage(""); got != "" {
		t.Errorf("without a message: %q", got)
	}
	if got := (runtime.Config{}).FirstMessage("do it"); got != "do it" {
		t.Errorf("without an envelope: %q", got)
	}
}

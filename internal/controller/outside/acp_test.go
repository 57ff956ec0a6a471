package outside

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"gascity.dev/gc/internal/agent"
	"gascity.dev/gc/runtime/runtimefake"
)

func TestDoctorOfAgentsOverACP(t *testing.T) {
	dir := newCity(t, `
[session]
provider = "acp"
[[agents]]
name = "missing"
provider = "codex"
[[agents]]
name = "old"
provider = "gemini"
[[agents]]
name = "bold"
provider = "claude"
[agents.acp]
mode = "acceptEdits"
[[agents]]
name = "free"
provider = "claude"
[agents.acp]
mode = "bypassPermissions"
permission = "allow"
[[agents]]
name = "screen"
provider = "gemini"
session = "native"
mcp_servers = ["gc"]
`)
	bin := t.TempDir()
	for name, text := range map[string]string{
		"gemini": "#!/usr/bin/env node\n", "claude-agent-acp": "#!/bin/sh\n", "node": "#!/bin/sh\necho v20.20.2\n",
	} {
		if err := os.WriteFile(filepath.Join(bin, name), []byte(text), 0o700); err != nil {
			t.Fatal(err)
		}
	}
	got := Diagnose(t.Context(), dir, runtimefake.New(), agent.BuildOptions{Environ: []string{"PATH=" + bin, "HOME=/h"}})
	var text []string
	for _, f := range got {
		if f.Level != LevelOK {
			text = append(text, string(f.Level)+" "+f.About+": "+f.Text+" | "+f.Hint)
		}
	}
	all := strings.Join(text, "\n")
	for _, want := range []string{
		"problem agent missing: its acp_command codex-acp was not found | npm install -g @agentclientprotocol/codex-acp",
		"warning agent old: its program " + bin + "/gemini runs on " + bin + "/node v20.20.2; the current releases of such agents require 22",
		`warning agent bold: it may act without asking: in mode "acceptEdits" the agent may decide itself; it asks in mode "default" | its policy decides only`,
		`warning config: city.toml:27:1: agent "screen": mcp_servers has no effect: provider "gemini" takes no MCP servers`,
	} {
		if !strings.Contains(all, want) {
			t.Errorf("%q is missing in:\n%s", want, all)
		}
	}
	if len(text) != 4 {
		t.Errorf("findings:\n%s", all)
	}
}

package config

import (
	"encoding/json"
	"strings"
	"testing"
)

func TestShowNamesTheSourceOfEveryValue(t *testing.T) {
	s, err := Show(mustParse(t, layered), nil)
	if err != nil {
		t.Fatal(err)
	}
	var b strings.Builder
	if err := s.WriteText(&b); err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{
		"workspace.name", "daemon.patrol_interval", "30s", "# default", "session.size", "120x40",
		"agent web/one\n", `["--model", "big", "--more"]`, "# agent (city.toml:20)", "# preset claude (presets.toml:",
		"env.A", "# providers.mine (city.toml:10)", "rigs.web", "# rig web (city.toml:15)", "start_command",
	} {
		if !strings.Contains(b.String(), want) {
			t.Errorf("%q is missing in:\n%s", want, b.String())
		}
	}
	if strings.Contains(b.String(), "# \n") {
		t.Errorf("a value without origin:\n%s", b.String())
	}
	if _, err := json.Marshal(s); err != nil {
		t.Error(err)
	}
	one, err := Show(mustParse(t, layered), nil, "three")
	if err != nil || len(one.Agents) != 1 || one.Agents[0].Name != "three" {
		t.Errorf("one agent: %+v, %v", one.Agents, err)
	}
}

func TestRecordOfAgentsAndDefaults(t *testing.T) {
	c := mustParse(t, "[agent_defaults]\nrecord = true\n[[agents]]\nname = \"one\"\n[[agents]]\nname = \"two\"\nrecord = false\n")
	for i, want := range []bool{true, false} {
		r, err := c.Resolve(&c.Agents[i])
		if err != nil || r.Record != want || r.Origins["record"].Source == "" {
			t.Errorf("%s: %v, %+v, %v", r.Name, r.Record, r.Origins["record"], err)
		}
	}
}

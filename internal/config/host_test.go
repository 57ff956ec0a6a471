package config

import (
	"strings"
	"testing"
)

func TestSessionOnAnotherMachine(t *testing.T) {
	for name, want := range map[string]string{
		"ssh://build":            "",
		"acp+ssh://me@build":     "",
		"acp+ssh://":             "want ssh://[user@]HOST[:port]",
		"ssh://me@build.x:2222":  "",
		"ssh://me@[::1]:2222/":   "",
		"ssh://":                 "want ssh://[user@]HOST[:port]",
		"ssh://<host>":           "want ssh://[user@]HOST[:port]",
		"ssh://build/dir":        "want ssh://[user@]HOST[:port]",
		"ssh://build:0":          "no such port: 0",
		"ssh://-oProxyCommand=x": "a name does not start with -",
		"ssh://me:secret@build":  "a password here can be read by every process; use a key",
		"sshd://build":           "is not a session provider",
	} {
		_, err := Parse("city.toml", []byte("[workspace]\nname = \"t\"\n[[agents]]\nname = \"a\"\nstart_command = \"cat\"\nacp_command = \"cat\"\nsession = \""+name+"\"\n"))
		switch {
		case want == "" && err != nil:
			t.Errorf("%s: %v", name, err)
		case want != "" && (err == nil || !strings.Contains(err.Error(), want) || !strings.Contains(err.Error(), "city.toml:7")):
			t.Errorf("%s: %v", name, err)
		case err != nil && strings.Contains(err.Error(), "secret"):
			t.Errorf("%s: %v", name, err)
		}
	}
}

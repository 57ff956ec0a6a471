package agent

import (
	"regexp"
	"strings"
	"testing"
	"time"

	"gascity.dev/gc/runtime"
)

const talker = `
[providers.talker]
command = "talk --fast"
session_id_flag = "--session-id"
resume_flag = "resume"
[[agents]]
name = "a"
provider = "talker"
prompt_template = "do the work now"
`

var found = strings.Replace(talker, `session_id_flag = "--session-id"`, "conversation_from = \"opencode-log\"", 1)

func TestConversations(t *testing.T) {
	for _, tt := range []struct {
		name, toml   string
		inst         Instance
		want         string
		prompt, many bool // it begins with the prompt; it contains the text
	}{
		{"none", talker, Instance{}, "talk --fast", true, true},
		{"begun", talker, Instance{Conversation: "c1"}, "talk --fast --session-id c1", true, true},
		{"taken up", talker, Instance{Conversation: "c1", Resume: true}, "talk --fast resume c1", false, false},
		{"taken up by a subcommand", strings.Replace(talker, "[[agents]]", "resume_style = \"subcommand\"\n[[agents]]", 1),
			Instance{Conversation: "c1", Resume: true}, "talk resume c1 --fast", false, false},
		{"found later", found, Instance{}, "talk --fast", true, true},
		{"found and taken up", found, Instance{Conversation: "c1", Resume: true}, "talk --fast resume c1", false, false},
	} {
		s := specs(t, t.TempDir(), tt.toml)[0]
		tt.inst.At = time.Unix(0, 0)
		cfg, err := s.StartConfig(tt.inst)
		if err != nil {
			t.Fatal(err)
		}
		if cfg.Command != tt.want || (cfg.PromptSuffix != "") != tt.prompt || strings.Contains(cfg.PromptSuffix, "do the work") != tt.many {
			t.Errorf("%s: %q, prompt %q", tt.name, cfg.Command, cfg.PromptSuffix)
		}
		if runtime.CoreHash(s.Config) != s.Hashes.Core {
			t.Errorf("%s: the conversation is in the hash", tt.name)
		}
	}
}

func TestWhoResumes(t *testing.T) {
	for toml, want := range map[string]bool{
		talker:                                true,
		talker + "wake_mode = \"fresh\"\n":    false,
		talker + "lifecycle = \"one_shot\"\n": false,
		found:                                 true,
		strings.Replace(talker, "session_id_flag", "instructions_file", 1): false,
	} {
		if got := specs(t, t.TempDir(), toml)[0].Resumes("native"); got != want {
			t.Errorf("%v, want %v for %s", got, want, toml)
		}
	}
	if of := specs(t, t.TempDir(), "[[agents]]\nname = \"a\"\nprovider = \"pi\"\nacp_command = \"pi-acp\"\nsession = \"acp\"\n")[0]; !of.Resumes("acp") || of.Resumes("native") {
		t.Error("over acp the agent keeps its conversations itself, whatever flags its program has on a terminal")
	}
	form := regexp.MustCompile("^[0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$")
	a, b := NewConversation(), NewConversation()
	if !form.MatchString(a) || a == b {
		t.Errorf("%s, %s", a, b)
	}
}

package policy_test

import (
	"strings"
	"testing"

	"pgregory.net/rapid"

	"gascity.dev/gc/internal/acp/conversation"
	"gascity.dev/gc/internal/acp/policy"
)

const workDir = "/project"

func mustNew(t rapid.TB, c policy.Config) *policy.Policy {
	t.Helper()
	if c.WorkDir == "" {
		c.WorkDir = workDir
	}
	p, err := policy.New(c)
	if err != nil {
		t.Fatal(err)
	}
	return p
}

func permission(tool conversation.Tool, options ...conversation.Option) conversation.Question {
	return conversation.Question{ID: "1-1", Kind: "permission", Title: tool.Title, Tool: &tool, Options: options}
}

func option(id, label, kind string) conversation.Option {
	return conversation.Option{ID: id, Label: label, Kind: kind}
}

// Requests as real agents send them.
var requests = map[string]conversation.Question{
	"claude": permission(
		conversation.Tool{Kind: "execute", Title: "touch probe-1", Command: "touch probe-1", Output: "probe", Locations: []string{"/project/probe-1"}},
		option("allow-once", "Yes", "allow_once"), option("reject", "No", "reject_once")),
	"claude, with always": permission(
		conversation.Tool{Kind: "execute", Title: "steer", Command: "steer", Output: "probe"},
		option("allow-once", "Yes", "allow_once"),
		option("allow-with-updates", "Yes, and don't ask again for steer commands", "allow_always"),
		option("reject", "No", "reject_once")),
	"codex": permission(
		conversation.Tool{Kind: "execute", Title: "touch probe-1", Command: "touch probe-1"},
		option("allow_once", "Yes, proceed", "allow_once"),
		option("accept_execpolicy_amendment", "Yes, and don't ask again for commands that start with `touch probe-1`", "allow_always"),
		option("cancel", "No, and tell Codex what to do differently", "reject_once")),
	"gemini": permission(
		conversation.Tool{Kind: "execute", Title: "touch probe-1", Output: "[current working directory /project] (probe)"},
		option("proceed_always", "Allow for this session", "allow_always"),
		option("proceed_once", "Allow", "allow_once"),
		option("cancel", "Reject", "reject_once")),
	"opencode": permission(
		conversation.Tool{Kind: "execute", Title: "touch probe-1", Command: "touch probe-1"},
		option("once", "Allow once", "allow_once"), option("always", "Always allow", "allow_always"), option("reject", "Reject", "reject_once")),
	"qwen, end of plan mode": permission(
		conversation.Tool{Kind: "switch_mode", Title: "Ready to code?"},
		option("restore_previous", "Yes, restore previous mode (default)", "allow_once"),
		option("proceed_always", "Yes, and auto-accept edits", "allow_always"),
		option("proceed_once", "Yes, and manually approve edits", "allow_once"),
		option("cancel", "No, keep planning (esc)", "reject_once")),
	"sdk example": permission(
		conversation.Tool{Kind: "edit", Title: "Modifying critical configuration file", Locations: []string{"/home/user/project/config.json"}},
		option("allow", "Allow this change", "allow_once"), option("reject", "Skip this change", "reject_once")),
	"malformed peer": permission(conversation.Tool{}, option("a", "A", "allow_once")),
}

// brief is a decision in short: "ask", "cancelled" or the option's id.
func brief(d policy.Decision) string {
	if d.Answer == policy.AnswerOption {
		return d.OptionID
	}
	return string(d.Answer)
}

func TestRequestsOfRealAgents(t *testing.T) {
	policies := map[string]policy.Config{
		"default":    {},
		"ask":        {Permission: policy.Ask},
		"allow-read": {Permission: policy.AllowRead},
		"allow":      {Permission: policy.Allow},
		"deny":       {Permission: policy.Deny},
		"rules":      {Allow: []string{"execute:touch *", "edit:/home/user/**"}, Deny: []string{"execute:steer*"}},
	}
	for agent, want := range map[string]map[string]string{
		"claude":                 {"allow": "allow-once", "deny": "reject", "rules": "allow-once"},
		"claude, with always":    {"allow": "allow-once", "deny": "reject", "rules": "reject"},
		"codex":                  {"allow": "allow_once", "deny": "cancel", "rules": "allow_once"},
		"gemini":                 {"allow": "proceed_once", "deny": "cancel"}, // it sends no command
		"opencode":               {"allow": "once", "deny": "reject", "rules": "once"},
		"qwen, end of plan mode": {"deny": "cancel"},
		"sdk example":            {"allow": "allow", "deny": "reject", "rules": "allow"},
		"malformed peer":         {"allow": "a", "deny": "cancelled"},
	} {
		for name, c := range policies {
			expect := want[name]
			if expect == "" {
				expect = "ask"
			}
			if got := brief(mustNew(t, c).Decide(requests[agent])); got != expect {
				t.Errorf("%s under %s: %s, want %s", agent, name, got, expect)
			}
		}
	}
}

var yesNo = []conversation.Option{option("always", "Always", "allow_always"), option("yes", "Yes", "allow_once"), option("no", "No", "reject_once")}

func TestAllowRead(t *testing.T) {
	p := mustNew(t, policy.Config{Permission: policy.AllowRead})
	for _, c := range []struct {
		name string
		tool conversation.Tool
		want string
	}{
		{"below", conversation.Tool{Kind: "read", Locations: []string{"/project/a/b.go"}}, "yes"},
		{"hidden", conversation.Tool{Kind: "read", Locations: []string{"/project/.env"}}, "yes"},
		{"the directory itself", conversation.Tool{Kind: "search", Locations: []string{"/project"}}, "yes"},
		{"one of two outside", conversation.Tool{Kind: "read", Locations: []string{"/project/a", "/etc/passwd"}}, "ask"},
		{"a neighbour", conversation.Tool{Kind: "read", Locations: []string{"/project2/a"}}, "ask"},
		{"dot dot", conversation.Tool{Kind: "read", Locations: []string{"/project/../etc/passwd"}}, "ask"},
		{"dot dot that stays", conversation.Tool{Kind: "read", Locations: []string{"/project/link/../a"}}, "ask"},
		{"relative", conversation.Tool{Kind: "read", Locations: []string{"a"}}, "ask"},
		{"empty", conversation.Tool{Kind: "read", Locations: []string{""}}, "ask"},
		{"no location", conversation.Tool{Kind: "read"}, "ask"},
		{"a command called reading", conversation.Tool{Kind: "read", Command: "cat a | sh", Locations: []string{"/project/a"}}, "ask"},
		{"edit", conversation.Tool{Kind: "edit", Locations: []string{"/project/a"}}, "ask"},
		{"unknown kind", conversation.Tool{Kind: "peruse", Locations: []string{"/project/a"}}, "ask"},
	} {
		if got := brief(p.Decide(permission(c.tool, yesNo...))); got != c.want {
			t.Errorf("%s: %s, want %s", c.name, got, c.want)
		}
	}
}

// A rule's first match decides, and is named.
func TestRules(t *testing.T) {
	shell := func(command string) conversation.Tool { return conversation.Tool{Kind: "execute", Command: command} }
	edit := func(paths ...string) conversation.Tool { return conversation.Tool{Kind: "edit", Locations: paths} }
	for _, c := range []struct {
		name   string
		config policy.Config
		tool   conversation.Tool
		want   string
		rule   string
	}{
		{"deny before allow", policy.Config{Allow: []string{"execute"}, Deny: []string{"execute:git push*"}}, shell("git push -f"), "no", `deny "execute:git push*"`},
		{"allow before permission", policy.Config{Allow: []string{"execute:go test *"}, Permission: "deny"}, shell("go test ./..."), "yes", `allow "execute:go test *"`},
		{"permission last", policy.Config{Allow: []string{"execute:go test *"}, Permission: "deny"}, shell("go vet"), "no", `permission = "deny"`},
		{"kind alone", policy.Config{Deny: []string{"delete"}, Permission: "allow"}, conversation.Tool{Kind: "delete"}, "no", `deny "delete"`},
		{"relative pattern", policy.Config{Allow: []string{"edit:src/**"}}, edit("/project/src/a/b.go"), "yes", `allow "edit:src/**"`},
		{"every location", policy.Config{Allow: []string{"edit:src/**"}}, edit("/project/src/a", "/project/b"), "ask", `permission = "ask"`},
		{"locations of diffs count", policy.Config{Allow: []string{"edit:src/**"}},
			conversation.Tool{Kind: "edit", Locations: []string{"/project/src/a"}, Diffs: []conversation.Diff{{Path: "/etc/hosts"}}}, "ask", `permission = "ask"`},
		{"no location", policy.Config{Allow: []string{"edit:**"}}, edit(), "ask", `permission = "ask"`},
		{"any location denies", policy.Config{Deny: []string{"edit:secret/*"}, Permission: "allow"}, edit("/project/a", "/project/secret/b"), "no", `deny "edit:secret/*"`},
		{"a detour denies", policy.Config{Deny: []string{"edit:secret/*"}, Permission: "allow"}, edit("/project/x/../secret/b"), "no", `deny "edit:secret/*"`},
		{"a relative location denies", policy.Config{Deny: []string{"edit:secret/*"}, Permission: "allow"}, edit("secret/b"), "no", `deny "edit:secret/*"`},
		{"a location that is no path", policy.Config{Deny: []string{"edit:secret/*"}, Permission: "allow"}, edit("/project/a", "[3 more]"), "ask", `deny "edit:secret/*" cannot be judged`},
		{"a long command", policy.Config{Deny: []string{"execute:git push*"}, Permission: "allow"}, shell("true " + strings.Repeat("x", 64<<10)), "ask", `deny "execute:git push*" cannot be judged`},
		{"absolute pattern", policy.Config{Allow: []string{"edit:/tmp/*.txt"}}, edit("/tmp/a.txt"), "yes", `allow "edit:/tmp/*.txt"`},
		{"* stays in a directory", policy.Config{Allow: []string{"edit:/tmp/*"}}, edit("/tmp/a/b"), "ask", `permission = "ask"`},
		{"? is one character", policy.Config{Allow: []string{"edit:a?.go"}}, edit("/project/aé.go"), "yes", `allow "edit:a?.go"`},
		{"** in the middle", policy.Config{Allow: []string{"edit:src/**/x.go"}}, edit("/project/src/x.go"), "yes", `allow "edit:src/**/x.go"`},
		{"deny without a location", policy.Config{Deny: []string{"edit:secret/*"}, Permission: "allow"}, edit(), "ask", `deny "edit:secret/*" cannot be judged`},
		{"deny without a location, denied anyway", policy.Config{Deny: []string{"edit:secret/*"}, Permission: "deny"}, edit(), "no", `permission = "deny"`},
		{"deny without a location, allowed by a rule", policy.Config{Deny: []string{"edit:secret/*"}, Allow: []string{"edit"}, Permission: "deny"}, edit(), "ask", `deny "edit:secret/*" cannot be judged`},
		{"deny without a kind", policy.Config{Deny: []string{"delete"}, Permission: "allow"}, conversation.Tool{}, "ask", `deny "delete" cannot be judged`},
		{"deny by title", policy.Config{Deny: []string{"execute:git push*"}, Permission: "allow"}, conversation.Tool{Kind: "execute", Title: "git push origin"}, "no", `deny "execute:git push*"`},
		{"allow not by title", policy.Config{Allow: []string{"execute:go test*"}}, conversation.Tool{Kind: "execute", Title: "go test"}, "ask", `permission = "ask"`},
		{"a command of another kind", policy.Config{Deny: []string{"execute:git push*"}, Permission: "allow"}, conversation.Tool{Kind: "other", Command: "git push"}, "no", `deny "execute:git push*"`},
		{"exact command", policy.Config{Allow: []string{"execute:make && make test"}}, shell("make && make test"), "yes", `allow "execute:make && make test"`},
	} {
		d := mustNew(t, c.config).Decide(permission(c.tool, yesNo...))
		if brief(d) != c.want || d.Rule != c.rule {
			t.Errorf("%s: %s by %s, want %s by %s", c.name, brief(d), d.Rule, c.want, c.rule)
		}
	}
}

func TestOnlyPermissionsAreDecided(t *testing.T) {
	q := permission(conversation.Tool{Kind: "read"}, yesNo...)
	q.Kind = "question"
	for _, permission := range []string{"ask", "allow-read", "allow", "deny"} {
		if d := mustNew(t, policy.Config{Permission: permission, Allow: []string{"read"}, Deny: []string{"read"}}).Decide(q); d != (policy.Decision{Answer: policy.AnswerAsk}) {
			t.Errorf("%s: %+v", permission, d)
		}
	}
}

func TestTimeout(t *testing.T) {
	for agent, want := range map[string]string{"claude": "reject", "gemini": "cancel", "qwen, end of plan mode": "cancel", "malformed peer": "cancelled"} {
		if d := policy.Timeout(requests[agent]); brief(d) != want || d.Rule != "ask_timeout" {
			t.Errorf("%s: %+v, want %s", agent, d, want)
		}
	}
	if d := policy.Timeout(conversation.Question{Kind: "question", Text: true}); brief(d) != "cancelled" {
		t.Errorf("free text: %+v", d)
	}
}

func TestBadConfigurations(t *testing.T) {
	for _, c := range []struct {
		config policy.Config
		want   []string // parts of the error
	}{
		{policy.Config{Permission: "yes"}, []string{`permission "yes"`, "ask, allow-read, allow, deny"}},
		{policy.Config{Allow: []string{"read", "run:x"}}, []string{`allow rule "run:x"`, `"run"`, "execute", ":GLOB"}},
		{policy.Config{Deny: []string{""}}, []string{`deny rule ""`, "execute"}},
		{policy.Config{Deny: []string{"execute:"}}, []string{`deny rule "execute:"`, "empty pattern"}},
		{policy.Config{Deny: []string{"read:~/.ssh/**"}}, []string{"~ is not expanded"}},
		{policy.Config{Allow: []string{"edit:../x"}}, []string{".. never matches"}},
	} {
		_, err := policy.New(c.config)
		for _, part := range c.want {
			if err == nil || !strings.Contains(err.Error(), part) {
				t.Errorf("%+v: %v, want it to say %q", c.config, err, part)
			}
		}
	}
}

// Whatever is configured and asked, an answer is one of the question's options and
// never holds beyond it.
func TestNoAnswerIsAlways(t *testing.T) {
	kinds := []string{"allow_once", "allow_always", "reject_once", "reject_always", ""}
	rapid.Check(t, func(t *rapid.T) {
		rules := rapid.SliceOfN(rapid.SampledFrom([]string{"read", "execute", "execute:*", "edit:**", "edit:/a/*"}), 0, 3)
		p := mustNew(t, policy.Config{
			Permission: rapid.SampledFrom([]string{"", "ask", "allow-read", "allow", "deny"}).Draw(t, "permission"),
			Allow:      rules.Draw(t, "allow"), Deny: rules.Draw(t, "deny"),
		})
		q := permission(conversation.Tool{
			Kind:      rapid.SampledFrom([]string{"read", "edit", "execute", "", "x"}).Draw(t, "kind"),
			Command:   rapid.SampledFrom([]string{"", "ls", "ls; rm"}).Draw(t, "command"),
			Locations: rapid.SliceOfN(rapid.SampledFrom([]string{"/project/a", "/a/b", "c"}), 0, 2).Draw(t, "locations"),
		})
		for i, kind := range rapid.SliceOfN(rapid.SampledFrom(kinds), 0, 5).Draw(t, "options") {
			q.Options = append(q.Options, option(string(rune('a'+i)), "", kind))
		}
		for _, d := range []policy.Decision{p.Decide(q), policy.Timeout(q)} {
			if d.Answer != policy.AnswerOption {
				continue
			}
			picked := ""
			for _, o := range q.Options {
				if o.ID == d.OptionID {
					picked = o.Kind
				}
			}
			if picked != "allow_once" && picked != "reject_once" {
				t.Fatalf("%+v picks an option of kind %q", d, picked)
			}
		}
	})
}

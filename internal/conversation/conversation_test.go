package conversation

import (
	"strings"
	"testing"
	"time"
)

const (
	one   = "01a2097b-af3a-7ee2-b9fc-ffe2055f3cc1"
	other = "01a2097b-af3a-7ee2-b9fc-ffe2055f3cc2"
)

var codex = Finder{By: OpenFile, Files: "sessions/*/*/*/rollout-*-{id}.jsonl"}

func TestParseOpenFile(t *testing.T) {
	file := func(id string) string {
		return "/h/.codex/sessions/2026/11/23/rollout-2026-11-23T17-37-10-" + id + ".jsonl\n"
	}
	for name, c := range map[string]struct{ output, want string }{
		"none":     {"", ""},
		"one":      {file(one), one},
		"twice":    {file(one) + file(one), one},
		"two":      {file(one) + file(other), ""},
		"not it":   {"/h/rollout-x.jsonl\n/h/" + one + ".jsonl\n", ""},
		"hostile":  {"/h/rollout-$(rm)-" + one + ".jsonl;x\n", ""},
		"no lines": {"grep: nothing", ""},
	} {
		if got := codex.Parse(c.output, 0); got != c.want {
			t.Errorf("%s: %q, want %q", name, got, c.want)
		}
	}
}

func TestParseOpenCodeLog(t *testing.T) {
	at := func(sec int, run, text string) string {
		return time.Unix(1000+int64(sec), 0).UTC().Format("timestamp=2006-01-02T15:04:05.000Z") + " level=INFO run=" + run + " message=" + text + "\n"
	}
	begin := func(dir string) string { return `"creating instance" directory=` + dir }
	created := func(id, parent string) string {
		return "created id=" + id + " slug=x directory=/w parentID=" + parent + ` title="New session"`
	}
	head := "1100\n/w\n" // at 100, by our scale
	mine := at(50, "a", begin("/w")) + at(51, "a", created("ses_1", "undefined")) + at(52, "a", "loop session.id=ses_1 step=0")
	for name, c := range map[string]struct {
		output string
		want   string
	}{
		"none":                         {head, ""},
		"no turn yet":                  {head + at(50, "a", begin("/w")), ""},
		"ours":                         {head + mine, "ses_1"},
		"resumed":                      {head + at(50, "a", begin("/w")) + at(52, "a", "loop session.id=ses_0 step=0"), "ses_0"},
		"a later one":                  {head + mine + at(60, "a", "loop session.id=ses_2 step=0"), "ses_2"},
		"a subagent's":                 {head + mine + at(60, "a", created("ses_2", "ses_1")) + at(61, "a", "loop session.id=ses_2 step=0"), "ses_1"},
		"another run elsewhere":        {head + mine + at(60, "b", begin("/v")) + at(61, "b", "loop session.id=ses_2 step=0"), "ses_1"},
		"another run here":             {head + mine + at(60, "b", begin("/w")) + at(61, "b", "loop session.id=ses_2 step=0"), ""},
		"an earlier run here":          {head + at(10, "b", begin("/w")) + at(11, "b", "loop session.id=ses_2 step=0") + mine, "ses_1"},
		"a directory that begins so":   {head + at(50, "a", begin("/w/x")) + at(52, "a", "loop session.id=ses_1 step=0"), ""},
		"no clock":                     {"\n/w\n" + mine, ""},
		"a line that is cut off":       {head + mine + "timestamp=2026", "ses_1"},
		"a message that looks like it": {head + mine + at(60, "a", `"text message=created id=ses_9`), "ses_1"},
	} {
		t.Run(name, func(t *testing.T) {
			if got := (Finder{By: OpenCodeLog}).Parse(c.output, time.Minute); got != c.want {
				t.Errorf("%q, want %q", got, c.want)
			}
		})
	}
	if c := (Finder{By: OpenCodeLog}).Command(); !strings.Contains(c, "opencode/log") {
		t.Error(c)
	}
}

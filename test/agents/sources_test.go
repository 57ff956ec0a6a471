//go:build agents

package agents

import (
	"cmp"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"gascity.dev/gc/runtime"
)

// The states whose source is noted, in order: the columns of the table of sources.
var noted = []string{"working", "blocked", "done", "interrupted"}

// explained returns what gc explain knows about the agent.
func (w *world) explained() runtime.Activity {
	w.t.Helper()
	var e struct{ Activity *runtime.Activity }
	if err := json.Unmarshal([]byte(w.gc("explain", name, "--json")), &e); err != nil {
		w.t.Fatal(err)
	}
	if e.Activity == nil {
		w.t.Fatal("gc explain knows no activity")
	}
	return *e.Activity
}

// wins notes which source shows what the agent does, and how long after the model's part
// it began.
func (j *journey) wins(noted string, after time.Time) {
	j.t.Helper()
	a := j.explained()
	what := cmp.Or(a.Source, "none")
	if !after.IsZero() {
		what += fmt.Sprintf(" %+d ms", a.Since.Sub(after).Milliseconds())
	}
	for _, s := range a.Sources {
		old := !after.IsZero() && s.Since.Before(after.Add(-5*time.Second)) // of an earlier turn: not every end of one calls a hook
		if s.Source == "hook" && s.State != "" && a.Source != "hook" && !old {
			what += ", then hook " + s.State
			if !after.IsZero() {
				what += fmt.Sprintf(" %+d ms", s.Since.Sub(after).Milliseconds())
			}
		}
	}
	if j.won == nil {
		j.won = map[string]string{}
	}
	j.won[noted] = what
	j.t.Logf("%s by %s: %s; message %q", a.State, what, a.Evidence, a.Message)
	for _, s := range a.Sources {
		j.t.Logf("    %-8s %-8s %s", s.Source, s.State, s.Evidence)
	}
}

// hooksWork checks that the hooks of this session have reported the end of a turn, with
// its last message.
func (j *journey) hooksWork(t *testing.T) {
	t.Helper()
	if j.agent.hook == "" {
		return
	}
	j.until(5*time.Second, "the hook "+j.agent.hook, func() bool {
		for _, s := range j.explained().Sources {
			if s.Source == "hook" && strings.HasPrefix(s.Evidence, j.agent.hook+":") {
				return true
			}
		}
		return false
	})
	if j.agent.own != "" {
		j.until(5*time.Second, "the user's own hook", func() bool {
			b, err := os.ReadFile(filepath.Join(j.city, j.agent.own))
			return err == nil && strings.Contains(string(b), "agent-turn-complete")
		})
	}
	if a := j.explained(); j.agent.says && a.Message == "" {
		t.Errorf("no message: %+v", a)
	}
}

// sources formats agent × state in Markdown.
func sources(all []*journey) string {
	var b strings.Builder
	b.WriteString("\nWhich source showed it, and when after the model had begun (working) or ended its answer:\n\n")
	fmt.Fprintf(&b, "| agent | %s |\n|---|%s\n", strings.Join(noted, " | "), strings.Repeat("---|", len(noted)))
	for _, j := range all {
		fmt.Fprintf(&b, "| %s |", j.agent.preset)
		for _, s := range noted {
			fmt.Fprintf(&b, " %s |", cmp.Or(j.won[s], "–"))
		}
		b.WriteString("\n")
	}
	return b.String()
}

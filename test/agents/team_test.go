//go:build agents

package agents

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"gascity.dev/gc/internal/mail"
)

// passOn is what every agent's model has it run when it is told of mail: it reads its mail
// and sends the next one a letter, around the ring once.
// Codex runs commands in a login shell, whose PATH may be another.
const passOn = `"$GC_BIN" mail read >read-$GC_AGENT.txt
case $GC_AGENT in
`

// TestTeam: six vendors' agents in one city. A letter goes around: each is woken by the
// notice, reads its mail, and sends the next one a letter. Who sent it is proved.
func TestTeam(t *testing.T) {
	w, s := newWorld(t), newStub(t)
	began := time.Now()
	script, city := passOn, "[workspace]\nname = \"team\"\n"
	for i, a := range agents {
		next := agents[(i+1)%len(agents)].preset
		if i == 0 {
			script += a.preset + ") exit;;\n" // it has begun
		} else {
			script += a.preset + ") next=" + next + ";;\n"
		}
		for path, content := range a.files {
			w.write(path, strings.ReplaceAll(content, "MODEL_URL", s.url))
		}
		level := "bypass"
		if a.preset == "gemini" {
			level = "ask" // it goes on with that if it was not trusted at its start
		}
		city += fmt.Sprintf("[[agents]]\nname = %q\nprovider = %q\npermissions = %q\n[agents.env]\n", a.preset, a.preset, level)
		for _, kv := range a.env {
			k, v, _ := strings.Cut(kv, "=")
			city += fmt.Sprintf("%s = %q\n", k, strings.ReplaceAll(v, "MODEL_URL", s.url))
		}
	}
	w.write("city/city.toml", city)
	w.write("city/pass-on.sh", script+"esac\n\"$GC_BIN\" mail send $next \"from $GC_AGENT\" --subject \"to $next\"\n")
	defer func() {
		if t.Failed() {
			for _, a := range agents {
				t.Log(w.on("peek", a.preset), w.on("explain", a.preset))
			}
			t.Log(w.on("events"), w.on("status"), s.tail())
		}
	}()
	w.gc("start", "--trust")
	for _, a := range agents {
		w.ready(a)
	}
	t.Logf("all are idle after %v", time.Since(began).Round(time.Second))
	first, second := agents[0].preset, agents[1].preset
	w.gc("nudge", first, "tag-first TRY(gc mail send "+second+" 'from "+first+"')")
	var letters []mail.Letter
	w.until(2*time.Minute, "the letter has gone around", func() bool {
		letters = nil
		if err := json.Unmarshal([]byte(w.gc("mail", "list", "--all", "--json")), &letters); err != nil {
			t.Fatal(err)
		}
		for _, a := range agents {
			w.allowsOnce(a)
		}
		return len(letters) == len(agents)
	})
	t.Logf("the letter has gone around after %v", time.Since(began).Round(time.Second))
	t.Log(w.gc("mail", "list", "--all"), w.gc("events", "--kind", "mail"))
	for i, l := range letters {
		from, to := agents[i].preset, agents[(i+1)%len(agents)].preset
		if l.From != "agent "+from || l.To.Name != to {
			t.Errorf("letter %d is from %s to %s, want from agent %s to %s", i, l.From, l.To, from, to)
		}
	}
}

// ready answers, as a person would, every question that gc leaves to people, until the
// agent is idle.
func (w *world) ready(a *agent) {
	w.t.Helper()
	for range 8 {
		r := w.on("wait", a.preset, "--until", "idle", "--until", "blocked", "--timeout", "90s")
		if r.code != 0 {
			w.t.Fatalf("%s", r)
		}
		if !strings.Contains(r.out, "blocked") {
			return
		}
		var q question
		if r := w.on("pending", a.preset, "--json"); json.Unmarshal([]byte(r.out), &q) != nil {
			w.t.Fatal(r)
		}
		if option := a.answer(q); option == "<Enter>" {
			w.gc("keys", a.preset, "Enter")
		} else {
			w.gc("respond", a.preset, "--option", option)
		}
		w.until(10*time.Second, "another screen than "+q.Prompt, func() bool {
			var now question
			return json.Unmarshal([]byte(w.on("pending", a.preset, "--json").out), &now) != nil || now.RequestID != q.RequestID
		})
	}
	w.t.Fatal("question after question")
}

// allowsOnce answers the agent's question whether it may run a command, if it asks.
func (w *world) allowsOnce(a *agent) {
	var q question
	r := w.on("pending", a.preset, "--json")
	if json.Unmarshal([]byte(r.out), &q) != nil || q.RequestID == "" {
		return
	}
	if i := slices.IndexFunc(q.Options, a.allow.MatchString); i >= 0 {
		w.on("respond", a.preset, "--request", q.RequestID, "--option", q.Options[i]) // it may be gone
	}
}

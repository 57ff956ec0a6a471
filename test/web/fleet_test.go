//go:build e2e

package web

import (
	"fmt"
	"time"

	"gascity.dev/gc/internal/fleet"
	"gascity.dev/gc/internal/fleet/fleetfake"
	"gascity.dev/gc/internal/screens"
	"gascity.dev/gc/vt"
)

// drawn is what a program's output looks like.
func drawn(cols, rows int, revision uint64, output string) screens.Screen {
	t, err := vt.New(vt.Options{Cols: cols, Rows: rows})
	if err != nil {
		panic(err)
	}
	t.Write([]byte(output))
	s := t.Screen()
	return screens.Screen{
		State: screens.Running, Incarnation: "i1", Revision: revision, Cols: cols, Rows: rows, Cursor: s.Cursor, Lines: s.Lines,
	}
}

func ago(d time.Duration) time.Time { return time.Now().Add(-d) }

// coding is a screen as agents paint them.
func coding(name string, n int) string {
	return fmt.Sprintf("\x1b[1m\x1b[38;5;208m●\x1b[m \x1b[1m%s\x1b[m \x1b[2m~/src/shop\x1b[m\r\n\r\n"+
		"\x1b[32m●\x1b[m Read \x1b[36minternal/cart/total.go\x1b[m (%d lines)\r\n"+
		"\x1b[32m●\x1b[m Update \x1b[36minternal/cart/total.go\x1b[m\r\n"+
		"   \x1b[48;5;52m 41 -   total += item.Price            \x1b[m\r\n"+
		"   \x1b[48;5;22m 41 +   total += item.Price * item.Count\x1b[m\r\n\r\n"+
		"\x1b[32m●\x1b[m Bash(go test ./internal/cart)\r\n  \x1b[2m└\x1b[m ok  shop/internal/cart  0.%ds\r\n\r\n"+
		"\x1b[35m✢ Thinking…\x1b[m \x1b[2m(%ds · esc to interrupt)\x1b[m\r\n\r\n"+
		"\x1b[2m──────────────────────────────────────────────\x1b[m\r\n> \x1b[7m \x1b[m\x1b[?25l", name, 60+n*7, 100+n, 3+n)
}

const asking = "\x1b[1mBash command\x1b[m\r\n\r\n  rm -rf build && make release\r\n  \x1b[2mBuild a release from scratch\x1b[m\r\n\r\n" +
	"Do you want to proceed?\r\n\x1b[34m❯ 1. Yes\x1b[m\r\n  2. Yes, and don't ask again\r\n  3. No, tell the agent what to do\r\n"

// team is a fleet as a person has one.
func team() *fleetfake.Fleet {
	f := &fleetfake.Fleet{Receipt: fleet.Receipt{State: fleet.Submitted}}
	can := []fleet.Action{fleet.Interrupt, fleet.Restart, fleet.Stop, fleet.Suspend}
	agent := func(name, rig, status, last string, since time.Duration) fleet.Agent {
		return fleet.Agent{
			ID: name, Name: name, Rig: rig, State: "running", Status: status, Source: "hook", Since: ago(since), Provider: "claude",
			LastLine: last, Can: can, Active: ago(since / 2), Recording: name == "cart",
		}
	}
	question := &fleet.Question{
		Request: "q1", Kind: "permission", Prompt: "Do you want to proceed?", Context: "rm -rf build && make release\nBuild a release from scratch",
		Options: []string{"Yes", "Yes, and don't ask again", "No, tell the agent what to do"}, Marked: "Yes",
	}
	release := agent("release", "shop", "blocked", "Do you want to proceed?", 4*time.Minute)
	release.Kind, release.Question = "permission", question
	dead := agent("docs", "site", "idle", "> ", 21*time.Minute)
	crashed := fleet.Agent{ID: "search", Name: "search", Rig: "site", State: "quarantined", Status: "exited", Since: ago(9 * time.Minute), Provider: "codex", Restarts: 5,
		Exit: "exit status 1", Error: "it ended 5 times within 10 minutes: exit status 1", Can: []fleet.Action{fleet.Start, fleet.Suspend}}
	lost := agent("build-host", "infra", "unknown", "make[1]: Entering directory", 2*time.Minute)
	lost.State, lost.Host, lost.Seen = "unknown", "build", ago(2*time.Minute)
	agents := []fleet.Agent{
		agent("cart", "shop", "working", "✢ Thinking… (12s · esc to interrupt)", 12*time.Second), release, dead, crashed, lost,
		agent("checkout", "shop", "working", "● Bash(go test ./...)", 95*time.Second), agent("mobile", "shop", "done", "All 214 tests pass.", 3*time.Minute),
		agent("prices", "shop", "working", "● Update(prices.go)", 8*time.Second), agent("styles", "site", "idle", "> ", 40*time.Minute),
		agent("review-1", "infra", "working", "Reviewing pull request 381", 31*time.Second), agent("review-2", "infra", "idle", "> ", 2*time.Hour),
	}
	agents[9].Pool, agents[10].Pool = "reviewers", "reviewers"
	f.Set(fleet.Snapshot{
		Name: "shop-city", City: "/home/ada/shop", Agents: agents,
		Attention: []fleet.Attention{
			{ID: "dl", Kind: "dead-letter", Agent: "docs", Since: ago(17 * time.Minute), Text: `message "update the changelog" was given up: expired`, Message: "m7"},
			{ID: "cr", Kind: "quarantined", Agent: "search", Since: ago(9 * time.Minute), Text: "it ended 5 times within 10 minutes: exit status 1", Hint: "gc restart search"},
			{ID: "qu", Kind: "question", Agent: "release", Since: ago(4 * time.Minute), Text: "Do you want to proceed?"},
		},
		Messages: []fleet.Message{{ID: "m7", Agent: "docs", Text: "update the changelog", State: "dead", Detail: "expired", Created: ago(24 * time.Hour)}},
	})
	for i, a := range agents {
		output := coding(a.Name, i)
		if a.Question != nil {
			output = asking
		}
		f.Show(a.ID, drawn(100, 30, uint64(i+1), output))
	}
	return f
}

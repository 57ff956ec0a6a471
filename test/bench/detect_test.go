package bench

import (
	"context"
	"testing"
	"time"

	"gascity.dev/gc/internal/clock"
	"gascity.dev/gc/internal/config"
	"gascity.dev/gc/mux/api"
	"gascity.dev/gc/mux/client"
)

// paintsLines is a program that prints each input line as a printf format.
const paintsLines = `stty -echo; echo ready; while IFS= read -r x; do printf "$x"; done`

// detected is a way in which a program shows that it asks or has ended a turn.
type detected struct {
	name   string
	preset string // whose rules and composer apply
	works  string // what it shows while it works
	shows  string // what it shows then
	until  api.Condition
	must   float64 // ms
}

const (
	asksFirst = `\033[2J\033[HRemove it?\r\n\342\235\257 1. Yes\r\n  2. No\r\n`
	composed  = `\033[2J\033[Htalk\r\n--------\r\n> `
)

var detections = []detected{
	{"blocked, OSC 7501", "claude", `\033]7501;state=working\007`, `\033]7501;state=blocked:kind=permission\007`, api.Condition{Blocked: true}, 50},
	{"done, OSC 7501", "claude", `\033]7501;state=working\007`, `\033]7501;state=done\007`, api.Condition{Done: true}, 50},
	{"blocked, a question in sight", "gemini", `\033[2J\033[H\033]2;✦  Working\007`, asksFirst, api.Condition{Blocked: true}, 250},
	{"idle, gemini's title", "gemini", `\033]2;✦  Working\007` + composed, `\033]2;◇  Ready\007`, api.Condition{Idle: true}, 250},
	{"idle, qwen's title", "qwen", `\033]2;◐ Qwen - x\007` + composed, `\033]2;Qwen - x\007`, api.Condition{Idle: true}, 250},
	{"idle, opencode's last row", "opencode", `\033[2J\033[Hesc interrupt`, `\033[2J\033[Hx  ctrl+p commands`, api.Condition{Idle: true}, 250},
}

// BenchmarkDetect: from the Enter that makes a program show that it asks or is
// done, to the end of a wait for that.
func BenchmarkDetect(b *testing.B) {
	w := newWorld(b)
	w.run(w.gc, "session", "new", "server", "--", "exec sleep 1000")
	c := w.client()
	for b.Loop() {
		for i, d := range detections {
			s := &samples{name: d.name}
			w.startPainter(c, d)
			for range rounds {
				s.add(w.detect(c, d))
			}
			if err := c.Kill(context.Background(), "painter", time.Second); err != nil {
				b.Fatal(err)
			}
			table(b, "detection of "+d.name, s)
			metrics(b, []string{"osc-blocked", "osc-done", "question", "title", "held-title", "last-row"}[i], s)
			judge(b, target{name: "detection of " + d.name, gc: ms(s.median()), value: float64(s.median()) / 1e6, unit: "ms", must: d.must})
		}
	}
}

// startPainter starts a program that looks like the preset's.
func (w *world) startPainter(c *client.Client, d detected) {
	w.b.Helper()
	presets, err := config.Presets()
	if err != nil {
		w.b.Fatal(err)
	}
	rules, err := config.PresetRules()
	if err != nil {
		w.b.Fatal(err)
	}
	r := api.CreateRequest{
		Name: "painter", Command: paintsLines, Env: []string{"PATH=/usr/bin:/bin", "LANG=C.UTF-8"}, ReadyPrefix: presets[d.preset].ReadyPromptPrefix,
	}
	for _, x := range rules {
		if x.Provider == d.preset {
			r.StatusRules = append(r.StatusRules, api.StatusRule{
				Name: x.Name, State: x.State, Kind: x.Kind, Region: x.Region, All: x.All, Any: x.Any, Not: x.Not,
				Priority: x.Priority, Moves: x.Moves, Settle: clock.Millis(time.Duration(x.SettleMS) * time.Millisecond),
			})
		}
	}
	if _, err := c.Create(context.Background(), r); err != nil {
		w.b.Fatal(err)
	}
	w.waitText(c, "painter", "ready")
}

// detect makes the program work, and then show what is to be detected.
func (w *world) detect(c *client.Client, d detected) time.Duration {
	w.b.Helper()
	ctx := context.Background()
	show := func(text string) {
		for _, keys := range [][]string{{text}, {"Enter"}} {
			if err := c.Keys(ctx, "painter", keys, keys[0] == text); err != nil {
				w.b.Fatal(err)
			}
		}
	}
	show(d.works)
	for a := (api.Activity{}); a.State != api.ActivityWorking; {
		var err error
		if a, err = c.Activity(ctx, "painter"); err != nil {
			w.b.Fatal(err)
		}
	}
	began := time.Now()
	show(d.shows)
	r, err := c.Wait(ctx, "painter", api.WaitRequest{Conditions: []api.Condition{d.until}, Timeout: 10 * time.Second})
	if err != nil || r.Met != 0 {
		w.b.Fatal(d.name, r, err)
	}
	return time.Since(began)
}

package config

import (
	"time"

	"gascity.dev/gc/internal/rule"
	"gascity.dev/gc/internal/toml"
)

// What happens to an agent that is stuck: on_stuck of [agent_defaults] and agents.
const (
	OnStuckReport  = "report"  // it is only reported; the default
	OnStuckRestart = "restart" // it is restarted, counted against max_restarts
)

const defaultStuckAfter = 15 * time.Minute

// Care is what happens to an agent that does not get on: keys of [agent_defaults] and agents.
type Care struct {
	StuckAfter time.Duration `toml:"stuck_after"` // see runtime.Config; 0: never
	OnStuck    string        `toml:"on_stuck"`
	// WakeAfterLimit wakes the agent once when a usage limit ends whose time it showed.
	WakeAfterLimit bool `toml:"wake_after_limit"`
}

// LimitRule is one [[limit_rules]] entry; see rule.Limit.
type LimitRule struct {
	Name     string   `toml:"name"`
	Provider string   `toml:"provider"`
	Any      []string `toml:"any"`
	Until    []string `toml:"until"`
	Region   string   `toml:"region"`
	Where
}

// Rule converts it for the runtime.
func (r *LimitRule) Rule() rule.Limit {
	return rule.Limit{Name: r.Name, Any: r.Any, Until: r.Until, Region: r.Region}
}

func (r *LimitRule) validate(out *toml.Report) {
	own := r.Rule()
	if err := own.Check(); err != nil {
		out.Add(r.At, `as in name = "usage", any = ["You've hit your usage limit"]`, "%v", err)
	}
}

// care sets the keys of one table.
func (l layer) care(c Care) {
	set(l, "stuck_after", &l.r.StuckAfter, c.StuckAfter)
	set(l, "on_stuck", &l.r.OnStuck, c.OnStuck)
	set(l, "wake_after_limit", &l.r.WakeAfterLimit, c.WakeAfterLimit)
}

func (c *Care) validate(out *toml.Report, w Where, where string) {
	oneOf(out, w.Place("on_stuck"), where+"on_stuck", c.OnStuck, OnStuckReport, OnStuckRestart)
}

func (r *Resolved) shownCare() []ShownValue {
	return []ShownValue{{Key: "stuck_after", Value: r.StuckAfter}, {Key: "on_stuck", Value: r.OnStuck}, {Key: "wake_after_limit", Value: r.WakeAfterLimit}}
}

package agent

import (
	"gascity.dev/gc/internal/config"
	"gascity.dev/gc/runtime"
)

// addScreenRules adds the rules of the city and of the presets that are about its program.
// The city's take precedence.
func (s *Spec) addScreenRules(cfg *runtime.Config) error {
	r, c := &s.Resolved, s.City
	known, err := config.PresetRules()
	if err != nil {
		return err
	}
	for _, rules := range [][]config.StatusRule{c.StatusRules, known} {
		for i := range rules {
			if of := rules[i].Provider; of == "" || of == r.Provider || of == r.Family {
				cfg.StatusRules = append(cfg.StatusRules, statusRule(&rules[i]))
			}
		}
	}
	limits, err := config.PresetLimits()
	if err != nil {
		return err
	}
	for _, rules := range [][]config.LimitRule{c.LimitRules, limits} {
		for i := range rules {
			if of := rules[i].Provider; of == "" || of == r.Provider || of == r.Family {
				cfg.LimitRules = append(cfg.LimitRules, rules[i].Rule())
			}
		}
	}
	return nil
}

// statusRule converts a [[status_rules]] entry for the runtime.
func statusRule(r *config.StatusRule) runtime.StatusRule {
	return runtime.StatusRule{
		Name: r.Name, State: r.State, Kind: r.Kind, Region: r.Region, All: r.All, Any: r.Any, Not: r.Not, Priority: r.Priority,
		Moves: r.Moves, Settle: millis(r.SettleMS),
	}
}

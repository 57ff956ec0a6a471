package controller

import (
	"context"
	"path/filepath"
	"strings"
	"time"

	"gascity.dev/gc/internal/agent"
	"gascity.dev/gc/internal/controller/plan"
	"gascity.dev/gc/internal/controller/query"
	"gascity.dev/gc/runtime"
)

// Without any hint of readiness a start returns as soon as the backend has made
// the session; the command may not even exist. The agent is starting until its
// program is seen in the process table.
const (
	confirmLimit = 250 * time.Millisecond // after that a session that exists is running
	firstConfirm = 2 * time.Millisecond   // between two queries; doubles
)

// needsConfirming reports whether the start sequence of a config does not wait
// for the program.
func needsConfirming(c *runtime.Config) bool {
	return c.ReadyPromptPrefix == "" && c.ReadyDelay == 0 && len(c.ProcessNames) == 0
}

// confirm waits until the program of a started session is seen, or the session
// has ended. It does not count against max_parallel_starts.
func (sr *starter) confirm(ag *agentState, spec *agent.Spec) {
	sr.l.begin(ag, opConfirm)
	exited := make(chan struct{})
	ag.op.exited = exited
	sr.ops.Go(func() {
		var exit *runtime.Exit
		var screen string
		gone := endedEarly(sr.ctx, sr.p, spec, exited)
		if gone {
			exit, screen = lastWords(sr.ops.ctx, sr.p, spec.Session)
		}
		sr.post(func() {
			ag.op.exited = nil
			if !gone {
				sr.l.endOp(ag)
				sr.running(ag)
				return
			}
			ag.op.exitSeen = false // this one
			sr.l.endOp(ag)
			if ag.seen.Record.Resumed {
				ag.seen.Record.Conversation = ""
			}
			sr.l.stops.died(ag, exit, screen)
			ag.seen.Presence = plan.Gone
		})
	})
}

// endedEarly returns true if the session has ended. exited is closed when the
// backend reports the end of a session of this name; cancelling ctx stops the
// wait.
func endedEarly(ctx context.Context, p runtime.Provider, spec *agent.Spec, exited <-chan struct{}) (gone bool) {
	names := programNames(&spec.Config)
	limit := time.NewTimer(confirmLimit)
	defer limit.Stop()
	again := time.NewTimer(0)
	defer again.Stop()
	for wait := firstConfirm; ; wait *= 2 {
		last := false
		select {
		case <-exited:
			exited = nil
		case <-limit.C:
			last = true
		case <-again.C:
		case <-ctx.Done():
			return false
		}
		running, err := query.Ask(ctx, func(ctx context.Context) (bool, error) { return p.IsRunning(ctx, spec.Session) })
		if err == nil && !running || last {
			return err == nil && !running
		}
		if len(names) > 0 {
			alive, err := query.Ask(ctx, func(ctx context.Context) (bool, error) { return p.ProcessAlive(ctx, spec.Session, names) })
			if err == nil && alive {
				return false
			}
		}
		again.Reset(wait)
	}
}

// programNames returns the program that a command line runs, if its first word
// names one; nil for shell builtins and syntax.
func programNames(c *runtime.Config) []string {
	shell := "sh"
	for _, env := range []map[string]string{c.Env, c.BaseEnv} {
		if s := env["SHELL"]; s != "" {
			shell = filepath.Base(s)
			break
		}
	}
	if strings.TrimSpace(c.Command) == "" {
		return []string{shell}
	}
	for word := range strings.FieldsSeq(c.Command) {
		if word == "exec" || isAssignment(word) {
			continue
		}
		if strings.ContainsAny(word, "\"'`$\\;&|<>(){}*?[]~#") {
			return nil
		}
		if base := filepath.Base(word); base != shell && base != "sh" {
			return []string{base}
		}
		return nil
	}
	return nil
}

// isAssignment reports "NAME=value" before a command.
func isAssignment(word string) bool {
	name, _, ok := strings.Cut(word, "=")
	return ok && name != "" && strings.IndexFunc(name, func(r rune) bool {
		return r != '_' && (r < '0' || r > '9') && (r < 'A' || r > 'Z') && (r < 'a' || r > 'z')
	}) < 0
}

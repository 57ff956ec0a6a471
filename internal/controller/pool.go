package controller

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"os/exec"
	"strconv"
	"strings"
	"syscall"
	"time"

	"gascity.dev/gc/internal/agent"
	"gascity.dev/gc/internal/controller/api"
)

const (
	checkDrain = time.Second // for reading its output after it has ended
	maxMembers = 10_000      // in an unlimited pool
)

// pools are the pools of the config.
type pools struct {
	*core
	l      *loop
	byName map[string]*pool
}

// pool is one pool of the config.
type pool struct {
	spec    *agent.Spec
	size    int  // members wanted now
	checked bool // its check has returned once
	asking  bool
	failed  string // why the last check failed
	members map[string]*agent.Spec
}

// setConfig applies a new config. Pools keep their size.
func (rs *roster) setConfig(specs []*agent.Spec) {
	old := rs.l.pools.byName
	rs.templates, rs.l.pools.byName = specs, map[string]*pool{}
	for _, s := range specs {
		if s.Resolved.Pool == nil {
			continue
		}
		p := &pool{spec: s, size: s.Resolved.Pool.Min, members: map[string]*agent.Spec{}}
		if was, ok := old[s.Name()]; ok {
			p.size, p.checked = clampSize(s, was.size), was.checked
		}
		rs.l.pools.byName[s.Name()] = p
	}
	rs.expand()
}

// expand makes the wanted set from the templates and the pools' sizes.
func (rs *roster) expand() {
	var all []*agent.Spec
	taken := map[string]string{}
	for _, s := range rs.templates {
		if s.Resolved.Pool == nil {
			taken[s.Session] = s.Name()
			all = append(all, s)
		}
	}
	for _, s := range rs.templates {
		p := rs.l.pools.byName[s.Name()]
		if p == nil {
			continue
		}
		for _, bare := range agent.MemberNames(s, p.size) {
			m, err := rs.memberSpec(p, bare)
			if err != nil {
				rs.logf("pool %s: %v", s.Name(), err)
				continue
			}
			if other, dup := taken[m.Session]; dup {
				rs.logf("pool %s: member %s would share its session with %s", s.Name(), m.Name(), other)
				continue
			}
			taken[m.Session] = m.Name()
			all = append(all, m)
		}
	}
	rs.setSpecs(all)
}

func (rs *roster) memberSpec(p *pool, bare string) (*agent.Spec, error) {
	if m, ok := p.members[bare]; ok {
		return m, nil
	}
	m, err := agent.Member(p.spec, bare, rs.o.Build)
	if err == nil {
		p.members[bare] = m
	}
	return m, err
}

func clampSize(s *agent.Spec, n int) int {
	cfg := s.Resolved.Pool
	limit := cfg.Max
	if limit < 0 {
		limit = maxMembers
	}
	return min(max(n, cfg.Min), limit)
}

// check runs every pool's check in parallel. A check that hangs is run again
// only after it timed out.
func (ps *pools) check() {
	for _, p := range ps.byName {
		if out := ps.l.suspended.ofSpec(p.spec) != ""; p.asking || out {
			p.checked = p.checked || out
			continue
		}
		p.asking = true
		ps.ops.Go(func() {
			n, err := poolWants(ps.ops.ctx, p.spec)
			ps.post(func() { ps.checked(p, n, err) })
		})
	}
}

func poolWants(ctx context.Context, s *agent.Spec) (int, error) {
	out, err := runHook(ctx, s, s.Resolved.Pool.Check)
	if err != nil {
		return 0, err
	}
	n, err := strconv.Atoi(strings.TrimSpace(out))
	if err != nil || n < 0 {
		return 0, fmt.Errorf("check printed %q, not a number", oneLine(strings.TrimSpace(out)))
	}
	return n, nil
}

// runHook runs a command of a pool's config in the agent's folder and
// environment, in a process group that is killed when ctx ends.
func runHook(ctx context.Context, s *agent.Spec, command string) (string, error) {
	ctx, cancel := context.WithTimeout(ctx, api.CheckTimeout)
	defer cancel()
	cmd := exec.CommandContext(ctx, "/bin/sh", "-c", command)
	cmd.Dir = s.Config.WorkDir
	for _, env := range []map[string]string{s.Config.BaseEnv, s.Config.Env} {
		for k, v := range env {
			cmd.Env = append(cmd.Env, k+"="+v)
		}
	}
	var out bytes.Buffer
	cmd.Stdout = &limited{b: &out, left: 64 << 10}
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	cmd.Cancel = func() error { return syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL) }
	cmd.WaitDelay = checkDrain
	err := cmd.Run()
	if errors.Is(err, exec.ErrWaitDelay) {
		err = nil // it ended; a child of it holds the pipe
	}
	if ctx.Err() != nil {
		return "", fmt.Errorf("%q timed out after %v", command, api.CheckTimeout)
	}
	if err != nil {
		return "", fmt.Errorf("%q: %w", command, err)
	}
	return out.String(), nil
}

// limited keeps the first bytes and drops the rest.
type limited struct {
	b    *bytes.Buffer
	left int
}

func (w *limited) Write(p []byte) (int, error) {
	n := min(len(p), w.left)
	w.b.Write(p[:n])
	w.left -= n
	return len(p), nil
}

// checked applies the result of a check. If it failed, the pool keeps its
// minimum.
func (ps *pools) checked(p *pool, n int, err error) {
	p.asking, p.checked = false, true
	if ps.byName[p.spec.Name()] != p {
		return // of an older config
	}
	if err != nil {
		n = p.spec.Resolved.Pool.Min
		if p.failed != err.Error() {
			ps.note(api.Event{Kind: api.EventPool, Agent: p.spec.Name(), Why: "its check failed", Detail: fmt.Sprintf("%v; it keeps its minimum of %d", err, n)})
		}
		p.failed = err.Error()
	} else {
		p.failed = ""
	}
	n = clampSize(p.spec, n)
	if n != p.size {
		ps.note(api.Event{Kind: api.EventPool, Agent: p.spec.Name(), Detail: fmt.Sprintf("%d members, was %d", n, p.size)})
		p.size = n
		ps.l.agents.expand()
		ps.l.observer.observe()
	}
}

// status returns the pools for the status, in file order.
func (ps *pools) status() []api.PoolStatus {
	var out []api.PoolStatus
	for _, s := range ps.l.agents.templates {
		if p := ps.byName[s.Name()]; p != nil {
			cfg := s.Resolved.Pool
			out = append(out, api.PoolStatus{Name: s.Name(), Size: p.size, Min: cfg.Min, Max: cfg.Max, Error: p.failed})
		}
	}
	return out
}

// mayBeMember reports whether the name may be that of a member of a pool whose
// size is not known yet.
func (ps *pools) mayBeMember(name string) bool {
	for _, p := range ps.byName {
		if !p.checked && agent.IsMemberName(p.spec, name) {
			return true
		}
	}
	return false
}

// of returns the pool of a member, or nil.
func (ps *pools) of(ag *agentState) *pool {
	return ps.byName[templateOf(ag.spec)]
}

// templateOf names the pool of a member; "" for other agents.
func templateOf(s *agent.Spec) string {
	if s == nil || s.Resolved.Template == s.Resolved.Name {
		return ""
	}
	return s.Resolved.Template
}

// hook runs on_boot or on_death of an agent's pool in the background.
func (ps *pools) hook(ag *agentState, name string, command func(*agent.Spec) string) {
	spec, who := cmp.Or(ag.spec, ag.left), ag.name() // an agent leaving the pool still dies in it
	pool := ps.byName[templateOf(spec)]
	if pool == nil {
		return
	}
	line := command(pool.spec)
	if line == "" {
		return
	}
	ps.ops.Go(func() {
		if _, err := runHook(ps.ops.ctx, spec, line); err != nil && ps.ops.ctx.Err() == nil {
			ps.post(func() { ps.logf("%s: %s: %v", who, name, err) })
		}
	})
}

func onBoot(s *agent.Spec) string  { return s.Resolved.Pool.OnBoot }
func onDeath(s *agent.Spec) string { return s.Resolved.Pool.OnDeath }

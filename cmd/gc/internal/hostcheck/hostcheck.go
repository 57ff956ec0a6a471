// Package hostcheck examines other machines, for gc host and gc doctor: are they
// reached, which gc do they have, can they hold sessions.
//
// It starts and changes nothing there, and asks no questions on the terminal except in
// [Shell]. What it cannot find out is a finding, never an error. [Examine] connects;
// judge, which decides what the answers mean, does not.
package hostcheck

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	goruntime "runtime"
	"slices"
	"strings"
	"sync"
	"time"

	"gascity.dev/gc/cmd/gc/internal/cli"
	"gascity.dev/gc/cmd/gc/internal/host"
	"gascity.dev/gc/internal/controller/outside"
	"gascity.dev/gc/internal/far"
	"gascity.dev/gc/internal/hosts"
	"gascity.dev/gc/internal/hosts/install"
	"gascity.dev/gc/internal/shell"
	"gascity.dev/gc/mux/api"
	"gascity.dev/gc/mux/client"
	"gascity.dev/gc/mux/many"
)

// Report is what an examination of one machine found.
type Report struct {
	Name     string            `json:"name"`
	URL      string            `json:"url"`
	Reached  bool              `json:"reached"`
	Facts    *far.Facts        `json:"facts,omitempty"` // nil if its gc did not tell
	SkewMS   int64             `json:"clock_skew_ms"`   // how far its clock is ahead
	Findings []outside.Finding `json:"findings"`        // each about the machine

	Machine install.Machine `json:"-"` // what sh there said if its gc did not serve
	Moved   bool            `json:"-"` // gc is not where it was looked for, but at Bin
	Bin     string          `json:"-"` // the path of gc, "" if its name suffices
}

// Problem is the first problem, or "".
func (r *Report) Problem() string {
	for _, f := range r.Findings {
		if f.Level == outside.LevelFail {
			return f.Text
		}
	}
	return ""
}

// Check is the report as the registry remembers it.
func (r *Report) Check() *hosts.Check {
	c := &hosts.Check{At: now(), Problem: r.Problem(), Version: r.Machine.Version(), OS: r.Machine.OS, Arch: r.Machine.Arch}
	if f := r.Facts; f != nil {
		c.Version, c.OS, c.Arch = f.Version, f.OS, f.Arch
	}
	return c
}

func now() time.Time { return time.Now().UTC().Truncate(time.Second) }

// atOnce is how many machines All examines at the same time.
const atOnce = 16

// All examines machines, given by name or URL, side by side; limit is the time for
// each. The reports have the order of the names; an error is that of a bad name.
func All(ctx context.Context, version string, names []string, limit time.Duration) ([]*Report, error) {
	machines := make([]*client.Host, len(names))
	for i, name := range names {
		h, err := host.Resolve(name)
		if err != nil {
			return nil, err
		}
		machines[i] = h
	}
	reports := make([]*Report, len(names))
	turn := make(chan struct{}, atOnce)
	var all sync.WaitGroup
	for i, h := range machines {
		all.Go(func() {
			turn <- struct{}{}
			defer func() { <-turn }()
			late := fmt.Errorf("no answer within %s", limit)
			ctx, cancel := context.WithTimeoutCause(ctx, limit, late)
			defer cancel()
			reports[i] = Examine(ctx, version, names[i], h)
		})
	}
	all.Wait()
	return reports, ctx.Err()
}

// Examine examines one machine until ctx ends; version is this gc's.
func Examine(ctx context.Context, version, name string, h *client.Host) *Report {
	quiet := *h
	quiet.Program = cmp.Or(h.Program, "ssh") + " -o BatchMode=yes" // no questions
	r := &Report{Name: name, URL: h.String()}
	found := &outside.Findings{}
	err := r.ask(ctx, found, version, &quiet)
	if err != nil {
		r.explain(ctx, found, version, &quiet, err)
	}
	for _, f := range found.List {
		f.Text = strings.ReplaceAll(f.Text, "\n", "; ") // of what ssh said
		r.Findings = append(r.Findings, f)
	}
	return r
}

// ask asks the gc there.
func (r *Report) ask(ctx context.Context, found *outside.Findings, version string, h *client.Host) error {
	stream, err := h.Stream(ctx)
	if err != nil {
		return err
	}
	s, err := many.Open(ctx, stream, many.Hello{Version: version, OS: goruntime.GOOS, Arch: goruntime.GOARCH}, many.Options{})
	if err != nil {
		return err
	}
	defer s.Close()
	began := time.Now()
	f, err := far.NewClient(h.String(), s).Facts(ctx)
	if err != nil {
		return err
	}
	took := time.Since(began)
	r.Reached, r.Facts = true, &f
	r.SkewMS = skew(f.Time, began, took).Milliseconds()
	judge(found, r, version, took)
	return nil
}

// skewNoise is the smallest difference of clocks that counts.
const skewNoise = 2 * time.Second

// skew is how far a clock that showed there during a question is ahead; 0 if the
// question's duration may explain it.
func skew(there, began time.Time, took time.Duration) time.Duration {
	ahead := there.Sub(began.Add(took / 2))
	if ahead.Abs() < took/2+skewNoise {
		return 0
	}
	return ahead
}

// explain finds out why the gc there did not answer.
func (r *Report) explain(ctx context.Context, found *outside.Findings, version string, h *client.Host, why error) {
	_, hint := cli.Explain(why)
	var ssh *client.HostError
	if ctx.Err() != nil || errors.As(why, &ssh) && ssh.Status == sshFailed {
		if ctx.Err() != nil {
			why, hint = context.Cause(ctx), "try it by hand: ssh "+h.Name
		}
		found.Fail(r.Name, hint, "not reached: %s", strings.TrimPrefix(why.Error(), r.URL+": "))
		return
	}
	s, err := Shell(ctx, h)
	if err != nil {
		_, hint = cli.Explain(err)
		found.Fail(r.Name, hint, "no answer from gc: %v; %v", why, err)
		return
	}
	r.Reached, r.Machine = true, s.Machine()
	_ = s.Close()
	m := r.Machine
	bin, word := Remembered(m), cli.Program
	if bin != "" {
		word = shell.Word(bin)
	}
	switch {
	case m.Version() == "":
		found.Fail(r.Name, "gc host install "+r.Name, "reached, but %s", NoGC(m))
	case os.Getenv("GC_HOST_BIN") == "" && h.Bin != word:
		h.Bin, r.Bin, r.Moved = word, bin, true
		if err := r.ask(ctx, found, version, h); err != nil {
			found.Fail(r.Name, "gc host install "+r.Name, "gc %s at %s does not serve this gc: %v", m.Version(), m.GC, err)
		}
	default:
		found.Fail(r.Name, "gc host install "+r.Name+" installs this version there", "gc %s there does not serve this gc, %s: %v", m.Version(), version, why)
	}
}

// sshFailed is the exit status of ssh's own failures.
const sshFailed = 255

// Limits that findings warn of.
const (
	lowDisk = 256 << 20 // bytes
	noDisk  = 4 << 20
	fewPTYs = 10 // per cent
)

// judge decides what the facts of a machine mean.
func judge(found *outside.Findings, r *Report, version string, took time.Duration) {
	f, name := r.Facts, r.Name
	found.OK(name, "reached in %s: %s, user %s, %s/%s", took.Round(time.Millisecond), f.Hostname, f.User, f.OS, f.Arch)
	judgeVersion(found, r, version)
	switch {
	case f.PTYsMax < 0 || f.PTYsUsed < 0:
		found.OK(name, "terminals: cannot tell how many are free")
	case f.PTYsUsed >= f.PTYsMax:
		found.Fail(name, api.HintTerminals, "no terminal is free: %d of %d are in use", f.PTYsUsed, f.PTYsMax)
	case (f.PTYsMax-f.PTYsUsed)*100 < f.PTYsMax*fewPTYs:
		found.Warn(name, api.HintTerminals, "%d of %d terminals are in use", f.PTYsUsed, f.PTYsMax)
	default:
		found.OK(name, "%d of %d terminals are in use", f.PTYsUsed, f.PTYsMax)
	}
	switch {
	case f.FreeBytes < 0:
		found.OK(name, "disk: cannot tell how much is free at %s", f.StateDir)
	case f.FreeBytes < noDisk:
		found.Fail(name, "free some space there", "the disk of %s is full", f.StateDir)
	case f.FreeBytes < lowDisk:
		found.Warn(name, "free some space there: scrollback is stored there", "only %d MiB free on the disk of %s", f.FreeBytes>>20, f.StateDir)
	default:
		found.OK(name, "%d MiB free on the disk of %s", f.FreeBytes>>20, f.StateDir)
	}
	if d := time.Duration(r.SkewMS) * time.Millisecond; d != 0 {
		word := "ahead"
		if d < 0 {
			word = "behind"
		}
		found.Warn(name, "synchronise the clocks (NTP); the times of its sessions are shown as that machine saw them", "its clock is %s %s", d.Abs().Round(time.Second), word)
	}
	judgeMux(found, f, name)
}

// judgeVersion compares the gc there with this one.
func judgeVersion(found *outside.Findings, r *Report, version string) {
	f := r.Facts
	var lacks []string
	for _, kind := range far.Kinds {
		if !slices.Contains(f.Features, kind) {
			lacks = append(lacks, kind)
		}
	}
	switch {
	case len(lacks) > 0:
		found.Fail(r.Name, "gc host install "+r.Name+" installs this version there", "gc %s there lacks what this gc, %s, needs: %s", f.Version, version, strings.Join(lacks, ", "))
	case f.Version != version:
		found.Warn(r.Name, "gc host install "+r.Name+" installs this version there", "gc %s there, this is %s; both understand each other", f.Version, version)
	default:
		found.OK(r.Name, "gc %s, like this one", f.Version)
	}
}

// judgeMux reports the multiplexer there.
func judgeMux(found *outside.Findings, f *far.Facts, name string) {
	switch {
	case f.MuxError != "":
		found.Fail(name, "ssh to it and run gc doctor", "its multiplexer cannot be used: %s", f.MuxError)
	case !f.MuxRunning:
		found.OK(name, "its multiplexer is not running; the first session starts it")
	case f.MuxVersion != f.Version:
		found.Warn(name, "gc mux upgrade --host "+name, "its multiplexer is version %s, its gc %s", f.MuxVersion, f.Version)
	default:
		found.OK(name, "its multiplexer is running, sessions: %d", f.MuxSessions)
	}
}

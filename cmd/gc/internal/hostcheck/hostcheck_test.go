package hostcheck

import (
	"strings"
	"testing"
	"time"

	"gascity.dev/gc/internal/controller/outside"
	"gascity.dev/gc/internal/far"
)

// well is a machine without problems.
func well() far.Facts {
	return far.Facts{
		Version: "v2", Features: far.Kinds, OS: "linux", Arch: "arm64", Hostname: "h", User: "me", StateDir: "/s",
		FreeBytes: 10 << 30, PTYsUsed: 5, PTYsMax: 4096, MuxRunning: true, MuxVersion: "v2", MuxSessions: 3,
	}
}

func TestJudge(t *testing.T) {
	for name, c := range map[string]struct {
		change func(*far.Facts)
		skew   time.Duration
		level  outside.Level
		text   string
		hint   bool
	}{
		"well":          {level: outside.LevelOK, text: "gc v2, like this one"},
		"sessions":      {level: outside.LevelOK, text: "sessions: 3"},
		"no mux":        {change: func(f *far.Facts) { f.MuxRunning = false }, level: outside.LevelOK, text: "the first session starts it"},
		"terminals":     {change: func(f *far.Facts) { f.PTYsUsed = -1 }, level: outside.LevelOK, text: "cannot tell how many are free"},
		"disk":          {change: func(f *far.Facts) { f.FreeBytes = -1 }, level: outside.LevelOK, text: "cannot tell how much"},
		"no terminal":   {change: func(f *far.Facts) { f.PTYsUsed = f.PTYsMax }, level: outside.LevelFail, text: "no terminal is free: 4096 of 4096", hint: true},
		"few terminals": {change: func(f *far.Facts) { f.PTYsUsed = 4000 }, level: outside.LevelWarn, text: "4000 of 4096", hint: true},
		"full disk":     {change: func(f *far.Facts) { f.FreeBytes = 4096 }, level: outside.LevelFail, text: "the disk of /s is full", hint: true},
		"low disk":      {change: func(f *far.Facts) { f.FreeBytes = 100 << 20 }, level: outside.LevelWarn, text: "only 100 MiB", hint: true},
		"ahead":         {skew: time.Hour, level: outside.LevelWarn, text: "its clock is 1h0m0s ahead", hint: true},
		"behind":        {skew: -time.Minute, level: outside.LevelWarn, text: "its clock is 1m0s behind", hint: true},
		"newer": {change: func(f *far.Facts) {
			f.Version, f.MuxVersion, f.Features = "v3", "v3", append(f.Features[:len(f.Features):len(f.Features)], "more")
		}, level: outside.LevelWarn, text: "gc v3 there, this is v2", hint: true},
		"older":          {change: func(f *far.Facts) { f.Version, f.MuxVersion, f.Features = "v1", "v1", []string{"mux", "facts"} }, level: outside.LevelFail, text: "gc v1 there lacks what this gc, v2, needs: environ, run", hint: true},
		"older mux":      {change: func(f *far.Facts) { f.MuxVersion = "v1" }, level: outside.LevelWarn, text: "its multiplexer is version v1, its gc v2", hint: true},
		"another user's": {change: func(f *far.Facts) { f.MuxError = "the socket belongs to another user" }, level: outside.LevelFail, text: "cannot be used: the socket belongs to another user", hint: true},
	} {
		t.Run(name, func(t *testing.T) {
			f := well()
			if c.change != nil {
				c.change(&f)
			}
			r, found := &Report{Name: "build", Facts: &f, SkewMS: c.skew.Milliseconds()}, &outside.Findings{}
			judge(found, r, "v2", 12*time.Millisecond)
			hit := false
			for _, one := range found.List {
				if one.About != "build" {
					t.Errorf("about %q", one.About)
				}
				if strings.Contains(one.Text, c.text) {
					hit = true
					if one.Level != c.level || c.hint != (one.Hint != "") {
						t.Errorf("%+v", one)
					}
				} else if one.Level != outside.LevelOK {
					t.Errorf("also: %+v", one)
				}
			}
			if !hit {
				t.Errorf("no %q in %+v", c.text, found.List)
			}
		})
	}
}

func TestSkew(t *testing.T) {
	began := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
	for _, c := range []struct{ ahead, took, want time.Duration }{
		{0, 100 * time.Millisecond, 0},
		{time.Second, 100 * time.Millisecond, 0},
		{time.Hour, 0, time.Hour},
		{-time.Hour, 0, -time.Hour},
		{6 * time.Second, 10 * time.Second, 0}, // a slow answer explains it
	} {
		if got := skew(began.Add(c.took/2+c.ahead), began, c.took); got != c.want {
			t.Errorf("%+v: %s", c, got)
		}
	}
}

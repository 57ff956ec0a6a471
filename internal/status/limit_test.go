package status_test

import (
	"strings"
	"testing"
	"time"

	"gascity.dev/gc/internal/config"
	"gascity.dev/gc/internal/rule"
	"gascity.dev/gc/internal/status"
	"gascity.dev/gc/vt"
)

// limitsOf returns the limit rules and the ready prefix of a preset.
func limitsOf(t *testing.T, name string) (rules []rule.Limit, ready string) {
	t.Helper()
	all, err := config.PresetLimits()
	if err != nil {
		t.Fatal(err)
	}
	for i := range all {
		if all[i].Provider == name {
			rules = append(rules, all[i].Rule())
		}
	}
	_, ready = preset(t, name)
	return rules, ready
}

// limitScreen is a terminal with what an agent shows, from the end of a turn on.
type limitScreen struct {
	t    *testing.T
	term *vt.Terminal
	d    status.Detector
	f    status.Facts
}

func newLimitScreen(t *testing.T, agent string, now time.Time, text string) *limitScreen {
	t.Helper()
	term, err := vt.New(vt.Options{Cols: 120, Rows: 20})
	if err != nil {
		t.Fatal(err)
	}
	s := &limitScreen{t: t, term: term}
	s.f = status.Facts{Started: now.Add(-time.Hour), Dialogs: rule.Dialogs(), Zone: time.UTC}
	s.f.Limits, s.f.Ready = limitsOf(t, agent)
	s.paint(now, text)
	return s
}

// paint replaces the screen.
func (s *limitScreen) paint(now time.Time, text string) {
	_, _ = s.term.Write([]byte("\x1b[2J\x1b[H" + strings.ReplaceAll(text, "\n", "\r\n")))
	s.f.LastOutput = now
	for _, e := range s.term.TakeEvents() {
		s.d.Event(e, now)
	}
}

// at is the answer at a time: "blocked (ratelimit) 15:00", its state and the end of the limit.
func (s *limitScreen) at(now time.Time) string {
	a, _ := s.d.Detect(s.term, s.f, now)
	text := a.State
	if a.Kind != "" {
		text += " (" + a.Kind + ")"
	}
	if a.Limit == nil {
		return text
	}
	if a.Limit.Until.IsZero() {
		return text + " ?"
	}
	return text + " " + a.Limit.Until.UTC().Format("15:04")
}

const (
	claudeBox = "\n────────\n❯ \n────────\n  ? for shortcuts\x1b[3A\r\x1b[2C"
	idle      = "\x1b]7501;state=idle:app=claude-code\x1b\\"
	failed    = "\x1b]7501;state=error:app=claude-code\x1b\\"
	working   = "\x1b]7501;state=working:app=claude-code\x1b\\"
)

// TestLimits: what agents show when they are limited, as they showed it, over time.
func TestLimits(t *testing.T) {
	t.Parallel()
	noon := time.Date(2026, 11, 23, 12, 0, 0, 0, time.UTC)
	session := "❯ go on\n  ⎿ You've hit your session limit · resets 3pm (UTC)\n"
	for name, x := range map[string]struct {
		agent, text    string
		now, at3, at4  string // ten seconds later, at 15:00:01 and at 16:00
		then, thenText string // at 12:01 after another screen
	}{
		"claude, idle":    {agent: "claude", text: idle + session + claudeBox, now: "blocked (ratelimit) 15:00", at3: "idle", at4: "idle"},
		"claude, error":   {agent: "claude", text: failed + session + claudeBox, now: "blocked (ratelimit) 15:00", at3: "idle", at4: "idle"},
		"claude, no time": {agent: "claude", text: failed + "❯ go on\n● API Error: Request rejected (429) · This request would exceed your account's rate limit. Please try again\n  later.\n" + claudeBox, now: "blocked (ratelimit) ?", at3: "blocked (ratelimit) ?", at4: "blocked (ratelimit) ?"},
		"idle, no time":   {agent: "claude", text: idle + "❯ go on\n● You've hit your monthly spend limit.\n" + claudeBox, now: "idle ?", at3: "idle ?", at4: "idle ?"},
		"it works again": {
			agent: "claude", text: idle + session + claudeBox, now: "blocked (ratelimit) 15:00",
			thenText: working + session + "❯ go on\n✻ Cogitating…\n" + claudeBox, then: "working", at3: "working", at4: "working",
		},
		"the next turn": {
			agent: "claude", text: idle + session + claudeBox, now: "blocked (ratelimit) 15:00",
			thenText: idle + session + "❯ go on\n● Done.\n" + claudeBox, then: "idle", at3: "idle", at4: "idle",
		},
		"a quotation": {agent: "claude", text: idle + "❯ why?\n● It wrote \"You've hit your session limit · resets 3pm (UTC)\".\n" + claudeBox, now: "idle", at3: "idle", at4: "idle"},
		"codex": {
			agent: "codex", text: failed + "› go\n\n■ You’ve hit your usage limit. Visit https://chatgpt.com/codex/settings/\nusage to purchase more credits or try again at 3:00 PM.\n\n\n› Ask Codex\n\n  stub\x1b[3A\r\x1b[2C",
			now: "blocked (ratelimit) 15:00", at3: "idle", at4: "idle",
		},
		"gemini": {
			agent: "gemini", text: "╭────────╮\n│ Usage limit reached for gemini-3.5-flash-lite. │\n│ Access resets at 3:00 PM UTC. │\n│ /stats model for usage details │\n│ │\n│ ● 1. Keep trying │\n│   2. Stop │\n╰────────╯\n",
			now: "blocked (ratelimit) 15:00", at3: "blocked (ratelimit)", at4: "blocked (ratelimit)",
		},
		"opencode": {
			agent: "opencode", text: working + "┃ Build\n\n ⬝⬝■■ Rate limit reached. Please try again in 2h5m. [retrying in 3h attempt #1]   esc interrupt",
			now: "blocked (ratelimit) 15:00", at3: "working", at4: "working",
			thenText: working + "┃ Build\n\n ■■⬝⬝ Rate limit reached. Please try again in 2h5m. [retrying in 2h 59m attempt #1]   esc interrupt", then: "blocked (ratelimit) 15:00",
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := newLimitScreen(t, x.agent, noon, x.text)
			s.at(noon) // a claim of idle is held for a moment
			if got := s.at(noon.Add(10 * time.Second)); got != x.now {
				t.Errorf("then %s, want %s\n%s", got, x.now, s.term.ScreenText())
			}
			if x.then != "" {
				s.paint(noon.Add(time.Minute), x.thenText)
				s.at(noon.Add(time.Minute))
				if got := s.at(noon.Add(time.Minute + 10*time.Second)); got != x.then {
					t.Errorf("after the next screen %s, want %s", got, x.then)
				}
			}
			if got := s.at(noon.Add(3*time.Hour + time.Second)); got != x.at3 {
				t.Errorf("at three %s, want %s", got, x.at3)
			}
			if got := s.at(noon.Add(4 * time.Hour)); got != x.at4 {
				t.Errorf("at four %s, want %s", got, x.at4)
			}
		})
	}
}

// TestLimitIsSaved: another process does not take three o'clock for tomorrow's, and the
// detector asks to be asked when the limit ends.
func TestLimitIsSaved(t *testing.T) {
	t.Parallel()
	noon := time.Date(2026, 11, 23, 12, 0, 0, 0, time.UTC)
	s := newLimitScreen(t, "claude", noon, idle+"❯ go on\n  ⎿ You've hit your session limit · resets 3pm (UTC)\n"+claudeBox)
	s.at(noon.Add(10 * time.Second))
	if _, again := s.d.Detect(s.term, s.f, noon.Add(20*time.Second)); !again.Equal(noon.Add(3 * time.Hour)) {
		t.Errorf("ask again at %v", again)
	}
	if !s.d.Unsaved() {
		t.Error("the limit is not to be saved")
	}
	b, err := s.d.Save()
	if err != nil {
		t.Fatal(err)
	}
	s.d = status.Detector{}
	if err := s.d.Load(b); err != nil {
		t.Fatal(err)
	}
	s.f.LastOutput = noon.Add(5 * time.Hour) // a repaint
	if got := s.at(noon.Add(6 * time.Hour)); got != "idle" {
		t.Errorf("at six %s", got)
	}
}

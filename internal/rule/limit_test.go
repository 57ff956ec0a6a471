package rule

import (
	"strings"
	"testing"
	"time"
)

// TestEnds: the times that limit messages name, as agents write them, seen on a Monday in Berlin.
func TestEnds(t *testing.T) {
	t.Parallel()
	berlin, err := time.LoadLocation("Europe/Berlin")
	if err != nil {
		t.Fatal(err)
	}
	now := time.Date(2026, 11, 23, 14, 30, 0, 0, berlin) // 13:30 UTC
	for text, want := range map[string]string{
		// Claude Code
		"You've hit your session limit · resets 3pm (Europe/Berlin)":                 "2026-11-23T14:00Z",
		"You've hit your session limit · resets 3:45pm (America/New_York)":           "2026-11-23T20:45Z",
		"You've hit your weekly limit · resets Nov 27, 3pm (UTC)":                    "2026-11-27T15:00Z",
		"Claude usage limit reached. Your limit will reset at 3pm (America/Denver).": "2026-11-23T22:00Z",
		"You've hit your limit · resets Jan 2, 12am (UTC)":                           "2027-01-02T00:00Z",
		"You've hit your limit · resets 12pm (UTC)":                                  "2026-11-24T12:00Z",
		// Codex
		"You’ve hit your usage limit. Visit x to purchase more credits or try again at 7:39 PM.": "2026-11-23T18:39Z",
		"You've hit your usage limit. Upgrade to Pro or try again at Nov 30th, 2026 9:05 AM.":    "2026-11-30T08:05Z",
		"You've hit your usage limit. Try again in 3 days 4 hours 5 minutes.":                    "2026-11-26T17:35Z",
		"Rate limit reached. Please try again in 20s. Visit the page to learn more.":             "2026-11-23T13:30:20Z",
		"Rate limit reached for stub. Please try again in 2h5m. [retrying attempt #1]":           "2026-11-23T15:35Z",
		// Gemini
		"Usage limit reached for gemini-3-pro. Access resets at 11:29 PM PST. /stats for details": "2026-11-24T07:29Z",
		"Your quota will reset after 5h24m11s.":                                                   "2026-11-23T18:54:11Z",
		// Others
		"limit: resets at midnight UTC":           "2026-11-24T00:00Z",
		"try again tomorrow at 9:00":              "2026-11-24T08:00Z",
		"resets Thursday at 08:15":                "2026-11-26T07:15Z",
		"try again after 2026-11-24T01:02:03Z":    "2026-11-24T01:02:03Z",
		"resets at 2026-11-24 01:02 +0530":        "2026-11-23T19:32Z",
		"resets at 14:25":                         "2026-11-23T13:25Z", // just over: not tomorrow
		"it resets often, and it resets at 16:00": "2026-11-23T15:00Z",
		"resets 23 Dec 2026 at 4 p.m. CET":        "2026-12-23T15:00Z",
		// No time, or none that is clear.
		"You've hit your monthly spend limit.":                                         "",
		"This request would exceed your account's rate limit. Please try again later.": "",
		"resets Nov 27":                "",
		"resets at 25:00":              "",
		"resets at 13pm":               "",
		"resets at 3pm XYZT":           "",
		"resets at 3pm (Nowhere/Town)": "",
		"resets Feb 31, 3pm":           "",
		"resets in 99999 days":         "",
		"3pm":                          "",
		"resets 3 things":              "",
		"try again 7":                  "",
	} {
		at, ok := (*Limit)(nil).Ends(text, now, berlin)
		got := ""
		if ok {
			got = strings.TrimSuffix(strings.Replace(at.UTC().Format(time.RFC3339), ":00Z", "Z", 1), "")
		}
		if got != want {
			t.Errorf("%q: %s, want %s", text, got, want)
		}
	}
}

// TestEndsInSummer: a zone changes its clock between now and the end.
func TestEndsInSummer(t *testing.T) {
	t.Parallel()
	berlin, err := time.LoadLocation("Europe/Berlin")
	if err != nil {
		t.Fatal(err)
	}
	at, ok := (&Limit{Until: []string{"again"}}).Ends("again tomorrow at 9:00", time.Date(2027, 3, 27, 22, 0, 0, 0, berlin), berlin)
	if want := time.Date(2027, 3, 28, 7, 0, 0, 0, time.UTC); !ok || !at.Equal(want) {
		t.Error(at.UTC(), ok)
	}
}

func TestFindLimit(t *testing.T) {
	t.Parallel()
	rules := []Limit{
		{Name: "message", Any: []string{"You’ve hit your usage limit", "You've hit your"}},
		{Name: "footer", Any: []string{"[retrying"}, Region: Footer},
	}
	for name, x := range map[string]struct {
		screen, want string
		composer     int
	}{
		"codex":           {"› go\n\n■ You’ve hit your usage limit. Upgrade to Pro, visit https://example.com/\nusage to purchase more credits or try again at 7:39 PM.\n\n\n› Ask\n\n  stub", "You’ve hit your usage limit. Upgrade to Pro, visit https://example.com/ usage to purchase more credits or try again at 7:39 PM.", 6},
		"a later turn":    {"■ You’ve hit your usage limit. Try again at 7:39 PM.\n\n› go on\n\n• Done.\n\n› Ask", "", 6},
		"a quotation":     {"› why?\n\n• It says: You’ve hit your usage limit. Try again at 7:39 PM.\n\n› Ask", "", 4},
		"in the composer": {"› go\n\n• Done.\n\n› You've hit your usage limit", "", 4},
		"footer":          {"┃ talk\n\n ⬝⬝ Rate limit reached. Please try again in 2h5m. [retrying attempt #1]   esc", "⬝⬝ Rate limit reached. Please try again in 2h5m. [retrying attempt #1]   esc", 0},
		"next message":    {"› go\n⎿ You've hit your session limit · resets 3pm (UTC)\n● Other text\n› Ask", "You've hit your session limit · resets 3pm (UTC)", 3},
	} {
		_, text := FindLimit(View{Screen: x.screen, Composer: x.composer}, "› ", rules)
		if text != x.want {
			t.Errorf("%s: %q, want %q", name, text, x.want)
		}
	}
}

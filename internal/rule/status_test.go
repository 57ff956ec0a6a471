package rule

import (
	"encoding/json"
	"strings"
	"testing"
)

func TestStatusRules(t *testing.T) {
	screen := "you said: esc to interrupt\n" + strings.Repeat("text of the conversation\n", 20) + "Thinking… (esc to interrupt)\n\n────\n❯ \n────\n? for shortcuts\n"
	view := View{Screen: screen, Line: "❯ ", Title: "⠋ agent"}
	busy := Status{Name: "busy", State: "working", Any: []string{"ctrl-c to stop", "esc to interrupt"}}
	idle := Status{Name: "idle", State: "idle", All: []string{"❯", "? for shortcuts"}, Not: []string{"esc to interrupt"}}
	for name, tt := range map[string]struct {
		rules []Status
		view  View
		want  string
		why   string
	}{
		"below the conversation":  {[]Status{idle, busy}, view, "busy", "Thinking… (esc to interrupt)"},
		"not, where it is quoted": {[]Status{busy, idle}, View{Screen: strings.Replace(screen, "Thinking… (esc to interrupt)", "", 1)}, "idle", "? for shortcuts"},
		"the whole screen":        {[]Status{{Name: "quoted", State: "error", Region: Screen, All: []string{"you said"}}}, view, "quoted", "you said: esc to interrupt"},
		"title":                   {[]Status{{Name: "spins", State: "working", Region: Title, All: []string{"⠋"}}}, view, "spins", "⠋ agent"},
		"the cursor's line":       {[]Status{{Name: "line", State: "idle", Region: Line, All: []string{"❯"}}}, view, "line", "❯"},
		"priority":                {[]Status{busy, {Name: "high", State: "blocked", All: []string{"Thinking"}, Priority: 1}}, view, "high", "Thinking… (esc to interrupt)"},
		"the first of equals":     {[]Status{busy, {Name: "second", State: "idle", All: []string{"Thinking"}}}, view, "busy", "Thinking… (esc to interrupt)"},
		"nothing holds":           {[]Status{idle, {Name: "gone", State: "done", All: []string{"Bye"}}}, view, "", `idle: "esc to interrupt" is in the region bottom; gone: "Bye" is not in the region bottom`},
		"an empty screen":         {[]Status{busy}, View{}, "", `busy: none of ["ctrl-c to stop" "esc to interrupt"] is in the region bottom`},
	} {
		found, why := FindStatus(tt.view, tt.rules)
		if got := ""; found != nil {
			got = found.Name
			if got != tt.want {
				t.Errorf("%s: rule %q, want %q", name, got, tt.want)
			}
		} else if tt.want != "" {
			t.Errorf("%s: no rule holds: %s", name, why)
		}
		if why != tt.why {
			t.Errorf("%s: because %s, want %s", name, why, tt.why)
		}
	}
}

func TestStatusCheck(t *testing.T) {
	r := Status{Name: "a", State: "blocked", Any: []string{"x"}}
	if err := r.Check(); err != nil || r.Region != Bottom || r.Kind != "question" {
		t.Errorf("%+v, %v", r, err)
	}
	for _, bad := range []Status{
		{}, {Name: "a", State: "stuck", Any: []string{"x"}}, {Name: "a", State: "idle"}, {Name: "a", State: "idle", Any: []string{""}},
		{Name: "a", State: "idle", Kind: "auth", Any: []string{"x"}}, {Name: "a", State: "blocked", Kind: "x", Any: []string{"x"}},
		{Name: "a", State: "idle", Region: "top", Any: []string{"x"}},
	} {
		if bad.Check() == nil {
			t.Errorf("accepted %+v", bad)
		}
	}
}

// TestStatusJSON: rules are stored with a session and hashed with a config.
func TestStatusJSON(t *testing.T) {
	for _, text := range []string{
		`{"name":"a","state":"idle"}`,
		`{"name":"a","state":"blocked","kind":"auth","region":"title","all":["x"],"any":["y"],"not":["z"],"priority":1,"moves":true,"settle":1500}`,
	} {
		var r Status
		if err := json.Unmarshal([]byte(text), &r); err != nil {
			t.Fatal(err)
		}
		if b, err := json.Marshal(r); err != nil || string(b) != text {
			t.Errorf("%s, %v; want %s", b, err, text)
		}
	}
}

package junit

import (
	"encoding/xml"
	"errors"
	"testing"
	"time"

	"gascity.dev/gc/internal/controller/api"
	"gascity.dev/gc/runtime"
)

// Each agent is a case, with the true reason if it did not pass.
func TestJUnit(t *testing.T) {
	began := time.Date(2026, 11, 1, 12, 0, 0, 0, time.UTC)
	at := began.Add(time.Second)
	exit := func(code int) *runtime.Exit { return &runtime.Exit{Code: code, Time: at.Add(2 * time.Second)} }
	st := api.Status{City: "town", Agents: []api.AgentStatus{
		{Name: "fine", Session: "s1", State: api.StateExited, OneShot: true, Started: &at, LastExit: exit(0)},
		{Name: "broke", Session: "s2", State: api.StateCrashed, OneShot: true, Started: &at, LastExit: exit(7), LastScreen: "oh <no> \x1b]]>"},
		{Name: "asks", Session: "s3", State: api.StateRunning, Started: &at},
		{Name: "slow", Session: "s4", State: api.StateRunning, OneShot: true, Started: &at},
		{Name: "serves", Session: "s5", State: api.StateRunning, Started: &at},
		{Name: "later", Session: "s6", State: api.StateStopped, OneShot: true, WaitsFor: "broke"},
		{Name: "off", Session: "s7", State: api.StateSuspended},
		{Name: "where", Session: "s8", State: api.StateUnknown, Error: "no answer"},
	}}
	b, err := Report(Run{
		Status: st, Screens: map[string]string{"s1": "all & good\n"}, Began: began, Now: began.Add(10 * time.Second),
		Result: errors.New(`agent asks is blocked (permission): "Remove?"`), Blocked: "asks",
	})
	if err != nil {
		t.Fatal(err)
	}
	var got suites
	if err := xml.Unmarshal(b, &got); err != nil {
		t.Fatalf("%v\n%s", err, b)
	}
	s := got.Suite
	if s.Name != "town" || s.Tests != 8 || s.Failures != 2 || s.Errors != 2 || s.Skipped != 2 || s.Time != "10.000" {
		t.Errorf("suite %+v", s)
	}
	reasons := map[string]string{}
	for _, c := range s.Cases {
		for kind, r := range map[string]*reason{"failure": c.Failure, "error": c.Error, "skipped": c.Skipped} {
			if r != nil {
				reasons[c.Name] = kind + ": " + r.Message
			}
		}
	}
	for name, want := range map[string]string{
		"fine": "", "serves": "", "broke": "failure: crashed: exit status 7", "asks": `failure: agent asks is blocked (permission): "Remove?"`,
		"slow": `error: not done: agent asks is blocked (permission): "Remove?"`, "later": "skipped: waits for broke",
		"off": "skipped: suspended", "where": "error: no answer",
	} {
		if reasons[name] != want {
			t.Errorf("%s: %q, want %q", name, reasons[name], want)
		}
	}
	if c := s.Cases[0]; c.Time != "2.000" || c.Output == nil || c.Output.Text != "all & good\n" {
		t.Errorf("%+v", c)
	}
	if c := s.Cases[1]; c.Failure.Text != "oh <no> \ufffd]]>" {
		t.Errorf("%+v", c.Failure)
	}
	if _, err := Report(Run{Status: st, Result: errors.New("x"), Began: began, Now: began}); err != nil {
		t.Error(err)
	}
}

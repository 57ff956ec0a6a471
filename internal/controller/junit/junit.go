// Package junit makes the JUnit report of a run: the city is the suite, each agent a
// case. It is pure.
package junit

import (
	"encoding/xml"
	"fmt"
	"strings"
	"time"
	"unicode"

	"gascity.dev/gc/internal/controller/api"
)

// Run is what a report is about.
type Run struct {
	Status     api.Status        // at the end
	Screens    map[string]string // the last screens by session
	Began, Now time.Time
	Result     error  // how the run ended
	Blocked    string // the agent whose question is the Result; "" for none
}

type suites struct {
	XMLName xml.Name `xml:"testsuites"`
	Suite   suite    `xml:"testsuite"`
}

type suite struct {
	Name      string     `xml:"name,attr"`
	Tests     int        `xml:"tests,attr"`
	Failures  int        `xml:"failures,attr"`
	Errors    int        `xml:"errors,attr"`
	Skipped   int        `xml:"skipped,attr"`
	Time      string     `xml:"time,attr"` // seconds
	Timestamp string     `xml:"timestamp,attr"`
	Cases     []testCase `xml:"testcase"`
}

type testCase struct {
	Name    string  `xml:"name,attr"`
	Class   string  `xml:"classname,attr"`
	Time    string  `xml:"time,attr"`
	Failure *reason `xml:"failure,omitempty"`
	Error   *reason `xml:"error,omitempty"`
	Skipped *reason `xml:"skipped,omitempty"`
	Output  *text   `xml:"system-out,omitempty"`
}

// text is text that keeps its line ends.
type text struct {
	Text string `xml:",cdata"`
}

type reason struct {
	Message string `xml:"message,attr"`
	Text    string `xml:",cdata"`
}

// Report makes the report.
func Report(r Run) ([]byte, error) {
	all := suite{Name: r.Status.City, Time: seconds(r.Now.Sub(r.Began)), Timestamp: r.Began.UTC().Format("2006-01-02T15:04:05")}
	for _, a := range r.Status.Agents {
		c := testCase{Name: a.Name, Class: r.Status.City, Time: seconds(ran(&a, r.Now))}
		if screen := r.Screens[a.Session]; screen != "" {
			c.Output = &text{xmlText(screen)}
		}
		c.judge(a, r)
		all.Tests++
		switch {
		case c.Failure != nil:
			all.Failures++
		case c.Error != nil:
			all.Errors++
		case c.Skipped != nil:
			all.Skipped++
		}
		all.Cases = append(all.Cases, c)
	}
	b, err := xml.MarshalIndent(suites{Suite: all}, "", "  ")
	return append([]byte(xml.Header), append(b, '\n')...), err
}

// judge sets why a case did not pass: it failed, its result is unknown, or it
// was skipped.
func (c *testCase) judge(a api.AgentStatus, r Run) {
	switch {
	case r.Blocked == a.Name:
		c.Failure = &reason{Message: r.Result.Error()}
	case a.State == api.StateCrashed || a.State == api.StateQuarantined:
		message := string(a.State)
		if a.LastExit != nil {
			message += ": " + a.LastExit.Text()
		}
		c.Failure = &reason{message, xmlText(a.LastScreen)}
	case a.State == api.StateUnknown || a.State != api.StateRunning && a.Error != "":
		c.Error = &reason{Message: a.Error}
	case a.State == api.StateStarting || a.State == api.StateRunning && a.OneShot:
		c.Error = &reason{Message: "not done"}
		if r.Result != nil {
			c.Error.Message += ": " + r.Result.Error()
		}
	case a.State == api.StateExited || a.State == api.StateRunning || a.State == api.StateDraining:
	case a.WaitsFor != "":
		c.Skipped = &reason{Message: "waits for " + a.WaitsFor}
	default:
		c.Skipped = &reason{Message: string(a.State)}
	}
}

// ran returns how long the agent's newest incarnation has run.
func ran(a *api.AgentStatus, now time.Time) time.Duration {
	switch exit := a.LastExit; {
	case a.Started == nil || a.State == api.StateStopped || a.State == api.StateSuspended:
		return 0
	case exit != nil && !exit.Time.Before(*a.Started):
		return exit.Time.Sub(*a.Started)
	}
	return max(now.Sub(*a.Started), 0)
}

// xmlText replaces characters that XML 1.0 (2.2) excludes: encoding/xml does so
// for other text, but not for CDATA.
func xmlText(s string) string {
	return strings.Map(func(r rune) rune {
		if r < ' ' && r != '\n' && r != '\t' || r == 0xfffe || r == 0xffff {
			return unicode.ReplacementChar
		}
		return r
	}, s)
}

func seconds(d time.Duration) string { return fmt.Sprintf("%.3f", d.Seconds()) }

package controller

import (
	"encoding/xml"
	"errors"
	"fmt"
	"strings"
	"time"
	"unicode"

	"gascity.dev/gc/internal/controller/api"
)

// ArtifactJUnit is the run's JUnit report, beside the agents' folders: the city
// is the suite, each agent a case.
const ArtifactJUnit = "junit.xml"

type junitSuites struct {
	XMLName xml.Name   `xml:"testsuites"`
	Suite   junitSuite `xml:"testsuite"`
}

type junitSuite struct {
	Name      string      `xml:"name,attr"`
	Tests     int         `xml:"tests,attr"`
	Failures  int         `xml:"failures,attr"`
	Errors    int         `xml:"errors,attr"`
	Skipped   int         `xml:"skipped,attr"`
	Time      string      `xml:"time,attr"` // seconds
	Timestamp string      `xml:"timestamp,attr"`
	Cases     []junitCase `xml:"testcase"`
}

type junitCase struct {
	Name    string       `xml:"name,attr"`
	Class   string       `xml:"classname,attr"`
	Time    string       `xml:"time,attr"`
	Failure *junitReason `xml:"failure,omitempty"`
	Error   *junitReason `xml:"error,omitempty"`
	Skipped *junitReason `xml:"skipped,omitempty"`
	Output  *junitText   `xml:"system-out,omitempty"`
}

// junitText is text that keeps its line ends.
type junitText struct {
	Text string `xml:",cdata"`
}

type junitReason struct {
	Message string `xml:"message,attr"`
	Text    string `xml:",cdata"`
}

// junit makes the report. screens are the last screens by session; result is how
// the run ended.
func junit(st api.Status, screens map[string]string, result error, began, now time.Time) ([]byte, error) {
	suite := junitSuite{Name: st.City, Time: seconds(now.Sub(began)), Timestamp: began.UTC().Format("2006-01-02T15:04:05")}
	for _, a := range st.Agents {
		c := junitCase{Name: a.Name, Class: st.City, Time: seconds(ran(&a, now))}
		if screen := screens[a.Session]; screen != "" {
			c.Output = &junitText{xmlText(screen)}
		}
		c.judge(a, result)
		suite.Tests++
		switch {
		case c.Failure != nil:
			suite.Failures++
		case c.Error != nil:
			suite.Errors++
		case c.Skipped != nil:
			suite.Skipped++
		}
		suite.Cases = append(suite.Cases, c)
	}
	b, err := xml.MarshalIndent(junitSuites{Suite: suite}, "", "  ")
	return append([]byte(xml.Header), append(b, '\n')...), err
}

// judge sets why a case did not pass: it failed, its result is unknown, or it
// was skipped.
func (c *junitCase) judge(a api.AgentStatus, result error) {
	var blocked *BlockedError
	switch {
	case errors.As(result, &blocked) && blocked.Agent == a.Name:
		c.Failure = &junitReason{Message: blocked.Error()}
	case a.State == api.StateCrashed || a.State == api.StateQuarantined:
		message := string(a.State)
		if a.LastExit != nil {
			message += ": " + a.LastExit.Text()
		}
		c.Failure = &junitReason{message, xmlText(a.LastScreen)}
	case a.State == api.StateUnknown || a.State != api.StateRunning && a.Error != "":
		c.Error = &junitReason{Message: a.Error}
	case a.State == api.StateStarting || a.State == api.StateRunning && a.OneShot:
		c.Error = &junitReason{Message: "not done"}
		if result != nil {
			c.Error.Message += ": " + result.Error()
		}
	case a.State == api.StateExited || a.State == api.StateRunning || a.State == api.StateDraining:
	case a.WaitsFor != "":
		c.Skipped = &junitReason{Message: "waits for " + a.WaitsFor}
	default:
		c.Skipped = &junitReason{Message: string(a.State)}
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

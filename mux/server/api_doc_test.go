package server

import (
	"fmt"
	"os"
	"reflect"
	"regexp"
	"slices"
	"strings"
	"testing"

	"gascity.dev/gc/mux/api"
)

// TestAPIDoc: docs/api.md has a section for each route, a line for each error, and no
// others.
func TestAPIDoc(t *testing.T) {
	doc, err := os.ReadFile("../../docs/api.md")
	if err != nil {
		t.Fatal(err)
	}
	var src []byte
	for _, name := range []string{"http.go", "http_sessions.go", "commands_http.go"} {
		b, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		src = append(src, b...)
	}
	routes := findAll(src, `"((?:GET|PUT|POST|DELETE) /v1/[^"]*)"`)
	if described := findAll(doc, `(?m)^### ((?:GET|PUT|POST|DELETE) /v1/.*)$`); !slices.Equal(routes, described) {
		t.Errorf("routes:\n%q\ndescribed:\n%q", routes, described)
	}
	want := []string{"internal 500"}
	for _, c := range api.Codes {
		want = append(want, fmt.Sprintf("%s %d", c.Code, c.HTTP))
	}
	slices.Sort(want)
	var got []string
	for _, m := range regexp.MustCompile("(?m)^\\| `([a-z_]+)` \\| (\\d+) \\|").FindAllSubmatch(doc, -1) {
		got = append(got, fmt.Sprintf("%s %s", m[1], m[2]))
	}
	if slices.Sort(got); !slices.Equal(got, want) {
		t.Errorf("errors:\n%q\ndescribed:\n%q", want, got)
	}
}

// TestAPIDocFields: each field of requests and replies is in its section, as code.
func TestAPIDocFields(t *testing.T) {
	doc, err := os.ReadFile("../../docs/api.md")
	if err != nil {
		t.Fatal(err)
	}
	for heading, kinds := range map[string][]any{
		"### GET /v1/status":                   {api.ServerStatus{}, api.ProcessStatus{}},
		"## Sessions":                          {api.SessionInfo{}, api.Exit{}},
		"### POST /v1/sessions":                {api.CreateRequest{}, api.Limits{}},
		"## Screen":                            {api.PeekRequest{}, api.PeekResult{}, api.HistoryRequest{}, api.HistoryResult{}},
		"### POST /v1/sessions/{name}/nudge":   {api.NudgeRequest{}, api.Receipt{}},
		"### POST /v1/sessions/{name}/wait":    {api.WaitRequest{}, api.Condition{}, api.WaitResult{}},
		"### POST /v1/sessions/{name}/respond": {api.RespondRequest{}},
		"### POST /v1/queue":                   {api.QueueRequest{}, api.QueueItem{}},
		"### POST /v1/outbox":                  {api.OutboxRequest{}, api.OutboxEntry{}},
		"## Requests to cities":                {api.CityRequest{}, api.CityAsked{}, api.CityAnswer{}},
		"## Background commands":               {api.ExecRequest{}, api.ExecResult{}, api.PollRequest{}, api.LogRequest{}, api.LogResult{}, api.LogLine{}, api.WriteRequest{}},
		"### GET /v1/events":                   {api.Event{}},
		"## Attach":                            {api.AttachControl{}},
	} {
		_, section, found := strings.Cut(string(doc), "\n"+heading+"\n")
		if !found {
			t.Errorf("no section %s", heading)
		}
		next := "\n## "
		if strings.HasPrefix(heading, "###") {
			next = "\n##"
		}
		section, _, _ = strings.Cut(section, next)
		code := strings.Join(findAll([]byte(section), "`([^`]+)`"), " ")
		words := regexp.MustCompile(`\w+`).FindAllString(code, -1)
		for _, kind := range kinds {
			for _, f := range reflect.VisibleFields(reflect.TypeOf(kind)) {
				name, _, _ := strings.Cut(f.Tag.Get("json"), ",")
				if name != "" && name != "-" && !slices.Contains(words, name) {
					t.Errorf("%s: %T has %s", heading, kind, name)
				}
			}
		}
	}
}

// findAll returns the first group of every match, sorted.
func findAll(text []byte, pattern string) []string {
	var found []string
	for _, m := range regexp.MustCompile(pattern).FindAllSubmatch(text, -1) {
		found = append(found, string(m[1]))
	}
	slices.Sort(found)
	return found
}

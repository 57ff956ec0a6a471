package mux

import (
	"fmt"
	"os"
	"regexp"
	"slices"
	"testing"
)

// TestAPIDoc: docs/api.md has a section for every route and a line for every
// error, and none for others.
func TestAPIDoc(t *testing.T) {
	doc, err := os.ReadFile("../docs/api.md")
	if err != nil {
		t.Fatal(err)
	}
	src, err := os.ReadFile("http.go")
	if err != nil {
		t.Fatal(err)
	}
	routes := findAll(src, `"((?:GET|PUT|POST|DELETE) /v1/[^"]*)"`)
	if described := findAll(doc, `(?m)^### ((?:GET|PUT|POST|DELETE) /v1/.*)$`); !slices.Equal(routes, described) {
		t.Errorf("routes:\n%q\ndescribed:\n%q", routes, described)
	}
	want := []string{"internal 500"}
	for _, c := range codes {
		want = append(want, fmt.Sprintf("%s %d", c.code, c.http))
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

// findAll returns the first group of every match, sorted.
func findAll(text []byte, pattern string) []string {
	var found []string
	for _, m := range regexp.MustCompile(pattern).FindAllSubmatch(text, -1) {
		found = append(found, string(m[1]))
	}
	slices.Sort(found)
	return found
}

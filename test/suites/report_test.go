package suites

import (
	"fmt"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// differences is the document that names every failing case.
const differences = "../../docs/vt-differences.md"

// results are the cases of one suite, in the order they ran.
type results struct {
	suite  string
	passed int
	failed []failure
	seen   map[string]bool
}

type failure struct{ name, text string }

// check records a case; text says what differs, "" that it passed.
func (r *results) check(name, text string) {
	if r.seen == nil {
		r.seen = make(map[string]bool)
	}
	for base, n := name, 2; r.seen[name]; n++ {
		name = fmt.Sprintf("%s#%d", base, n)
	}
	r.seen[name] = true
	if text == "" {
		r.passed++
		return
	}
	r.failed = append(r.failed, failure{name, text})
}

// judge prints the suite's line, and compares the failing cases and the figures with
// docs/vt-differences.md.
func (r *results) judge(t *testing.T) {
	t.Helper()
	total := r.passed + len(r.failed)
	if total == 0 {
		t.Fatalf("%s: no case ran", r.suite)
	}
	doc, err := os.ReadFile(differences)
	if err != nil {
		t.Fatal(err)
	}
	fmt.Printf("suite %-12s %4d of %4d\n", r.suite, r.passed, total)
	named := namedCases(string(doc), r.suite)
	for _, f := range r.failed {
		i := slices.Index(named, f.name)
		if i < 0 {
			t.Errorf("%s %s fails, and docs/vt-differences.md does not say why:\n%s", r.suite, f.name, f.text)
			continue
		}
		named = slices.Delete(named, i, i+1)
	}
	for _, name := range named {
		t.Errorf("%s %s is named in docs/vt-differences.md, and passes or does not exist", r.suite, name)
	}
	if want := fmt.Sprintf("| %s | %d | %d |", r.suite, r.passed, total); !strings.Contains(string(doc), want) {
		t.Errorf("docs/vt-differences.md lacks the line %q", want)
	}
}

var quoted = regexp.MustCompile("`([^`]+)`")

// namedCases are the cases of a suite that the table of failing cases names: the second
// column of the rows that begin with the suite's name in backquotes.
func namedCases(doc, suite string) (names []string) {
	for line := range strings.Lines(doc) {
		rest, ok := strings.CutPrefix(line, "| `"+suite+"` |")
		if !ok {
			continue
		}
		cases, _, _ := strings.Cut(rest, "|")
		for _, m := range quoted.FindAllStringSubmatch(cases, -1) {
			names = append(names, m[1])
		}
	}
	return names
}

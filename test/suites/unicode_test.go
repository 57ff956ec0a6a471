package suites

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"unicode"
	"unicode/utf8"

	"gascity.dev/gc/vt"
)

// TestUnicodeBreaks writes each sequence of Unicode's GraphemeBreakTest to a fresh
// terminal and compares the characters of the cells with the clusters of the test, as
// docs/adr/0040-cells-of-clusters.md decides. Sequences with control characters are
// excluded: a terminal carries those out.
func TestUnicodeBreaks(t *testing.T) {
	r := &results{suite: "unicode"}
	for _, c := range breakCases(t) {
		var names []string
		for _, s := range c {
			for _, char := range s {
				names = append(names, fmt.Sprintf("%04X", char))
			}
			names = append(names, "/")
		}
		name := strings.Join(names[:len(names)-1], " ")
		term := newTerm(t, vt.Options{Cols: 40, Rows: 2})
		term.Write([]byte(strings.Join(c, "")))
		var got []string
		for _, cell := range grid(term)[0] {
			if cell.text != "" && !cell.blank {
				got = append(got, cell.text)
			}
		}
		if want := decided(c); slices.Equal(got, want) {
			r.check(name, "")
		} else {
			r.check(name, fmt.Sprintf("cells %+q\nwant  %+q", got, want))
		}
	}
	r.judge(t)
}

// decided are the characters in cells for the clusters at the start of a row. Marks
// without a base have no cell; a spacing mark without a base stands on a space. A blank
// at the end of a row is nothing to a reader.
func decided(clusters []string) (cells []string) {
	for i, c := range clusters {
		if i == 0 {
			c = strings.TrimLeftFunc(c, func(r rune) bool {
				return unicode.In(r, unicode.Mn, unicode.Me) || r == 0x200c || r == 0x200d
			})
			if first, _ := utf8.DecodeRuneInString(c); unicode.Is(unicode.Mc, first) {
				c = " " + c
			}
		}
		if c != "" {
			cells = append(cells, c)
		}
	}
	for len(cells) > 0 && cells[len(cells)-1] == " " {
		cells = cells[:len(cells)-1]
	}
	return cells
}

var (
	breakExpected = regexp.MustCompile(`(?m)^\s*expected: \[\]\[\]byte\{(.*)\},$`)
	breakCluster  = regexp.MustCompile(`\{([^{}]*)\}`)
)

// breakCases are the clusters of every sequence without control characters. The module
// that holds them is an oracle of vt's tests: no network is needed.
func breakCases(t *testing.T) (all [][]string) {
	t.Helper()
	dir, err := exec.Command("go", "list", "-m", "-f", "{{.Dir}}", "github.com/clipperhouse/uax29/v2").Output()
	if err != nil {
		t.Fatal(err)
	}
	src, err := os.ReadFile(filepath.Join(strings.TrimSpace(string(dir)), "graphemes", "unicode_test.go"))
	if err != nil {
		t.Fatal(err)
	}
	if !strings.Contains(string(src), "/17.0.0/ucd/auxiliary/GraphemeBreakTest.txt") {
		t.Fatal("the break test is of another Unicode version than vt's tables")
	}
	for _, m := range breakExpected.FindAllStringSubmatch(string(src), -1) {
		var clusters []string
		control := false
		for _, c := range breakCluster.FindAllStringSubmatch(m[1], -1) {
			var b []byte
			for _, hex := range strings.Split(c[1], ",") {
				n, err := strconv.ParseUint(strings.TrimSpace(hex), 0, 8)
				if err != nil {
					t.Fatal(err)
				}
				b = append(b, byte(n))
			}
			first, _ := utf8.DecodeRune(b)
			control = control || first < 0x20
			clusters = append(clusters, string(b))
		}
		if !control {
			all = append(all, clusters)
		}
	}
	return all
}

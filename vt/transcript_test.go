package vt_test

import (
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"gascity.dev/gc/vt"
)

// A transcript is a text file of cases. Its lines:
//
//	# comment
//	! name of a case — where the standard says so
//	TERM 20x4 [wcwidth] [history=N] [historybytes=N]   size of this case (80x24 without it)
//	PUSH "\e[4;2H" "x"*3        bytes from the program
//	RESIZE 40x10
//	RESET                       a fresh terminal of the same kind
//	DROP                        forget replies and events so far
//	?cursor = 3,1               row and column, counted from 0
//	?row 0 = "text"             one row; ?rows = "a", "b" all rows, without blank ones at the end
//	?reply = "…"                what the terminal answered since the last ?reply
//	?attr 0,3 = bold fg=1       style of a cell, "-" for none
//	?NAME ARG ~ "regexp"        the same as =, but the answer must match
//
// The other queries are in queries. Strings are written as in Go, with \e for
// ESC; "x"*3 repeats, and adjacent strings are joined.

// script is one case of a transcript.
type script struct {
	file string
	line int
	name string
	opts vt.Options
	step []step
}

// step is one line of a case.
type step struct {
	line int
	verb string // PUSH, RESIZE, RESET, DROP or ?
	data []byte // PUSH
	cols int    // RESIZE
	rows int
	name string // ?name arg = want
	arg  string
	like bool
	want string
}

// cut is how the PUSH data of a run is split into writes: step by index, and
// the number of bytes of the first write; all is one byte per write.
type cut struct {
	step, at int
	all      bool
}

var noCut = cut{step: -1}

func TestTranscripts(t *testing.T) {
	for _, s := range loadScripts(t) {
		t.Run(s.name, func(t *testing.T) {
			t.Parallel()
			if !s.run(t, noCut) || !s.run(t, cut{step: -1, all: true}) {
				return
			}
			for i, st := range s.step {
				if len(st.data) > maxSplitPush {
					continue // one byte per write covers it
				}
				for at := 1; at < len(st.data); at++ {
					if !s.run(t, cut{step: i, at: at}) {
						return
					}
				}
			}
		})
	}
}

// maxSplitPush is the longest push tried with every two-part split, in bytes:
// the cost is quadratic.
const maxSplitPush = 400

// run plays the case and reports whether every query got its answer.
func (s script) run(t *testing.T, c cut) bool {
	t.Helper()
	p := &player{opts: s.opts}
	if err := p.reset(); err != nil {
		t.Errorf("%s:%d: %v", s.file, s.line, err)
		return false
	}
	for i, st := range s.step {
		got, err := p.play(st, i, c)
		if err != nil {
			t.Errorf("%s:%d (%s): %v", s.file, st.line, c, err)
			return false
		}
		if st.verb != "?" || st.matches(got) {
			continue
		}
		t.Errorf("%s:%d (%s): ?%s %s\n got %s\nwant %s", s.file, st.line, c, st.name, st.arg, got, st.want)
		return false
	}
	return true
}

func (c cut) String() string {
	switch {
	case c.all:
		return "one byte a write"
	case c.step < 0:
		return "whole"
	}
	return fmt.Sprintf("split at byte %d", c.at)
}

func (st step) matches(got string) bool {
	if !st.like {
		return got == st.want
	}
	pattern, err := unquoteAll(st.want)
	if err != nil {
		return false
	}
	plain := got // not every answer is a string
	if strings.HasPrefix(got, `"`) {
		if plain, err = unquoteAll(got); err != nil {
			return false
		}
	}
	ok, err := regexp.MatchString("^(?s:"+pattern+")$", plain)
	return err == nil && ok
}

// player is a terminal under a running case.
type player struct {
	opts    vt.Options
	term    *vt.Terminal
	replies []byte
	events  []string
}

func (p *player) reset() (err error) {
	p.replies, p.events = nil, nil
	p.term, err = vt.New(p.opts)
	return err
}

func (p *player) play(st step, index int, c cut) (string, error) {
	switch st.verb {
	case "PUSH":
		p.push(st.data, index, c)
	case "RESIZE":
		return "", p.term.Resize(st.cols, st.rows)
	case "RESET":
		return "", p.reset()
	case "DROP":
		p.collect()
		p.replies, p.events = nil, nil
	case "?":
		query, ok := queries[st.name]
		if !ok {
			return "", fmt.Errorf("no query %q", st.name)
		}
		return query(p, st.arg)
	}
	return "", nil
}

func (p *player) push(b []byte, index int, c cut) {
	switch {
	case c.all:
		for i := range b {
			p.write(b[i : i+1])
		}
	case c.step == index:
		p.write(b[:c.at])
		p.write(b[c.at:])
	default:
		p.write(b)
	}
}

// write passes p to the terminal and overwrites the buffer afterwards: the
// terminal must not retain it.
func (p *player) write(b []byte) {
	own := append([]byte(nil), b...)
	p.term.Write(own)
	for i := range own {
		own[i] = '#'
	}
}

func (p *player) collect() {
	p.replies = append(p.replies, p.term.TakeReplies()...)
	for _, e := range p.term.TakeEvents() {
		p.events = append(p.events, eventString(e))
	}
}

// loadScripts reads every transcript in testdata.
func loadScripts(t testing.TB) []script {
	t.Helper()
	files, err := filepath.Glob("testdata/transcripts/*.txt")
	if err != nil || len(files) == 0 {
		t.Fatalf("no transcripts: %v", err)
	}
	var all []script
	for _, f := range files {
		src, err := os.ReadFile(f)
		if err != nil {
			t.Fatal(err)
		}
		scripts, err := parseScripts(f, string(src))
		if err != nil {
			t.Fatal(err)
		}
		all = append(all, scripts...)
	}
	return all
}

func parseScripts(file, src string) ([]script, error) {
	var all []script
	topic := strings.TrimSuffix(filepath.Base(file), ".txt")
	for i, line := range strings.Split(src, "\n") {
		line = strings.TrimSpace(line)
		switch {
		case line == "" || line[0] == '#':
			continue
		case line[0] == '!':
			all = append(all, script{file: file, line: i + 1, name: topic + "/" + strings.TrimSpace(line[1:])})
			continue
		case len(all) == 0:
			return nil, fmt.Errorf("%s:%d: a line before the first case", file, i+1)
		}
		if err := all[len(all)-1].parse(line, i+1); err != nil {
			return nil, fmt.Errorf("%s:%d: %w", file, i+1, err)
		}
	}
	return all, nil
}

// parse adds one line to the case.
func (s *script) parse(line string, number int) error {
	verb, rest, _ := strings.Cut(line, " ")
	st := step{line: number, verb: verb}
	var err error
	switch {
	case verb == "TERM":
		return s.parseTerm(strings.Fields(rest))
	case verb == "PUSH":
		var text string
		text, err = unquoteAll(rest)
		st.data = []byte(text)
	case verb == "RESIZE":
		st.cols, st.rows, err = parseSize(rest)
	case verb == "RESET" || verb == "DROP":
	case verb[0] == '?':
		err = st.parseQuery(line[1:])
	default:
		err = fmt.Errorf("no such line: %q", line)
	}
	s.step = append(s.step, st)
	return err
}

func (s *script) parseTerm(words []string) (err error) {
	for _, w := range words {
		key, value, _ := strings.Cut(w, "=")
		switch key {
		case "wcwidth":
			s.opts.Width = vt.WidthWcwidth
		case "history":
			s.opts.HistoryLines, err = strconv.Atoi(value)
		case "historybytes":
			s.opts.HistoryBytes, err = strconv.ParseInt(value, 10, 64)
		default:
			s.opts.Cols, s.opts.Rows, err = parseSize(w)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// queryLine splits "name arg = want" at the first = or ~ between spaces.
var queryLine = regexp.MustCompile(`^(\S+)((?: [^"=~]*?)?) ([=~]) (.*)$`)

func (st *step) parseQuery(line string) (err error) {
	m := queryLine.FindStringSubmatch(line)
	if m == nil {
		return fmt.Errorf("a query is ?name arg = answer: %q", line)
	}
	st.verb, st.name, st.arg, st.like = "?", m[1], strings.TrimSpace(m[2]), m[3] == "~"
	if st.want = strings.TrimSpace(m[4]); st.like || !strings.HasPrefix(st.want, `"`) {
		return nil
	}
	// Strings are compared in one spelling, whatever the file uses.
	var list []string
	for st.want != "" {
		var text string
		if text, st.want, err = unquoteSome(st.want); err != nil {
			return err
		}
		list = append(list, text)
		st.want = strings.TrimSpace(strings.TrimPrefix(st.want, ","))
	}
	st.want = quoteList(list)
	return nil
}

func parseSize(s string) (cols, rows int, err error) {
	_, err = fmt.Sscanf(s, "%dx%d", &cols, &rows)
	return cols, rows, err
}

// unquoteAll reads adjacent strings, each with an optional *count.
func unquoteAll(s string) (string, error) {
	text, rest, err := unquoteSome(s)
	if err == nil && rest != "" {
		err = fmt.Errorf("after the string: %q", rest)
	}
	return text, err
}

// unquoteSome is unquoteAll up to a comma.
func unquoteSome(s string) (text, rest string, err error) {
	var b strings.Builder
	for s = strings.TrimSpace(s); s != "" && s[0] != ','; s = strings.TrimSpace(s) {
		end := 1
		for end < len(s) && s[end] != '"' {
			if s[end] == '\\' {
				end++
			}
			end++
		}
		if s[0] != '"' || end >= len(s) {
			return "", "", fmt.Errorf("not a string: %q", s)
		}
		part, err := strconv.Unquote(escToHex(s[:end+1]))
		if err != nil {
			return "", "", fmt.Errorf("%s: %w", s[:end+1], err)
		}
		count := 1
		if s = s[end+1:]; strings.HasPrefix(s, "*") {
			digits := len(s[1:]) - len(strings.TrimLeft(s[1:], "0123456789"))
			if count, err = strconv.Atoi(s[1 : 1+digits]); err != nil {
				return "", "", err
			}
			s = s[1+digits:]
		}
		b.WriteString(strings.Repeat(part, count))
	}
	return b.String(), s, nil
}

// escToHex writes \e as \x1b, but not \\e.
func escToHex(s string) string {
	var b strings.Builder
	for i := 0; i < len(s); i++ {
		if s[i] != '\\' || i+1 == len(s) {
			b.WriteByte(s[i])
			continue
		}
		i++
		if s[i] == 'e' {
			b.WriteString(`\x1b`)
		} else {
			b.WriteByte('\\')
			b.WriteByte(s[i])
		}
	}
	return b.String()
}

// quoteList is the one spelling of a list of strings.
func quoteList(list []string) string {
	quoted := make([]string, len(list))
	for i, s := range list {
		quoted[i] = strings.ReplaceAll(strconv.Quote(s), `\x1b`, `\e`)
	}
	return strings.Join(quoted, ", ")
}

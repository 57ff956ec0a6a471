//go:build unix

package server

import (
	"fmt"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"gascity.dev/gc/mux/api"
	"gascity.dev/gc/mux/attach"
	"gascity.dev/gc/mux/internal/persontest"
	"gascity.dev/gc/vt"
)

// numbered is a program that, after Enter, writes a number of numbered lines with
// colours, characters of several bytes and queries, in bursts with a pause, and then
// waits.
func numbered(lines, burst int) string {
	return fmt.Sprintf(`stty -echo; echo ready; read x; i=0; while [ $i -lt %d ]; do i=$((i+1))
printf 'n\033[3%%dm%%06d\033[m €ü\033[5n\033]10;?\007!\n' $((i%%8)) $i
[ $((i%%%d)) -ne 0 ] || sleep 0.01; done; echo finished; exec cat`, lines, burst)
}

var numberedLine = regexp.MustCompile(`(?m)^n(\d{6}) €ü!$`)

// checkNumbers fails unless the numbered lines of a text are consecutive.
func checkNumbers(t *testing.T, what, text string) (first, last int) {
	t.Helper()
	for i, m := range numberedLine.FindAllStringSubmatch(text, -1) {
		n, _ := strconv.Atoi(m[1])
		if i == 0 {
			first, last = n, n-1
		}
		if n != last+1 {
			t.Fatalf("%s: line %d follows line %d", what, n, last)
		}
		last = n
	}
	return first, last
}

// TestAttachResumes: a terminal whose server is killed again and again gets every byte
// exactly once, as long as the next server has what it missed.
func TestAttachResumes(t *testing.T) {
	t.Parallel()
	c := startServer(t)
	create(t, c, "demo", numbered(1500, 5))
	p := persontest.New(t)
	p.Resize(api.DefaultCols, api.DefaultRows)
	r := attachPerson(p, c, "demo", nil)
	p.Shows("ready")
	p.Types("\r")
	p.Sees("000010")
	for kills := range 6 {
		killServer(t, c)
		n := fmt.Sprintf("%06d", (kills+1)*200)
		p.Sees(n + "\x1b[m €ü!")
	}
	p.Sees("finished")
	waitClients(t, c, 1)
	shown := strings.Replace(p.All(), attach.Questions, "", 1)
	if diff := cmp.Diff(sessionScreen(t, c), personScreen(t, p)); diff != "" {
		t.Errorf("the terminal does not show the session (-session +terminal):\n%s", diff)
	}
	p.Types("\x02d")
	r.want(attach.Detached)
	if resets := strings.Count(shown, string(vt.AppendReset(nil))); resets != 0 {
		t.Errorf("painted anew %d times", resets)
	}
	if strings.Contains(shown, "\x1b[5n") || strings.Contains(shown, "\x1b]10;?") {
		t.Error("a question reached the terminal")
	}
	if first, last := checkNumbers(t, "the terminal's bytes", shownText(t, shown)); first != 1 || last != 1500 {
		t.Errorf("lines %d to %d", first, last)
	}
}

// TestAttachResumesOrPaints: at full speed the missed bytes are sometimes gone. The
// terminal is painted then, and what follows is exact again.
func TestAttachResumesOrPaints(t *testing.T) {
	t.Parallel()
	c := startServer(t)
	create(t, c, "demo", numbered(40000, 200))
	p := persontest.New(t)
	p.Resize(api.DefaultCols, api.DefaultRows)
	r := attachPerson(p, c, "demo", nil)
	p.Shows("ready")
	p.Types("\r")
	p.Sees("000010")
	for range 12 {
		killServer(t, c)
		waitClients(t, c, 1)
		before := len(p.All())
		p.Await("more output", func() bool { return len(p.Seen) > before+1000 || strings.Contains(string(p.Seen), "finished") })
	}
	p.Shows("finished")
	if diff := cmp.Diff(sessionScreen(t, c), personScreen(t, p)); diff != "" {
		t.Errorf("the terminal does not show the session (-session +terminal):\n%s", diff)
	}
	shown := p.All()
	p.Types("\x02d")
	r.want(attach.Detached)
	parts := strings.Split(shown, string(vt.AppendReset(nil)))
	t.Logf("painted anew %d times of 12", len(parts)-1)
	for i, part := range parts {
		checkNumbers(t, fmt.Sprintf("part %d of %d", i, len(parts)), shownText(t, part))
	}
}

// shownText is what a terminal with a long history shows for the bytes.
func shownText(t *testing.T, shown string) string {
	t.Helper()
	term, err := vt.New(vt.Options{Cols: api.DefaultCols, Rows: api.DefaultRows, HistoryLines: 100000})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := term.Write([]byte(shown)); err != nil {
		t.Fatal(err)
	}
	return term.Text(vt.TextOptions{})
}

// TestAttachResumePlace: where a client may continue and what it gets there, split at
// every byte.
func TestAttachResumePlace(t *testing.T) {
	t.Parallel()
	c := startServer(t)
	const text = "one \x1b[31mred\x1b[m ü\x1b[5n\x1b]10;?\x07 two\x1b]2;title\x07 three"
	create(t, c, "demo", `stty -echo -onlcr; printf ready; read x; printf 'one \033[31mred\033[m ü\033[5n\033]10;?\007 two\033]2;title\007 three'; exec cat`)
	await(t, c, "demo", "ready")
	conn, err := c.Attach(t.Context(), api.AttachRequest{Name: "demo", Cols: api.DefaultCols, Rows: api.DefaultRows})
	if err != nil {
		t.Fatal(err)
	}
	var got []byte
	var offset uint64
	for painted := 0; !strings.HasSuffix(string(got), "three"); {
		m, data, err := conn.Read(t.Context())
		switch {
		case err != nil:
			t.Fatalf("%v after %q", err, got)
		case m != nil && m.Type == "paint":
			offset, painted = m.Offset, 0
			if !m.Raw || m.Cols != api.DefaultCols || m.Rows != api.DefaultRows {
				t.Errorf("painted for %+v", m)
			}
		case painted == 0 && m == nil:
			painted, got = 1, nil
			if err := c.Keys(t.Context(), "demo", []string{"Enter"}, false); err != nil {
				t.Fatal(err)
			}
		case m == nil:
			got = append(got, data...)
		}
	}
	conn.Close()
	want := strings.NewReplacer("\x1b[5n", "", "\x1b]10;?\x07", "").Replace(text)
	if string(got) != want {
		t.Fatalf("passed %q, want %q", got, want)
	}
	at := func(r api.AttachRequest) (kind, data string) {
		t.Helper()
		r.Name, r.Cols, r.Rows, r.Back = "demo", api.DefaultCols, api.DefaultRows, true
		conn, err := c.Attach(t.Context(), r)
		if err != nil {
			t.Fatal(err)
		}
		defer conn.Close()
		m, _, err := conn.Read(t.Context())
		if err != nil || m == nil {
			t.Fatalf("first came %+v, %v", m, err)
		}
		if m.Type == "resume" && r.Skip == uint64(len(want)) {
			return m.Type, ""
		}
		_, b, err := conn.Read(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		return m.Type, string(b)
	}
	for skip := range len(want) + 1 {
		kind, data := at(api.AttachRequest{Resume: true, Offset: offset, Skip: uint64(skip)})
		if kind != "resume" || data != want[skip:] {
			t.Errorf("behind %d bytes: %s %q, want %q", skip, kind, data, want[skip:])
		}
	}
	for name, r := range map[string]api.AttachRequest{
		"no place":   {},
		"the future": {Resume: true, Offset: offset + 1000},
		"more bytes": {Resume: true, Offset: offset, Skip: uint64(len(want) + 1)},
	} {
		if kind, _ := at(r); kind != "paint" {
			t.Errorf("%s: %s", name, kind)
		}
	}
}

// TestAttachBackKeepsTheSize: after a restart the size stays that of the client that
// typed last, whichever returns first.
func TestAttachBackKeepsTheSize(t *testing.T) {
	t.Parallel()
	c := startServer(t)
	create(t, c, "demo", "stty -echo; echo ready; exec cat")
	await(t, c, "demo", "ready")
	var people []*persontest.Person
	var runs []*attachRun
	for _, size := range []api.Size{{Cols: 100, Rows: 30}, {Cols: 60, Rows: 20}} {
		p := persontest.New(t)
		p.Resize(size.Cols, size.Rows)
		runs = append(runs, attachPerson(p, c, "demo", nil))
		p.Shows("ready")
		people = append(people, p)
	}
	people[1].Types("x\r")
	people[0].Shows("x")
	for range 3 {
		killServer(t, c)
		waitClients(t, c, 2)
		if got := sessionSize(t, c); got != (api.Size{Cols: 60, Rows: 20}) {
			t.Fatalf("the size is %+v", got)
		}
	}
	people[0].Types("y\r")
	people[0].Shows("y")
	people[1].Types("\x02d")
	people[0].Types("\x02d")
	for _, r := range runs {
		r.want(attach.Detached)
	}
	if got := sessionSize(t, c); got != (api.Size{Cols: api.DefaultCols, Rows: api.DefaultRows}) {
		t.Errorf("the size is %+v", got)
	}
}

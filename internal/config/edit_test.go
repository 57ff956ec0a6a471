package config

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

const edited = `# my city
[workspace]
name = "c"  # its name

# the first
[[rigs]]
name = "one" # inline
# inside
path = "1"

# the second
[[rigs]]
name = "two"
path = "2"
suspended = true

[[agents]]
name = "a"
dir = "two"
`

// fileCity is a city with a file on disk.
func fileCity(t *testing.T, text string) *City {
	t.Helper()
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, FileName), []byte(text), 0o640); err != nil {
		t.Fatal(err)
	}
	c, err := Load(dir)
	if err != nil {
		t.Fatal(err)
	}
	return c
}

func TestRigsAreEditedInPlace(t *testing.T) {
	c := fileCity(t, edited)
	read := func() string {
		b, err := os.ReadFile(c.File)
		if err != nil {
			t.Fatal(err)
		}
		return string(b)
	}
	if err := AddRig(c, "three", `a "path"`); err != nil {
		t.Fatal(err)
	}
	if want := edited + "\n[[rigs]]\nname = \"three\"\npath = \"a \\\"path\\\"\"\n"; read() != want {
		t.Errorf("added:\n%s", read())
	}
	if st, err := os.Stat(c.File); err != nil || st.Mode().Perm() != 0o640 {
		t.Errorf("mode %v, %v", st.Mode(), err)
	}
	if err := RemoveRig(c, "three"); err != nil {
		t.Fatal(err)
	}
	if read() != edited {
		t.Errorf("removed again:\n%s", read())
	}
	if err := RemoveRig(c, "one"); err != nil {
		t.Fatal(err)
	}
	want := "# my city\n[workspace]\nname = \"c\"  # its name\n\n# the first\n\n# the second\n[[rigs]]\nname = \"two\"\n"
	if got := read(); len(got) < len(want) || got[:len(want)] != want {
		t.Errorf("removed the first:\n%s", got)
	}
	before := read()
	for _, e := range []struct {
		err  error
		want error
	}{
		{AddRig(c, "two", "x"), ErrRigExists}, {RemoveRig(c, "one"), ErrUnknownRig}, {RemoveRig(c, "two"), ErrRigInUse},
	} {
		if !errors.Is(e.err, e.want) {
			t.Errorf("got %v, want %v", e.err, e.want)
		}
	}
	if AddRig(c, "../x", "x") == nil {
		t.Error("a name that is a path was taken")
	}
	if read() != before {
		t.Errorf("an edit that failed changed the file:\n%s", read())
	}
	if list, _ := filepath.Glob(filepath.Join(c.Dir, ".city-*")); len(list) > 0 {
		t.Errorf("left behind: %v", list)
	}
}

// Files that cannot be edited line by line are left alone.
func TestRigsThatNeedAHand(t *testing.T) {
	const inline = "rigs = [{name = \"one\", path = \"1\"}, {name = \"two\", path = \"2\"}]\n[workspace]\nname = \"c\"\n"
	c := fileCity(t, inline)
	if err := AddRig(c, "three", "3"); !errors.Is(err, ErrByHand) {
		t.Errorf("add: %v", err)
	}
	if err := RemoveRig(c, "one"); !errors.Is(err, ErrByHand) {
		t.Errorf("remove: %v", err)
	}
	if b, err := os.ReadFile(c.File); err != nil || string(b) != inline {
		t.Errorf("the file was changed: %s, %v", b, err)
	}
	var p *Problems
	broken := fileCity(t, "[workspace]\nname = \"c\"\n")
	if err := os.WriteFile(broken.File, []byte("[workspace]\nnme = 1\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := AddRig(broken, "x", "x"); !errors.As(err, &p) {
		t.Errorf("a broken file: %v", err)
	}
}

// TestPlacementIsSetInPlace: only the value of the key changes; comments, order and
// permissions stay.
func TestPlacementIsSetInPlace(t *testing.T) {
	for name, c := range map[string]struct{ before, after string }{
		"a key of its own": {
			"[workspace]\nname = \"c\"\n[[agents]]\nname = \"a\"\n  session = 'tmux' # here\nnudge = \"x\"\n",
			"[workspace]\nname = \"c\"\n[[agents]]\nname = \"a\"\n  session = \"exec:/x\" # here\nnudge = \"x\"\n",
		},
		"no key yet": {
			"[workspace]\nname = \"c\"\n[[agents]] # first\n# its name\nname = \"a\" # a\n\n[agents.pool]\nmax = 2\n[[agents]]\nname = \"b\"\nsession = \"tmux\"\n",
			"[workspace]\nname = \"c\"\n[[agents]] # first\n# its name\nname = \"a\" # a\nsession = \"exec:/x\"\n\n[agents.pool]\nmax = 2\n[[agents]]\nname = \"b\"\nsession = \"tmux\"\n",
		},
		"no newline at the end": {"[workspace]\nname = \"c\"\n[[agents]]\nname = \"a\"", "[workspace]\nname = \"c\"\n[[agents]]\nname = \"a\"\nsession = \"exec:/x\""},
	} {
		city := fileCity(t, c.before)
		if err := SetPlacement(city, "a", Placement{Session: "exec:/x", WorkDir: city.Agents[0].WorkDir}); err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		if got, err := os.ReadFile(city.File); err != nil || string(got) != c.after {
			t.Errorf("%s: %v\n%s", name, err, got)
		}
		if st, err := os.Stat(city.File); err != nil || st.Mode().Perm() != 0o640 {
			t.Errorf("%s: %v, %v", name, st.Mode(), err)
		}
		if err := SetPlacement(city, "a", Placement{WorkDir: city.Agents[0].WorkDir}); err != nil {
			t.Errorf("%s: remove: %v", name, err)
		}
		if got, err := os.ReadFile(city.File); err != nil || strings.Contains(string(got), "exec:/x") || strings.Count(string(got), "\n") != strings.Count(c.after, "\n")-1 && !strings.HasSuffix(c.after, "x\"") {
			t.Errorf("%s: removed: %v\n%s", name, err, got)
		}
	}
}

// TestPlacementThatNeedsAHand: what cannot be edited line by line stays as it is.
func TestPlacementThatNeedsAHand(t *testing.T) {
	for name, c := range map[string]struct {
		text, agent string
		want        error
	}{
		"inline":         {"agents = [{name = \"a\"}]\n[workspace]\nname = \"c\"\n", "a", ErrByHand},
		"several lines":  {"[workspace]\nname = \"c\"\n[[agents]]\nname = \"a\"\nsession = \"\"\"tm\\\nux\"\"\"\n", "a", ErrByHand},
		"no such agent":  {"[workspace]\nname = \"c\"\n[[agents]]\nname = \"a\"\n", "b", ErrUnknownAgent},
		"a dotted table": {"[workspace]\nname = \"c\"\n[[agents]]\nname = \"a\"\n", "rig/a", ErrUnknownAgent},
	} {
		city := fileCity(t, c.text)
		if err := SetPlacement(city, c.agent, Placement{Session: "exec:/x"}); !errors.Is(err, c.want) {
			t.Errorf("%s: %v, want %v", name, err, c.want)
		}
		if got, err := os.ReadFile(city.File); err != nil || string(got) != c.text {
			t.Errorf("%s: %v\n%s", name, err, got)
		}
	}
}

// TestPlacementOfTwoKeys: both keys change, whatever their order, and change back.
func TestPlacementOfTwoKeys(t *testing.T) {
	const head = "[workspace]\nname = \"c\"\n[[agents]]\n"
	for before, after := range map[string]string{
		"name = \"a\"\nnudge = \"x\"\n":                                           "name = \"a\"\nwork_dir = \"/w\"\nsession = \"exec:/x\"\nnudge = \"x\"\n",
		"work_dir = \"one\"\nname = \"a\"\n":                                      "work_dir = \"/w\"\nname = \"a\"\nsession = \"exec:/x\"\n",
		"name = \"a\"\nwork_dir = \"one\"\n# between\nsession = \"tmux\" # it\n":  "name = \"a\"\nwork_dir = \"/w\"\n# between\nsession = \"exec:/x\" # it\n",
		"session = \"tmux\"\nwork_dir = \"one\"\n\nname = \"a\"\n[agents.pool]\n": "session = \"exec:/x\"\nwork_dir = \"/w\"\n\nname = \"a\"\n[agents.pool]\n",
	} {
		c := fileCity(t, head+before)
		was := c.Agents[0].Placement()
		if err := SetPlacement(c, "a", Placement{"exec:/x", "/w"}); err != nil {
			t.Fatalf("%s%v", before, err)
		}
		if got, err := os.ReadFile(c.File); err != nil || string(got) != head+after {
			t.Errorf("%v\n%s", err, got)
		}
		if err := SetPlacement(c, "a", was); err != nil {
			t.Fatalf("%s%v", before, err)
		}
		if got, err := os.ReadFile(c.File); err != nil || string(got) != head+before {
			t.Errorf("back: %v\n%s", err, got)
		}
	}
}

package config

import (
	"errors"
	"os"
	"path/filepath"
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

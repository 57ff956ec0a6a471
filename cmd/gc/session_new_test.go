package main

import "testing"

func TestShellLine(t *testing.T) {
	for _, c := range []struct {
		argv []string
		want string
	}{
		{nil, ""},
		{[]string{"make && make test"}, "make && make test"},
		{[]string{"sh", "-c", "echo $HOME"}, "exec sh -c 'echo $HOME'"},
	} {
		if got := shellLine(c.argv); got != c.want {
			t.Errorf("shellLine(%q) = %q, want %q", c.argv, got, c.want)
		}
	}
}

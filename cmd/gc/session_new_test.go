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

func TestParseSize(t *testing.T) {
	for in, want := range map[string][2]int{
		"120x40": {120, 40}, "1x1": {1, 1}, "": {}, "80": {}, "80x": {}, "x24": {}, "80x24x3": {}, "80x24 ": {}, "-1x5": {}, "0x0": {}, "80,24": {},
	} {
		cols, rows, err := parseSize(in)
		if (err != nil) != (want == [2]int{}) || err == nil && [2]int{cols, rows} != want {
			t.Errorf("parseSize(%q) = %d, %d, %v", in, cols, rows, err)
		}
	}
}

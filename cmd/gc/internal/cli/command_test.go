package cli

import "testing"

func TestParseSize(t *testing.T) {
	for in, want := range map[string][2]int{
		"120x40": {120, 40}, "1x1": {1, 1}, "": {}, "80": {}, "80x": {}, "x24": {}, "80x24x3": {}, "80x24 ": {}, "-1x5": {}, "0x0": {}, "80,24": {},
	} {
		cols, rows, err := ParseSize(in)
		if (err != nil) != (want == [2]int{}) || err == nil && [2]int{cols, rows} != want {
			t.Errorf("ParseSize(%q) = %d, %d, %v", in, cols, rows, err)
		}
	}
}

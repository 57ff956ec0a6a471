package keys

import (
	"errors"
	"strings"
	"testing"

	"pgregory.net/rapid"
)

// Every encoding of ctrl-b and d.
var (
	ctrlBEncodings = map[string]string{
		"legacy":              "\x02",
		"kitty":               "\x1b[98;5u",
		"kitty press":         "\x1b[98;5:1u",
		"kitty repeat":        "\x1b[98;5:2u",
		"kitty alternates":    "\x1b[98:66;5:1u",
		"kitty caps lock":     "\x1b[98;69u",
		"kitty num lock":      "\x1b[98;133:1u",
		"kitty both locks":    "\x1b[98;197u",
		"kitty cyrillic":      "\x1b[1080::98;5u",
		"kitty shifted, base": "\x1b[1080:1048:98;5:1u",
		"modifyOtherKeys":     "\x1b[27;5;98~",
	}
	dEncodings = map[string]string{
		"legacy":          "d",
		"kitty":           "\x1b[100u",
		"kitty press":     "\x1b[100;1:1u",
		"kitty text":      "\x1b[100;;100u",
		"kitty caps lock": "\x1b[100;65;68u",
		"kitty num lock":  "\x1b[100;129u",
		"modifyOtherKeys": "\x1b[27;1;100~",
	}
)

func TestDetachEncodings(t *testing.T) {
	between := map[string]string{
		"nothing":              "",
		"release":              "\x1b[98;5:3u",
		"ctrl and its release": "\x1b[98;5:3u\x1b[57442;1:3u",
		"focus":                "\x1b[O\x1b[I",
		"mouse motion":         "\x1b[<35;10;20M\x1b[M\x43!!\x1b[67;5;6M",
		"mouse release":        "\x1b[<0;10;20m",
	}
	for bn, b := range ctrlBEncodings {
		for mn, m := range between {
			for dn, d := range dEncodings {
				in := "ls" + b + m + d + "rest"
				for _, step := range []int{1, 2, 3, len(in)} {
					matcher := NewDetachMatcher(DetachKeys{})
					forward, rest, found := feedSteps(matcher, in, step)
					if !found || forward != "ls" || rest != "rest" {
						t.Errorf("%s, %s, %s by %d bytes: %q forwarded, %q behind, detach %v", bn, mn, dn, step, forward, rest, found)
					}
				}
			}
		}
	}
}

// feedSteps feeds in by pieces and returns what was forwarded and what was left
// over.
func feedSteps(m *DetachMatcher, in string, step int) (forward, rest string, found bool) {
	var out strings.Builder
	for len(in) > 0 {
		n := min(step, len(in))
		f, d := m.Feed([]byte(in[:n]))
		out.Write(f)
		in = in[n:]
		if d {
			return out.String(), string(m.Rest()) + in, true
		}
	}
	f, _ := m.Flush()
	out.Write(f)
	return out.String(), "", false
}

func TestDetachNot(t *testing.T) {
	for name, c := range map[string]struct{ keys, in, forward string }{
		"prefix held":             {"", "a\x02", "a"},
		"prefix twice sends one":  {"", "\x02\x02", "\x02"},
		"twice, then d":           {"", "\x02\x02d", "\x02d"},
		"thrice, then x":          {"", "\x02\x02\x02x", "\x02\x02x"},
		"twice in kitty":          {"", "\x1b[98;5u\x1b[98;5:3u\x1b[98;5u", "\x1b[98;5u\x1b[98;5:3u"},
		"twice, mixed":            {"", "\x02\x1b[98;5u", "\x02"},
		"another key":             {"", "\x02x", "\x02x"},
		"another key in kitty":    {"", "\x1b[98;5u\x1b[98;5:3u\x1b[120u", "\x1b[98;5u\x1b[98;5:3u\x1b[120u"},
		"d released":              {"", "\x02\x1b[100;1:3ux", "\x02\x1b[100;1:3ux"},
		"arrow":                   {"", "\x02\x1b[A", "\x02\x1b[A"},
		"alt-d":                   {"", "\x02\x1bd", "\x02\x1bd"},
		"capital D":               {"", "\x02D", "\x02D"},
		"ctrl-d":                  {"", "\x02\x04", "\x02\x04"},
		"ctrl-d in kitty":         {"", "\x02\x1b[100;5u", "\x02\x1b[100;5u"},
		"ctrl-shift-b":            {"", "\x1b[98;6ud", "\x1b[98;6ud"},
		"ctrl-shift-b in xterm":   {"", "\x1b[27;6;66~d", "\x1b[27;6;66~d"},
		"ctrl-alt-b":              {"", "\x1b\x02d", "\x1b\x02d"},
		"super-b":                 {"", "\x1b[98;9ud", "\x1b[98;9ud"},
		"release of ctrl-b":       {"", "\x1b[98;5:3ud", "\x1b[98;5:3ud"},
		"mouse button":            {"", "\x02\x1b[<0;1;1Md", "\x02\x1b[<0;1;1Md"},
		"paste":                   {"", "\x1b[200~x\x02dy\x1b[98;5ud\x1b[201~", "\x1b[200~x\x02dy\x1b[98;5ud\x1b[201~"},
		"paste after the prefix":  {"", "\x02\x1b[200~d\x1b[201~", "\x02\x1b[200~d\x1b[201~"},
		"end mark cut in paste":   {"", "\x1b[200~\x1b[20\x1b[201\x02d\x1b[201~", "\x1b[200~\x1b[20\x1b[201\x02d\x1b[201~"},
		"utf-8":                   {"", "é\x02é", "é\x02é"},
		"d in an osc":             {"", "\x1b]10;rgb:\x1b\\\x02\x1b]11;d\x07", "\x1b]10;rgb:\x1b\\\x02\x1b]11;d\x07"},
		"none":                    {"none", "\x02d", "\x02d"},
		"three keys, second off":  {"C-a C-b C-c", "\x01\x02x", "\x01\x02x"},
		"three keys, begun anew":  {"C-a C-b C-c", "\x01\x02\x01\x02x", "\x01\x02\x01\x02x"},
		"other keys":              {"ctrl-q", "\x02d", "\x02d"},
		"docker's, cut short":     {"ctrl-p,ctrl-q", "\x10p", "\x10p"},
		"linux console":           {"", "\x02\x1b[[Ad", "\x02\x1b[[Ad"},
		"escape, then the prefix": {"", "\x1b[\x02x", "\x1b[\x02x"},
	} {
		for step := 1; step <= len(c.in); step++ {
			keys, err := ParseDetach(c.keys)
			if err != nil {
				t.Fatal(err)
			}
			forward, _, found := feedSteps(NewDetachMatcher(keys), c.in, step)
			if found || forward != c.forward {
				t.Errorf("%s by %d bytes: %q forwarded, want %q, detach %v", name, step, forward, c.forward, found)
			}
		}
	}
}

func TestDetachOtherSequences(t *testing.T) {
	for _, c := range []struct{ keys, in, forward string }{
		{"ctrl-q", "ab\x11", "ab"},
		{"C-q", "ab\x1b[113;5u", "ab"},
		{"ctrl-p,ctrl-q", "\x10\x11", ""},
		{"ctrl-p ctrl-q", "\x10\x1b[113;5u", ""},
		{"C-a C-b C-c", "\x01\x02\x01\x02\x03", "\x01\x02"},
		{"^] q", "\x1dq", ""},
		{"ctrl-] q", "\x1b[93;5uq", ""},
		{"C-b C-b", "\x02\x02", ""},
		{"ctrl-b ,", "\x02,", ""},
		{"ctrl-,", "\x1b[44;5u", ""},
		{"~ .", "~.", ""},
		{"ctrl-b %", "\x02\x1b[53:37;2u", ""},
		{"C-b D", "\x02D", ""},
		{"C-b D", "\x02\x1b[100;2u", ""},
		{"C-b D", "\x02\x1b[100:68;2:1u", ""},
		{"F12", "\x1b[24~", ""},
		{"C-F1", "\x1b[1;5P", ""},
		{"F1", "\x1bOP", ""},
		{"S-F3", "\x1b[13;2~", ""},
		{"M-d", "\x1bd", ""},
		{"M-d", "\x1b[100;3u", ""},
		{"ctrl-m", "\r", ""},
		{"Enter", "\x1b[13u", ""},
		{"ctrl-space x", "\x00x", ""},
		{"C-@ x", "\x1b[32;5ux", ""},
		{"ctrl-shift-q", "\x1b[113;6u", ""},
		{"ctrl-shift-q", "\x1b[27;6;81~", ""},
		{"BTab", "\x1b[Z", ""},
		{"S-Tab", "\x1b[9;2u", ""},
		{"Backspace", "\x7f", ""},
		{"Space", " ", ""},
	} {
		keys, err := ParseDetach(c.keys)
		if err != nil {
			t.Error(err)
			continue
		}
		for _, step := range []int{1, len(c.in)} {
			if forward, _, found := feedSteps(NewDetachMatcher(keys), c.in, step); !found || forward != c.forward {
				t.Errorf("%s: %q forwarded of %q, detach %v", c.keys, forward, c.in, found)
			}
		}
	}
}

func TestParseDetachKeys(t *testing.T) {
	for spec, want := range map[string]string{"": DefaultDetach, "  ": DefaultDetach, "none": "none", "NONE": "none", " ctrl-q ": "ctrl-q"} {
		k, err := ParseDetach(spec)
		if err != nil || k.String() != want || k.None() != (want == "none") {
			t.Errorf("%q: %v, none %v, %v", spec, k, k.None(), err)
		}
	}
	if k := (DetachKeys{}); k.String() != DefaultDetach || k.None() {
		t.Error("the zero value is not the default")
	}
	if _, err := ParseDetach("ctrl-b detach"); !errors.Is(err, ErrUnknown) {
		t.Errorf("unknown name: %v", err)
	}
	for _, spec := range []string{"ctrl-é", "世", "a a a a a a a a a", "ctrl-", "\x02 d"} {
		if k, err := ParseDetach(spec); err == nil {
			t.Errorf("%q was taken as %v", spec, k)
		}
	}
	var zero DetachMatcher
	if _, found := zero.Feed([]byte("\x02d")); !found {
		t.Error("a zero matcher does not match the default")
	}
}

// TestDetachFlush: what a person typed is not held forever.
func TestDetachFlush(t *testing.T) {
	for in, moments := range map[string]int{
		"\x1b": 1, "\x1b[": 1, "\x1bO": 1, "\x1b]": 1, "\x1bP": 1, "\x1b_": 1, "\x1b\x1b": 1,
		"\x1b[9": Patience, "\x1b[98;5": Patience, "\x1b]10;": Patience, "\x1b[Mab": Patience,
	} {
		m := NewDetachMatcher(DetachKeys{})
		f, _ := m.Feed([]byte(in))
		got := string(f)
		for range moments - 1 {
			f, _ = m.Flush()
			got += string(f)
		}
		if !m.Pending() {
			t.Errorf("%q: given up too early", in)
		}
		f, _ = m.Flush()
		if got += string(f); got != in || m.Pending() {
			t.Errorf("%q: %q after %d moments, pending %v", in, got, moments, m.Pending())
		}
		if _, found := m.Feed([]byte("\x02d")); !found {
			t.Errorf("%q: then the detach keys are not recognised", in)
		}
	}
	m := NewDetachMatcher(DetachKeys{})
	m.Feed([]byte("\x02"))
	if f, _ := m.Flush(); len(f) > 0 || m.Pending() {
		t.Error("the prefix is not kept for as long as it takes")
	}
	if _, found := m.Feed([]byte("d")); !found {
		t.Error("slow detach is not recognised")
	}
}

func TestDetachHeldIsBounded(t *testing.T) {
	m := NewDetachMatcher(DetachKeys{})
	m.Feed([]byte("\x02"))
	motion := []byte("\x1b[<35;10;20M")
	sent := 0
	for range 10_000 {
		f, _ := m.Feed(motion)
		sent += len(f)
		if len(m.held) > 2*maxDetachHeld {
			t.Fatalf("%d bytes are held", len(m.held))
		}
	}
	if want := 1 + 10_000*len(motion); sent != want {
		t.Errorf("%d bytes forwarded, want %d", sent, want)
	}
}

// inputPieces are what terminals send, and halves of it.
var inputPieces = []string{
	"a", "d", "q", "\x1b", "\x1b[", "\x1b]", "\x1bP", "\x1bO", "\x1b_", "~", "[", "1", ";", ":", "5", "98", "u", "M", "\x07", "\x1b\\", "\r", "\x00", "\xff", "é", "世",
	"\x1b[A", "\x1b[1;5A", "\x1bOP", "\x1b[100u", "\x1b[98;5:3u", "\x1b[57442;5u", "\x1b[I", "\x1b[O", "\x1b[<35;1;1M", "\x1b[M !!", "\x1b[[A",
	"\x1b[200~", "\x1b[201~", "\x1b[?1;2c", "\x1b]10;rgb:0/0/0\x07", "\x1bP>|x\x1b\\", "\x1b[12;40R", "\x1b[<0;3;3M", "\x1b[27;5;97~",
}

func drawInput(t *rapid.T, pieces []string) string {
	return strings.Join(rapid.SliceOf(rapid.SampledFrom(pieces)).Draw(t, "input"), "")
}

// TestDetachForwardsEverything: without the first key, what is forwarded is the
// input, however it is cut.
func TestDetachForwardsEverything(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		in := drawInput(t, inputPieces)
		m := NewDetachMatcher(DetachKeys{})
		if got := feedAnyhow(t, m, in); got != in {
			t.Fatalf("%q became %q", in, got)
		}
	})
}

// feedAnyhow feeds in by drawn pieces and gives up what is unfinished.
func feedAnyhow(t *rapid.T, m *DetachMatcher, in string) string {
	var out strings.Builder
	for len(in) > 0 {
		n := rapid.IntRange(1, len(in)).Draw(t, "n")
		f, d := m.Feed([]byte(in[:n]))
		out.Write(f)
		if d {
			t.Fatalf("detach at %q", in)
		}
		in = in[n:]
	}
	for range Patience {
		f, _ := m.Flush()
		out.Write(f)
	}
	return out.String()
}

// TestDetachSplit: where the input is cut changes nothing, detach keys or not.
func TestDetachSplit(t *testing.T) {
	pieces := append([]string{"\x02", "\x02", "\x1b[98;5u", "\x1b[27;5;98~", "\x1b[98:66;5:1u"}, inputPieces...)
	rapid.Check(t, func(t *rapid.T) {
		in := drawInput(t, pieces)
		whole, wholeRest, wholeFound := feedSteps(NewDetachMatcher(DetachKeys{}), in, max(len(in), 1))
		step := rapid.IntRange(1, 5).Draw(t, "step")
		forward, rest, found := feedSteps(NewDetachMatcher(DetachKeys{}), in, step)
		if forward != whole || rest != wholeRest || found != wholeFound {
			t.Fatalf("%q by %d bytes: %q %q %v, whole: %q %q %v", in, step, forward, rest, found, whole, wholeRest, wholeFound)
		}
	})
}

// FuzzDetach: where any bytes are cut does not change the result.
func FuzzDetach(f *testing.F) {
	for _, p := range inputPieces {
		f.Add("\x02"+p+"d", 1)
	}
	f.Fuzz(func(t *testing.T, in string, step int) {
		step = max(step&0xff, 1)
		whole, _, wholeFound := feedSteps(NewDetachMatcher(DetachKeys{}), in, max(len(in), 1))
		forward, _, found := feedSteps(NewDetachMatcher(DetachKeys{}), in, step)
		if forward != whole || found != wholeFound {
			t.Fatalf("%q by %d bytes: %q %v, whole: %q %v", in, step, forward, found, whole, wholeFound)
		}
	})
}

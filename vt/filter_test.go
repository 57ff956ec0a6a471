package vt_test

import (
	"testing"

	"gascity.dev/gc/vt"
)

// TestFilterQueries: queries are removed, because the emulator has answered
// them; the host terminal would answer again, into the program's input.
func TestFilterQueries(t *testing.T) {
	for _, q := range []string{
		"\x1b[c", "\x1b[0c", "\x1b[>c", "\x1b[>0c", "\x1b[=c", "\x1bZ", // DA1, DA2, DA3, DECID
		"\x1b[5n", "\x1b[6n", "\x1b[?6n", "\x1b[?15n", "\x1b[?25n", "\x1b[?26n", "\x1b[?996n", // DSR
		"\x1b[>q", "\x1b[>0q", // XTVERSION
		"\x1b[?7$p", "\x1b[4$p", "\x1b[?2026$p", // DECRQM
		"\x1b[?u", "\x1b[?4m", // kitty keyboard, XTQMODKEYS
		"\x1b[14t", "\x1b[16t", "\x1b[18t", "\x1b[19t", "\x1b[21t", // XTWINOPS reports
		"\x1b[1;1;1;1;1;1*y",                                  // DECRQCRA
		"\x1bP$qm\x1b\\", "\x1bP$q q\x1b\\", "\x1bP$qr\x1b\\", // DECRQSS
		"\x1bP+q544e\x1b\\", "\x1bP+q436f\x1b\\", // XTGETTCAP
		"\x1b]10;?\a", "\x1b]11;?\x1b\\", "\x1b]12;?\a", "\x1b]4;1;?\a", // colours
		"\x1b]52;c;?\a",       // clipboard
		"\x1b]7501;?\x1b\\",   // program status
		"\x05",                // ENQ
		"\u009bc", "\u009b6n", // the same with C1
		"\x1b[22;0t", "\x1b[23;0t", "\x1b[2g", "\x1b[j", // not queries, but see pass.go
	} {
		var f vt.HostFilter
		if got := string(f.Filter(nil, []byte("a"+q+"b"))); got != "ab" {
			t.Errorf("%q passes as %q", "a"+q+"b", got)
		}
	}
}

// allImages are all protocols of images.
const allImages = vt.ImagesKitty | vt.ImagesSixel | vt.ImagesITerm

// TestFilterKeeps: everything else passes unchanged to a terminal that shows images.
func TestFilterKeeps(t *testing.T) {
	for _, s := range []string{
		"text", "é漢😀", "\r\n\t\b\a", "\x1b[1;31m", "\x1b[38:2::1:2:3m", "\x1b[5;5H", "\x1b[2J", "\x1b[?1049h", "\x1b[?2004l",
		"\x1b[>1u", "\x1b[<u", "\x1b[=5;1u", "\x1b[u", "\x1b[s", "\x1b[>4;2m", "\x1b[2 q", "\x1b[!p", "\x1b[1\"q", "\x1b[3;8r",
		"\x1b[?2026h", "\x1b[?2026l", "\x1b7", "\x1b8", "\x1bM", "\x1b(0", "\x1b=", "\x1b[?47;25h",
		"\x1b]0;title\a", "\x1b]2;what?\x1b\\", "\x1b]8;;http://a/?q\a", "\x1b]10;#112233\a", "\x1b]4;1;#ff0000\a", "\x1b]112\a",
		"\x1b]52;c;aGk=\a", "\x1b]133;A\a", "\x1b]9;4;1;50\a", "\x1b]7;file:///tmp\a", "\x1b]7501;state=idle\x1b\\",
		"\x1bPq#0;2;0;0;0~~\x1b\\", "\x1b_Gf=24,s=1,v=1;AAAA\x1b\\", "\x1b[2*x", "\x1b[88;1;1;2;2$x",
	} {
		f := vt.HostFilter{Images: allImages}
		if got := string(f.Filter(nil, []byte("a"+s+"b"))); got != "a"+s+"b" {
			t.Errorf("%q passes as %q", "a"+s+"b", got)
		}
	}
}

// TestFilterList: a list of colours, some of them queries.
func TestFilterList(t *testing.T) {
	var f vt.HostFilter
	got := string(f.Filter(nil, []byte("\x1b]4;1;#ff0000;2;?\a.")))
	term := mustNew(t, vt.Options{})
	term.Write([]byte(got))
	if r := term.TakeReplies(); len(r) > 0 {
		t.Errorf("%q is let through and asks: %q", got, r)
	}
}

// TestFilterAnswersNothing: a terminal does not reply to anything that passes.
func TestFilterAnswersNothing(t *testing.T) {
	for _, s := range loadScripts(t) {
		var input []byte
		for _, st := range s.step {
			input = append(input, st.data...)
		}
		if len(input) > 64<<10 {
			continue
		}
		var f vt.HostFilter
		term := mustNew(t, vt.Options{})
		through := f.Filter(nil, input)
		term.Write(through)
		if r := term.TakeReplies(); len(r) > 0 {
			t.Errorf("%s: %q is let through and answered %q", s.name, through, r)
		}
	}
}

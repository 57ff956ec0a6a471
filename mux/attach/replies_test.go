package attach

import (
	"maps"
	"slices"
	"strings"
	"testing"

	"gascity.dev/gc/mux/keys"
	"pgregory.net/rapid"
)

// terminalReplies are replies of terminals to queries.
var terminalReplies = map[string]string{
	"DA1":                 "\x1b[?64;1;2;6;9;15;18;21;22c",
	"DA2":                 "\x1b[>41;390;0c",
	"DA3":                 "\x1bP!|00000000\x1b\\",
	"DSR":                 "\x1b[0n",
	"DSR, private":        "\x1b[?10n",
	"CPR":                 "\x1b[24;80R",
	"CPR, home":           "\x1b[1;1R",
	"CPR, first row":      "\x1b[1;17R",
	"DECXCPR":             "\x1b[?24;80;1R",
	"DECRPM":              "\x1b[?2026;2$y",
	"DECRPM, ANSI":        "\x1b[4;2$y",
	"text area":           "\x1b[8;24;80t",
	"pixels":              "\x1b[4;600;800t",
	"cell":                "\x1b[6;16;8t",
	"in-band resize":      "\x1b[48;24;80;480;800t",
	"terminal parameters": "\x1b[2;1;1;128;128;1;0x",
	"kitty flags":         "\x1b[?1u",
	"modifyOtherKeys":     "\x1b[>4;1m",
	"colour scheme":       "\x1b[?997;1n",
	"visibility":          "\x1b[?999;1n",
	"notices":             "\x1b]99;i=1:p=?;o=always:p=title,body\x1b\\",
	"remote control":      "\x1bP@kitty-cmd{\"ok\": true}\x1b\\",
	"file transfer":       "\x1b]5113;ac=status;id=1\x1b\\",
	"OSC 10, ST":          "\x1b]10;rgb:ffff/ffff/ffff\x1b\\",
	"OSC 11, BEL":         "\x1b]11;rgb:0000/0000/0000\x07",
	"OSC 4":               "\x1b]4;1;rgb:cdcd/0000/0000\x1b\\",
	"OSC 52":              "\x1b]52;c;aGVsbG8=\x1b\\",
	"title":               "\x1b]lwindow\x1b\\",
	"XTVERSION":           "\x1bP>|XTerm(390)\x1b\\",
	"XTGETTCAP":           "\x1bP1+r544e=787465726d\x1b\\",
	"DECRPSS":             "\x1bP1$r0m\x1b\\",
}

// typedInput is a person's input, and reports that programs asked their
// terminal for.
var typedInput = []string{
	"a", "é", "\r", "\x1b[A", "\x1bOP", "\x1b[1;5A", "\x1b[1;2R", "\x1b[1;16R", "\x1bOR", "\x1b[13;2~", "\x1b[3~", "\x1b[Z", "\x1b[c",
	"\x1b[98;5u", "\x1b[27;5;98~", "\x1b[I", "\x1b[O", "\x1b[<0;1;1M", "\x1b[<0;1;1m", "\x1b[M !!", "\x1b[[A", "\x1bd", "\x03", "\x02",
	"\x1b[200~ \x1b[?1;2c\x1b]10;rgb:0/0/0\x07 \x1b[201~", "\x1b_Gi=31;OK\x1b\\", "\x1b[?2;0;800;600S",
}

func TestReplyFilter(t *testing.T) {
	for name, reply := range terminalReplies {
		in := "x" + reply + "y"
		for step := 1; step <= len(in); step++ {
			if got := filterSteps(in, step); got != "xy" {
				t.Errorf("%s by %d bytes: %q", name, step, got)
			}
		}
	}
	for _, typed := range typedInput {
		for step := 1; step <= len(typed); step++ {
			if got := filterSteps(typed, step); got != typed {
				t.Errorf("%q by %d bytes became %q", typed, step, got)
			}
		}
	}
}

func filterSteps(in string, step int) string {
	var f replyFilter
	var out strings.Builder
	for len(in) > 0 {
		n := min(step, len(in))
		out.Write(f.feed([]byte(in[:n])))
		in = in[n:]
	}
	out.Write(f.flush())
	return out.String()
}

// TestReplyFilterFlush: keys that look like the start of a reply pass after a
// moment; the start of a reply never does.
func TestReplyFilterFlush(t *testing.T) {
	for in, want := range map[string]string{
		"\x1b": "\x1b", "\x1b]": "\x1b]", "\x1bP": "\x1bP", "\x1b[": "\x1b[", "\x1b_": "\x1b_",
		"\x1b]x": "\x1b]x", "\x1bPq": "\x1bPq", "\x1b]11;rgb:00": "", "\x1bP>|XTerm": "", "\x1b[?64;1": "\x1b[?64;1",
	} {
		var f replyFilter
		got := string(f.feed([]byte(in)))
		for range keys.Patience {
			got += string(f.flush())
		}
		got += string(f.feed([]byte("ls\r")))
		if got != want+"ls\r" || f.scan.Pending() {
			t.Errorf("%q, then ls: %q", in, got)
		}
	}
	var f replyFilter
	f.feed([]byte("\x1b]11;rgb:"))
	if got := string(f.feed([]byte("\x03"))); got != "\x03" {
		t.Errorf("C-c in an unfinished reply: %q", got)
	}
}

// TestReplyFilterMixed: for any mix and any cut, the replies are removed and the rest
// stays in order.
func TestReplyFilterMixed(t *testing.T) {
	var pieces []string
	isReply := map[string]bool{}
	for _, r := range slices.Sorted(maps.Values(terminalReplies)) {
		pieces, isReply[r] = append(pieces, r), true
	}
	pieces = append(pieces, typedInput...)
	rapid.Check(t, func(t *rapid.T) {
		var in, want strings.Builder
		for _, p := range rapid.SliceOf(rapid.SampledFrom(pieces)).Draw(t, "pieces") {
			in.WriteString(p)
			if !isReply[p] {
				want.WriteString(p)
			}
		}
		if got := filterSteps(in.String(), rapid.IntRange(1, 40).Draw(t, "step")); got != want.String() {
			t.Fatalf("%q became %q, want %q", in.String(), got, want.String())
		}
	})
}

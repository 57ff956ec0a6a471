package conversation

import (
	"strings"
	"testing"
	"unicode"
	"unicode/utf8"

	"gascity.dev/gc/internal/acp/protocol"
	"pgregory.net/rapid"
)

func TestProse(t *testing.T) {
	for in, want := range map[string]string{
		"plain\n\ttext":                              "plain\n\ttext",
		"grün 你好 ½ ﷽":                                "grün 你好 ½ ﷽",
		"\x1b[31mred\x1b[0m":                         "red",
		"\x1b[1;2:3;4m\x1b[?25lx\x1b[2 q":            "x",
		"\x1b]0;title\x07a\x1b]8;;http://x\x1b\\b":   "ab",
		"\x1bP1$r\x1b\\a\x1b_x\x07b":                 "ab",
		"\x1b]0;never ended":                         "]0;never ended",
		"\x1b[":                                      "[",
		"\x1b(Ba\x1bMb\x1b=c\x1b7d":                  "abcd",
		"\x1b":                                       "",
		"a\x1b[\nb":                                  "a[\nb",
		"a\x00b\x07c\x08d\x7fe\r\nf":                 "abcde\nf",
		"\u0085a\u009b31mb\u009d0;t\u009c":           "a31mb0;t",
		"a\xffb\xc3":                                 "a\uFFFDb\uFFFD",
		"left\u202eright\u202c":                      "leftright",
		"\u2066a\u2067b\u2068c\u2069":                "abc",
		"\u200ea\u200fb\u061cc":                      "abc",
		"a\u200bb\u2060c\ufeffd\u00ade\u180ef":       "abcdef",
		"p\u200dassword\u200c":                       "password",
		"👩\u200d👧 می\u200cخواهم":                     "👩\u200d👧 می\u200cخواهم",
		"❤\ufe0f 1\ufe0f\u20e3":                      "❤\ufe0f 1\ufe0f\u20e3",
		"a\U000e0041\U000e0020\U000e0101b":           "ab",
		"\u3164\uffa0\u115f\u1160\u17b4\u17b5\u034f": "",
		"a\u2028b\u2029c":                            "a\nb\nc",
		"\ufff9a\ufffab\ufffb":                       "ab",
		"\ue0b0 icon":                                "\ue0b0 icon",
		"\u0600\u06dd":                               "\u0600\u06dd",
	} {
		if got := prose(in); got != want {
			t.Errorf("%q: %q, want %q", in, got, want)
		}
	}
}

// Where every character matters, nothing vanishes.
func TestExact(t *testing.T) {
	for in, want := range map[string]string{
		"ls -l\n\tx":               "ls -l\n\tx",
		"ls\x1b]0;x\x07 ; rm":      "ls\uFFFD]0;x\uFFFD ; rm",
		"a\rb\u202ec\u2028d\u200b": "a\uFFFDb\uFFFDc\uFFFDd\uFFFD",
	} {
		if got := exact(in); got != want {
			t.Errorf("%q: %q, want %q", in, got, want)
		}
	}
	if got := name("/a\nb\tc"); got != "/a\uFFFDb\uFFFDc" {
		t.Errorf("a path: %q", got)
	}
	if got := line("  two\r\nlines\t\x1b[1mx\u2028 "); got != "two  lines \uFFFD[1mx" {
		t.Errorf("a line: %q", got)
	}
	if got := source("a\r\nb\rc"); got != "a\nb\uFFFDc" {
		t.Errorf("a source: %q", got)
	}
}

// shown reports whether a text may be written to a terminal.
func shown(text string, oneLine bool) bool {
	return utf8.ValidString(text) && !strings.ContainsFunc(text, func(r rune) bool {
		if r == '\n' || r == '\t' {
			return oneLine
		}
		return unicode.IsControl(r) || unicode.Is(unicode.Bidi_Control, r) || r == '\u200b' || r == '\ufeff'
	})
}

// Whatever an agent says, every text of the conversation is harmless.
func TestNothingHarmfulIsKept(t *testing.T) {
	hostile := rapid.Custom(func(t *rapid.T) string {
		return strings.Join(rapid.SliceOfN(rapid.OneOf(
			rapid.SampledFrom([]string{"\x1b", "\x1b[2J", "\x1b]0;", "\x07", "\r", "\n", "\t", "\x00", "\u009b", "\u202e", "\u200f", "\u200b", "\xff", "\ufeff", "```", "a", "é", "\U000e0041"}),
			rapid.String(),
		), 0, 8).Draw(t, "parts"), "")
	})
	rapid.Check(t, func(t *rapid.T) {
		text := func() string { return hostile.Draw(t, "text") }
		block := protocol.Block{Type: rapid.SampledFrom([]string{"text", "image", "resource_link", "resource", "\x1b[2Jx"}).Draw(t, "type"), Text: text(), Name: text(), URI: text(), Resource: &protocol.Resource{URI: text()}}
		tool := protocol.ToolCall{
			ID: text(), Title: text(), Kind: text(), Status: text(),
			Content:   protocol.List[protocol.ToolContent]{{Type: "content", Block: block}, {Type: "diff", Path: text(), OldText: text(), NewText: text()}, {Type: "terminal", TerminalID: text()}, {Type: text()}},
			Locations: protocol.List[protocol.Location]{{Path: text()}},
		}
		c := New()
		c.AddPrompt("p", text(), text())
		c.AddNotice(text())
		c.Open(protocol.SessionResult{Modes: &protocol.ModeState{Current: text(), Available: protocol.List[protocol.Mode]{{ID: text(), Name: text(), Description: text()}}}})
		for _, u := range []protocol.Update{
			{Kind: protocol.UpdateMessage, Content: block}, {Kind: protocol.UpdateThought, Content: block}, {Kind: protocol.UpdateUser, Content: block},
			{Kind: protocol.UpdateToolCall, Tool: tool}, {Kind: protocol.UpdateTool, Tool: tool},
			{Kind: protocol.UpdatePlan, Plan: protocol.List[protocol.PlanEntry]{{Content: text(), Status: text()}}},
			{Kind: protocol.UpdateCommands, Commands: protocol.List[protocol.Command]{{Name: text(), Description: text()}}},
			{Kind: protocol.UpdateInfo, Title: text()}, {Kind: protocol.UpdateMode, ModeID: text()}, {Kind: text()},
			{Kind: protocol.UpdateUsage, Usage: protocol.ContextUsage{Currency: text()}},
		} {
			c.Apply(u)
		}
		c.EndTurn()
		lines := []string{c.Title(), c.Mode(), c.Usage().Currency}
		for _, x := range append(c.Modes(), c.Commands()...) {
			lines = append(lines, x.ID, x.Name, x.Description)
		}
		var all []string
		for _, it := range c.Items() {
			lines = append(lines, it.By)
			all = append(all, it.Text)
			for _, s := range it.Plan {
				lines = append(lines, s.Text, s.Status)
			}
			if x := it.Tool; x != nil {
				lines = append(lines, x.CallID, x.Title, x.Kind, x.Status)
				lines = append(lines, x.Locations...)
				all = append(all, x.Command, x.Output)
				for _, d := range x.Diffs {
					lines = append(lines, d.Path)
					all = append(all, d.Old, d.New)
				}
			}
		}
		for _, s := range lines {
			if !shown(s, true) {
				t.Errorf("the line %q is kept", s)
			}
		}
		for _, s := range all {
			if !shown(s, false) {
				t.Errorf("the text %q is kept", s)
			}
		}
	})
}

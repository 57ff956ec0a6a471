package rule_test

import (
	"os"
	"slices"
	"strings"
	"testing"

	"gascity.dev/gc/internal/rule"
)

// sight is a screen where text between « and » has its own background; ▮ is the
// visible cursor.
func sight(text string) rule.DialogView {
	s := rule.DialogView{Cursor: -1}
	shades := [][]string{}
	for i, line := range strings.Split(text, "\n") {
		var plain strings.Builder
		var shade []string
		now := ""
		for _, r := range line {
			switch r {
			case '«', '»':
				now = strings.Trim(string(r), "»")
			case '▮':
				s.Cursor = i
			default:
				plain.WriteRune(r)
				shade = append(shade, now)
			}
		}
		s.Lines, shades = append(s.Lines, plain.String()), append(shades, shade)
	}
	s.Shade = func(row, col int) string {
		if row < len(shades) && col < len(shades[row]) {
			return shades[row][col]
		}
		return ""
	}
	return s
}

// TestMenus: menus of every shape are options, and nothing else is.
func TestMenus(t *testing.T) {
	for name, c := range map[string]struct {
		screen, want string // "KIND: PROMPT: A|*B"; "": no menu
	}{
		"numbered, with descriptions": {"Which one?\n\n❯ 1. Small\n     for a start\n  2. Large\n     for later\n", "question: Which one?: *Small|Large"},
		"unnumbered":                  {"Pick a colour\n\n  Red\n❯ Blue\n\nEnter to confirm · Esc to cancel", "question: Pick a colour: Red|*Blue"},
		"unnumbered, asked":           {"Trust the files in this folder?\n❯ Yes\n  No", "trust: Trust the files in this folder?: *Yes|No"},
		"a tick on the current one":   {"Choose the style\n\n❯ Dark\n  ✔ Light\n  Auto ✓\n\nEnter to select", "question: Choose the style: *Dark|Light|Auto"},
		"a tick is the selection":     {"Choose the style\n\n  Dark\n✔ Light\n  Auto\n\nEnter to select", "question: Choose the style: Dark|*Light|Auto"},
		"a bar is the selection":      {"Delete it?\n\n  Yes\n┃ No\n  Later\n\n↑/↓ navigate", "permission: Delete it?: Yes|*No|Later"},
		"radio":                       {"Which one?\n( ) First\n(•) Second\nEnter to select", "question: Which one?: First|*Second"},
		"hollow circles":              {"Which one?\n● First\n○ Second\nEnter to select", "question: Which one?: *First|Second"},
		"reverse video":               {"Which one?\n\n  First\n  «Second»\n  Third\n\n↑↓ to move, Enter to select", "question: Which one?: First|*Second|Third"},
		"descriptions at the labels' column": {
			"┌────────────┐\n│ Provider   │\n│            │\n│ › One      │\n│   cheap    │\n│            │\n│   Two      │\n│   fast     │\n└────────────┘",
			"question: Provider: *One|Two"},
		"across":             {"┃ △ Permission required\n┃   # Shell command\n┃\n┃   «Allow once»   Allow always   Reject     ctrl+f fullscreen  ⇆ select  enter confirm", "permission: △ Permission required: *Allow once|Allow always|Reject"},
		"across, the last":   {"┃ △ Permission required\n┃   Allow once   Allow always   «Reject»     ⇆ select  enter confirm", "permission: △ Permission required: Allow once|Allow always|*Reject"},
		"across, brackets":   {"Overwrite it?\n\n  Yes   [ No ]\n\n←/→ to select", "permission: Overwrite it?: Yes|*No"},
		"across, circles":    {"Overwrite it?\n│  ○ Yes / ● No", "permission: Overwrite it?: Yes|*No"},
		"across, unmarked":   {"┃   Allow once   Allow always   Reject     ⇆ select  enter confirm", "hint"},
		"boxes":              {"Connect a provider\n╭────────╮\n│ One   →│\n│ cheap  │\n╰────────╯\n╭────────╮\n│ Two    │\n╰────────╯\n↑/↓ navigate, Enter to select", "auth: Connect a provider: *One|Two"},
		"known by an option": {"  Welcome\n\n  Choose how you want to use Codex.\n\n> 1. Sign in with ChatGPT\n     Usage included\n\n  2. Sign in another way\n     Use an API key\n\n  Press enter to continue", "auth: Choose how you want to use Codex.: *Sign in with ChatGPT|Sign in another way"},
		"login":              {"Select login method\n\n❯ 1. Subscription\n  2. API key\n", "auth: Select login method: *Subscription|API key"},
		"a long question":    {"• I will do it.\n\n  Would you like to run the following command?\n\n  Reason: it is wanted\n\n  $ mkdir x\n\n› 1. Yes, proceed (y)\n  2. No, and tell what to do differently (esc)\n\n  Press enter to confirm or esc to cancel", "permission: Would you like to run the following command?: *Yes, proceed (y)|No, and tell what to do differently (esc)"},
		"dashes":             {"────────────\n Bash command\n\n   touch x\n╌╌╌╌╌╌╌╌╌╌╌╌\n Do you want to proceed?\n ❯ 1. Yes\n   2. No", "permission: Do you want to proceed?: *Yes|No"},
		"a wrapped one":      {"Is this a project that you created or one that you have\nreason to trust?\n❯ 1. Yes\n  2. No", "permission: Is this a project that you created or one that you have reason to trust?: *Yes|No"},
		"a composer":         {"What shall I do next?\n\n› do this\n  and that▮\n\n  ? for shortcuts", ""},
		"a framed composer":  {"Shall I?\n╭──────────╮\n│ > yes    │\n╰──────────╯\n  ? for shortcuts\n  enter to submit", "hint"},
		"a list in a talk":   {"● 1. Read it\n  2. Write it\nthat is the plan\n", ""},
		"status line":        {" workspace (/directory)      sandbox       /model\n ~/city/w                    no sandbox    Auto", ""},
		"above a composer":   {"Remove it?\n❯ 1. Yes\n  2. No\n────────────\n❯ ▮\n────────────", ""},
	} {
		s := sight(c.screen)
		found, ok := s.Find(rule.Dialogs())
		got := ""
		if ok && len(found.Options) == 0 {
			got = "hint"
		} else if ok {
			q := s.Question(found)
			labels := slices.Clone(q.Options)
			if q.Marked >= 0 {
				labels[q.Marked] = "*" + labels[q.Marked]
			}
			got = q.Kind + ": " + q.Prompt + ": " + strings.Join(labels, "|")
		}
		if got != c.want {
			t.Errorf("%s: %q, want %q", name, got, c.want)
		}
	}
}

// TestScrollbar: the scrollbar beside a question is neither part of it nor of
// its options.
func TestScrollbar(t *testing.T) {
	screen, err := os.ReadFile("testdata/qwen-scrollbar.screen")
	if err != nil {
		t.Fatal(err)
	}
	s := rule.TextView(string(screen))
	found, ok := s.Find(rule.Dialogs())
	if !ok {
		t.Fatal("no menu")
	}
	q := s.Question(found)
	want := []string{
		"Yes, allow once", "Always allow run 'touch *' commands in this project",
		"Always allow run 'touch *' commands for this user", "No, suggest changes (esc)",
	}
	if q.Prompt != "Allow execution of: 'touch'?" || !slices.Equal(q.Options, want) {
		t.Errorf("%q %q", q.Prompt, q.Options)
	}
	if strings.ContainsAny(q.Context, "│█") || !strings.Contains(q.Context, "touch made-by-agent.txt") {
		t.Errorf("context %q", q.Context)
	}
}

// TestDashes: text above a dashed line belongs to the question below it.
func TestDashes(t *testing.T) {
	s := rule.TextView("────────────\n Bash command\n\n   touch x\n╌╌╌╌╌╌╌╌╌╌╌╌\n Do you want to proceed?\n ❯ 1. Yes\n   2. No")
	found, _ := s.Find(nil)
	if q := s.Question(found); q.Context != "Bash command\ntouch x\nDo you want to proceed?" {
		t.Errorf("context %q", q.Context)
	}
}

// TestQuestionID: it changes with the question, its context and the options,
// but not with the selection.
func TestQuestionID(t *testing.T) {
	id := func(text string) string {
		s := sight(text)
		found, ok := s.Find(nil)
		if !ok {
			t.Fatalf("no menu: %s", text)
		}
		return s.Question(found).ID
	}
	const screen = "rm -rf a\n\nRemove it?\n❯ 1. Yes\n  2. No\n"
	same := id(screen)
	if id(strings.NewReplacer("❯ 1", "  1", "  2", "❯ 2").Replace(screen)) != same {
		t.Error("the selection makes it another question")
	}
	for _, other := range []string{
		strings.Replace(screen, "Remove it?", "Remove all?", 1), strings.Replace(screen, "2. No", "2. Never", 1), screen + "  3. Later\n",
	} {
		if id(other) == same {
			t.Errorf("the same question: %s", other)
		}
	}
	if framed := "────────────\n" + screen; id(framed) == id(strings.Replace(framed, "rf a", "rf b", 1)) {
		t.Error("another command is the same question")
	}
}

// TestComposerHidesMenus: if the composer's prefix is known, a menu above it is
// conversation.
func TestComposerHidesMenus(t *testing.T) {
	s := rule.TextView("$ cat recording\nRemove it?\n❯ 1. Yes\n  2. No\n\n→ Type here\n")
	if _, ok := s.Find(rule.Dialogs()); !ok {
		t.Fatal("no menu")
	}
	s.Ready = "→ "
	if f, ok := s.Find(rule.Dialogs()); ok {
		t.Fatalf("%+v", f)
	}
}

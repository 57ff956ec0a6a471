package rule_test

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"gascity.dev/gc/internal/rule"
)

func TestBuiltinTableIsValid(t *testing.T) {
	ds := rule.Dialogs()
	if len(ds) < 6 {
		t.Fatalf("%d dialogs", len(ds))
	}
	ds[0].Name = "changed"
	if rule.Dialogs()[0].Name == "changed" {
		t.Fatal("a caller can change the table")
	}
}

func TestParseDialogsRefuses(t *testing.T) {
	for name, text := range map[string]string{
		"unknown key":       `"name":"a","detect":["x"],"wnated":"y"`,
		"no name":           `"detect":["x"],"options":["y"],"wanted":"y"`,
		"no detect":         `"name":"a","options":["y"],"wanted":"y"`,
		"empty detect":      `"name":"a","detect":[""],"options":["y"],"wanted":"y"`,
		"wanted not there":  `"name":"a","detect":["x"],"options":["z"],"wanted":"y"`,
		"nothing wanted":    `"name":"a","detect":["x"],"options":["z"]`,
		"unknown situation": `"name":"a","detect":["x"],"options":["y"],"wanted":"y","when":"often"`,
	} {
		if _, err := rule.ParseDialogs([]byte(`{"dialogs":[{` + text + `}]}`)); err == nil {
			t.Errorf("%s: accepted", name)
		}
	}
}

// TestScreens: first screens of agents, one file each. The first line of a file
// is the expected result: "known NAME marked LABEL", "unknown marked LABEL",
// "unknown", or "nothing".
func TestScreens(t *testing.T) {
	files, err := filepath.Glob("testdata/*.screen")
	if err != nil || len(files) == 0 {
		t.Fatalf("no screens: %v", err)
	}
	for _, file := range files {
		t.Run(strings.TrimSuffix(filepath.Base(file), ".screen"), func(t *testing.T) {
			data, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			want, screen, _ := strings.Cut(string(data), "\n")
			found, ok := rule.Find(screen, rule.Dialogs())
			if got := describe(found, ok); got != want {
				t.Fatalf("found %q, want %q (options %q)", got, want, found.Labels())
			}
		})
	}
}

func describe(f rule.Found, ok bool) string {
	if !ok {
		return "nothing"
	}
	out := "unknown"
	if f.Known {
		out = "known " + f.Dialog.Name
	}
	if f.Marked >= 0 {
		out += " marked " + f.Options[f.Marked].Label
	}
	return out
}

const trust = `
 Accessing workspace:

 /home/dev/work

 Quick safety check: Is this a project you created or one you
 trust?

 %1. Yes, I trust this folder
 %2. No, exit

 Enter to confirm · Esc to cancel
`

// menu puts the marker on option n of the trust dialog.
func menu(n int) string {
	parts := strings.Split(trust, "%")
	for i := 1; i < len(parts); i++ {
		mark := "  "
		if i == n {
			mark = "❯ "
		}
		parts[i] = mark + parts[i]
	}
	return strings.Join(parts, "")
}

func TestBothDefaultsAreSeen(t *testing.T) {
	for n := 1; n <= 2; n++ {
		f, ok := rule.Find(menu(n), rule.Dialogs())
		if !ok || !f.Answerable() || f.Marked != n-1 || f.Wanted != 0 {
			t.Errorf("option %d preselected: %+v, %v", n, f, ok)
		}
	}
}

func TestNoMarkerMeansNoAnswer(t *testing.T) {
	f, ok := rule.Find(menu(0), rule.Dialogs())
	if !ok || f.Answerable() {
		t.Fatalf("%+v, %v", f, ok)
	}
}

func TestTwoMarkersMeanNoAnswer(t *testing.T) {
	screen := strings.ReplaceAll(menu(1), "  2. No", "❯ 2. No")
	if f, ok := rule.Find(screen, rule.Dialogs()); ok && f.Answerable() {
		t.Fatalf("%+v", f)
	}
}

func TestQuotedDialogIsNotOpen(t *testing.T) {
	talk := menu(1) + "\n" + strings.Repeat("more talk about that dialog\n", 12) + "❯ "
	if f, ok := rule.Find(talk, rule.Dialogs()); ok {
		t.Fatalf("found %+v", f)
	}
	if f, ok := rule.Find("the text Quick safety check alone\n❯ ", rule.Dialogs()); ok {
		t.Fatalf("found %+v", f)
	}
}

func TestOptionsAboveTheQuestionWording(t *testing.T) {
	// The wanted label contains a detect text, and comes last.
	screen := " Quick safety check\n ❯ 1. No, exit\n   2. Yes, I trust this folder\n"
	f, ok := rule.Find(screen, rule.Dialogs())
	if !ok || !f.Answerable() || f.Marked != 0 || f.Wanted != 1 {
		t.Fatalf("%+v, %v", f, ok)
	}
}

func TestSameLabel(t *testing.T) {
	for _, c := range []struct {
		screen, meant string
		want          bool
	}{
		{"Yes", "Yes", true},
		{"Yes, and remember this folder", "Yes", false},
		{"Yes and more", "Yes", false},
		{"Trust folder (work)", "Trust folder", true},
		{"Trust folder(work)", "Trust folder", false},
		{"Skip until next version", "Skip", false},
		{"Yes ✔", "Yes", true},
		{"Yesterday", "Yes", false},
		{"Yes", "", false},
	} {
		if got := rule.SameLabel(c.screen, c.meant); got != c.want {
			t.Errorf("SameLabel(%q, %q) = %v", c.screen, c.meant, got)
		}
	}
}

func TestAdditionsComeFirstOrLastAsGiven(t *testing.T) {
	own, err := rule.ParseDialogs([]byte(`{"dialogs":[{"name":"mine","detect":["Pick a colour"],"options":["Red","Blue"],"wanted":"Blue"}]}`))
	if err != nil {
		t.Fatal(err)
	}
	f, ok := rule.Find("Pick a colour\n> Red\n  Blue\n", slices.Concat(rule.Dialogs(), own))
	if !ok || f.Dialog.Name != "mine" || f.Wanted != 1 || f.Marked != 0 {
		t.Fatalf("%+v, %v", f, ok)
	}
}

func FuzzFind(f *testing.F) {
	f.Add(menu(1))
	f.Add("❯ 1. \n❯ 2.")
	f.Add("│ ● 1. Trust folder (x) │\n│   2. Don't trust │")
	table := rule.Dialogs()
	f.Fuzz(func(t *testing.T, screen string) {
		found, ok := rule.Find(screen, table)
		if !ok {
			return
		}
		if found.Marked >= len(found.Options) || found.Wanted >= len(found.Options) {
			t.Fatalf("%+v", found)
		}
		if found.Answerable() && !rule.SameLabel(found.Options[found.Wanted].Label, found.Dialog.Wanted) {
			t.Fatalf("wanted is %q", found.Options[found.Wanted].Label)
		}
	})
}

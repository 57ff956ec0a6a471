package main

import (
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/rogpeppe/go-internal/testscript"

	"gascity.dev/gc/internal/config"
)

// examples are the languages of blocks that no test runs. "sh example" and "toml example"
// are such blocks, too. "sh agent" and files such as "toml ~/FILE" are run with the real
// agents (make e2e-agents).
var examples = []string{"text", "yaml", "json", "dockerfile", "make"}

// block is a fenced block of a document.
type block struct {
	lang, body string
	line       int
}

func blocksOf(text string) []block {
	var all []block
	open := -1
	lines := strings.Split(text, "\n")
	for i, l := range lines {
		mark, is := strings.CutPrefix(l, "```")
		switch {
		case is && open < 0:
			all, open = append(all, block{lang: mark, line: i + 1}), i
		case is:
			all[len(all)-1].body, open = strings.Join(lines[open+1:i], "\n"), -1
		}
	}
	return all
}

// documents are the Markdown files of docs, without those that are generated.
func documents(t *testing.T) []string {
	t.Helper()
	var all []string
	err := filepath.WalkDir("../../docs", func(path string, d fs.DirEntry, err error) error {
		if err == nil && d.IsDir() && (d.Name() == "cli" || d.Name() == "adr") {
			return filepath.SkipDir
		}
		if strings.HasSuffix(path, ".md") {
			all = append(all, path)
		}
		return err
	})
	if err != nil || len(all) == 0 {
		t.Fatalf("no documents: %v", err)
	}
	return all
}

// TestDocumentBlocks runs the sh blocks of each document in order, as one shell session in
// an empty directory, and loads its toml blocks. Other blocks are examples.
func TestDocumentBlocks(t *testing.T) {
	dir := t.TempDir()
	for _, path := range documents(t) {
		b, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		var script []string
		for _, block := range blocksOf(string(b)) {
			lang, example, _ := strings.Cut(block.lang, " ")
			switch {
			case example == "example" || example == "agent" || strings.HasPrefix(example, "~/") || slices.Contains(examples, lang):
			case lang == "sh":
				script = append(script, block.body)
			case lang == "toml":
				checkTOML(t, path, block)
			default:
				t.Errorf("%s:%d: a block in %q: write sh (run), toml (loaded), %s, or sh example", path, block.line, block.lang, strings.Join(examples, ", "))
			}
		}
		if len(script) > 0 {
			name := strings.ReplaceAll(strings.TrimSuffix(strings.TrimPrefix(path, "../../docs/"), ".md"), "/", "_")
			text := "exec sh -eux doc.sh\n-- doc.sh --\n" + strings.Join(script, "\n") + "\n"
			if err := os.WriteFile(filepath.Join(dir, name+".txtar"), []byte(text), 0o600); err != nil {
				t.Fatal(err)
			}
		}
	}
	testscript.Run(t, testscript.Params{Dir: dir, Setup: func(env *testscript.Env) error {
		err := setupScript(env)
		env.Setenv("GC_TRUST", "") // as for a reader
		return err
	}})
}

// checkTOML loads a part of a city.toml: what it leaves out is added.
func checkTOML(t *testing.T, path string, b block) {
	t.Helper()
	text := b.body
	if m := regexp.MustCompile(`(?m)^\[agents\.`).FindStringIndex(text); m != nil && !regexp.MustCompile(`(?m)^\[\[agents`).MatchString(text[:m[0]]) {
		text = "[[agents]]\nname = \"x\"\nstart_command = \"x\"\n" + text
	}
	if !strings.Contains(text, "[workspace]") {
		text = "[workspace]\nname = \"x\"\n" + text
	}
	if _, err := config.Parse("/town/city.toml", []byte(text)); err != nil {
		t.Errorf("%s:%d: %v\n%s", path, b.line, err, text)
	}
}

// Links between documents lead somewhere.
func TestDocumentLinks(t *testing.T) {
	link := regexp.MustCompile(`\]\(([^)#: ]+)(#[^)]*)?\)`)
	for _, path := range append(documents(t), "../../README.md", "../../SECURITY.md") {
		b, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		for _, m := range link.FindAllStringSubmatch(string(b), -1) {
			if _, err := os.Stat(filepath.Join(filepath.Dir(path), m[1])); err != nil && !strings.HasPrefix(m[1], "http") {
				t.Errorf("%s: a link to %s, which does not exist", path, m[1])
			}
		}
	}
}

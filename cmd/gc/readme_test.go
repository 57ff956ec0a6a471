package main

import (
	"os"
	"os/exec"
	"strings"
	"testing"

	"github.com/rogpeppe/go-internal/testscript"
)

// TestReadme runs the sh blocks of the README in order, as one shell session in an
// empty directory, and checks that the targets in its make blocks exist.
func TestReadme(t *testing.T) {
	b, err := os.ReadFile("../../README.md")
	if err != nil {
		t.Fatal(err)
	}
	blocks := codeBlocks(string(b))
	if len(blocks["sh"]) == 0 || len(blocks["make"]) == 0 {
		t.Fatal("the README has no commands")
	}
	for _, line := range strings.Fields(strings.ReplaceAll(strings.Join(blocks["make"], "\n"), "make ", "")) {
		cmd := exec.Command("make", "-n", line)
		cmd.Dir = "../.."
		if out, err := cmd.CombinedOutput(); err != nil {
			t.Errorf("make %s: %v\n%s", line, err, out)
		}
	}
	dir := t.TempDir()
	text := "exec sh -eux readme.sh\n-- readme.sh --\n" + strings.Join(blocks["sh"], "\n")
	if err := os.WriteFile(dir+"/readme.txtar", []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	testscript.Run(t, testscript.Params{Dir: dir, Setup: setupScript})
}

// codeBlocks are the fenced blocks of a Markdown text by their language.
func codeBlocks(text string) map[string][]string {
	blocks := map[string][]string{}
	for {
		_, rest, ok := strings.Cut(text, "\n```")
		if !ok {
			return blocks
		}
		lang, rest, _ := strings.Cut(rest, "\n")
		body, rest, _ := strings.Cut(rest, "\n```")
		blocks[lang] = append(blocks[lang], body)
		text = rest
	}
}

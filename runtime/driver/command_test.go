package driver_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"gascity.dev/gc/internal/shell"
	"gascity.dev/gc/runtime"
	"gascity.dev/gc/runtime/driver"
)

func TestCommandLine(t *testing.T) {
	cfg := runtime.Config{WorkDir: t.TempDir(), Command: "agent -y", PromptSuffix: shell.Quote("it's")}
	if got, err := driver.CommandLine("a", cfg); err != nil || got != `agent -y 'it'\''s'` {
		t.Errorf("%q, %v", got, err)
	}
	cfg.PromptFlag = "--prompt"
	if got, err := driver.CommandLine("a", cfg); err != nil || got != `agent -y --prompt 'it'\''s'` {
		t.Errorf("%q, %v", got, err)
	}
	long := strings.Repeat("it's long. ", 20_000)
	cfg.PromptSuffix = shell.Quote(long)
	got, err := driver.CommandLine("a", cfg)
	if err != nil || len(got) > 1000 || !strings.Contains(got, "prompt-a.md") {
		t.Fatalf("%d bytes, %v", len(got), err)
	}
	if text, err := os.ReadFile(filepath.Join(cfg.WorkDir, ".gc", "prompt-a.md")); err != nil || string(text) != long {
		t.Errorf("file holds %d bytes, %v", len(text), err)
	}
	if got, err := driver.CommandLine("a", runtime.Config{PromptSuffix: "'x'"}); err != nil || got != "" {
		t.Errorf("the user's shell got %q, %v", got, err)
	}
}

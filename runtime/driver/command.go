package driver

import (
	"fmt"
	"os"
	"path/filepath"

	"gascity.dev/gc/internal/shell"
	"gascity.dev/gc/runtime"
)

// maxLine is the longest command line that is passed as one argument. Linux allows
// 128 KiB for each (MAX_ARG_STRLEN, 32 pages), and the line also becomes an
// argument of the agent.
const maxLine = 120 << 10

// CommandLine returns Command with the prompt appended, after its flag if it has
// one. Command "" stays "": the user's shell takes no prompt.
//
// A prompt that is too long for an argument goes into the file .gc/prompt-NAME.md
// below the work dir, and the argument tells the agent to read it.
func CommandLine(name string, cfg runtime.Config) (string, error) {
	if cfg.Command == "" || cfg.PromptSuffix == "" {
		return cfg.Command, nil
	}
	line := joinPrompt(cfg, cfg.PromptSuffix)
	if len(line) <= maxLine {
		return line, nil
	}
	text := FirstMessage(cfg)
	dir := filepath.Join(cfg.WorkDir, ".gc")
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return "", fmt.Errorf("prompt of %s: %w", name, err)
	}
	file := filepath.Join(dir, "prompt-"+name+".md")
	if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
		return "", fmt.Errorf("prompt of %s: %w", name, err)
	}
	line = joinPrompt(cfg, shell.Quote("Read the file "+file+" and follow it: it holds your instructions."))
	if len(line) > maxLine {
		return "", fmt.Errorf("command of %s has %d bytes, the limit is %d", name, len(line), maxLine)
	}
	return line, nil
}

// FirstMessage returns the prompt as the program gets it, "" if it gets none.
func FirstMessage(cfg runtime.Config) string {
	if cfg.Command == "" {
		return ""
	}
	text, ok := shell.Unquote(cfg.PromptSuffix)
	if !ok {
		return cfg.PromptSuffix
	}
	return text
}

func joinPrompt(cfg runtime.Config, prompt string) string {
	if cfg.PromptFlag != "" {
		return cfg.Command + " " + cfg.PromptFlag + " " + prompt
	}
	return cfg.Command + " " + prompt
}

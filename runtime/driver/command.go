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
	return CommandLineWith(name, cfg, func(file, text string) error {
		file = filepath.Join(cfg.WorkDir, file)
		if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
			return err
		}
		return os.WriteFile(file, []byte(text), 0o600)
	})
}

// CommandLineWith is CommandLine with a function that writes a file below the work dir.
func CommandLineWith(name string, cfg runtime.Config, write func(file, text string) error) (string, error) {
	if cfg.Command == "" || cfg.PromptSuffix == "" {
		return cfg.Command, nil
	}
	line := joinPrompt(cfg, cfg.PromptSuffix)
	if len(line) <= maxLine {
		return line, nil
	}
	text := FirstMessage(cfg)
	file := filepath.Join(".gc", "prompt-"+name+".md")
	if err := write(file, text); err != nil {
		return "", fmt.Errorf("prompt of %s: %w", name, err)
	}
	file = filepath.Join(cfg.WorkDir, file)
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

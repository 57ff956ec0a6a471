package runtime

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
)

// maxLine is the longest command line that is passed as one argument: Linux
// allows 128 KiB for each (MAX_ARG_STRLEN, 32 pages), and the line also
// becomes an argument of the agent's.
const maxLine = 120 << 10

// ShellQuote quotes s as one word for a POSIX shell.
func ShellQuote(s string) string {
	return "'" + strings.ReplaceAll(s, "'", `'\''`) + "'"
}

// shellUnquote undoes ShellQuote. ok is false for anything ShellQuote does not
// make.
func shellUnquote(s string) (text string, ok bool) {
	if len(s) < 2 || s[0] != '\'' || s[len(s)-1] != '\'' {
		return "", false
	}
	inner := strings.ReplaceAll(s[1:len(s)-1], `'\''`, "\x00")
	if strings.Contains(inner, "'") {
		return "", false
	}
	return strings.ReplaceAll(inner, "\x00", "'"), true
}

// CommandLine is Command with the prompt appended, after its flag when there
// is one. Command "" stays "": the user's shell takes no prompt.
//
// A prompt too long for an argument goes into the file .gc/prompt-NAME.md
// below the work dir, and the argument tells the agent to read it.
func CommandLine(name string, cfg Config) (string, error) {
	if cfg.Command == "" || cfg.PromptSuffix == "" {
		return cfg.Command, nil
	}
	line := joinPrompt(cfg, cfg.PromptSuffix)
	if len(line) <= maxLine {
		return line, nil
	}
	text, ok := shellUnquote(cfg.PromptSuffix)
	if !ok {
		text = cfg.PromptSuffix
	}
	dir := filepath.Join(cfg.WorkDir, ".gc")
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return "", fmt.Errorf("prompt of %s: %w", name, err)
	}
	file := filepath.Join(dir, "prompt-"+name+".md")
	if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
		return "", fmt.Errorf("prompt of %s: %w", name, err)
	}
	line = joinPrompt(cfg, ShellQuote("Read the file "+file+" and follow it: it holds your instructions."))
	if len(line) > maxLine {
		return "", fmt.Errorf("command of %s has %d bytes, the limit is %d", name, len(line), maxLine)
	}
	return line, nil
}

func joinPrompt(cfg Config, prompt string) string {
	if cfg.PromptFlag != "" {
		return cfg.Command + " " + cfg.PromptFlag + " " + prompt
	}
	return cfg.Command + " " + prompt
}

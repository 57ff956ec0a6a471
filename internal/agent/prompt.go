package agent

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"

	"gascity.dev/gc/internal/config"
	"gascity.dev/gc/runtime"
)

// maxPromptArg is the longest prompt, in bytes after quoting, that goes on the
// command line: Linux takes 128 KiB for one argument, and the command line as a
// whole is one argument of sh -c.
const maxPromptArg = 96 << 10

// PromptText is the agent's prompt without the beacon: prompt_template, then
// each of global_fragments, with their templates filled.
//
// A value that holds a blank or a template, and does not start as a path (/, ./,
// ../ or ~/), is the text itself; any other is a file, relative to the city.
func (s *Spec) PromptText() (string, error) {
	var parts []string
	for _, src := range append([]string{s.Resolved.PromptTemplate}, s.Resolved.Fragments...) {
		if src == "" {
			continue
		}
		text := src
		if !isInline(src) {
			b, err := os.ReadFile(config.Place(s.City.Dir, src))
			if errors.Is(err, os.ErrNotExist) {
				return "", &StartError{
					Msg:  fmt.Sprintf("prompt file %s does not exist", config.Place(s.City.Dir, src)),
					Help: "write the file, or change prompt_template (global_fragments); a path is relative to the city",
				}
			}
			if err != nil {
				return "", fmt.Errorf("prompt: %w", err)
			}
			text = string(b)
		}
		text, err := config.Expand(text, s.vars)
		if err != nil {
			return "", fmt.Errorf("prompt: %w", err)
		}
		parts = append(parts, strings.TrimRight(text, "\n"))
	}
	return strings.Join(parts, "\n\n"), nil
}

// beacon is the first line of a prompt, and for agents without hooks how to
// learn the rest.
func (s *Spec) beacon(at time.Time) string {
	line := "[" + s.City.Name() + "] " + s.Name() + " . " + at.Format("2006-01-02T15:04:05")
	if !s.Resolved.SupportsHooks {
		line += "\n\nRun `gc prime $GC_AGENT` to initialize your context."
	}
	return line
}

// addPrompt puts beacon and prompt on the command line, unless the mode is
// none, or nobody set a mode and there is no text. A prompt too long for that is written to a file of the city's .gc
// folder, and the agent is told to read it.
func (s *Spec) addPrompt(cfg *runtime.Config, inst Instance) error {
	if s.Resolved.PromptMode == config.PromptNone {
		return nil
	}
	text, err := s.PromptText()
	if err != nil {
		return err
	}
	if text == "" && s.Resolved.Origins["prompt_mode"].Source == "default" {
		return nil // a plain program: nothing to say, and nobody said how
	}
	full := s.beacon(inst.At)
	if text != "" {
		full += "\n\n" + text
	}
	if strings.Contains(full, "\x00") {
		return &StartError{Msg: "the prompt holds a NUL byte", Help: "prompts are text"}
	}
	if s.Resolved.PromptMode == config.PromptFlag {
		cfg.PromptFlag = s.Resolved.PromptFlag
	}
	suffix := config.Quote(full)
	if len(suffix)+len(cfg.Command) > maxPromptArg {
		file, err := s.writePrompt(full)
		if err != nil {
			return err
		}
		suffix = config.Quote(s.beacon(inst.At) + "\n\nYour instructions are too long for the command line. Read all of the file " + file + " now and follow it.")
	}
	cfg.PromptSuffix = suffix
	return nil
}

// writePrompt keeps a long prompt where the agent can read it; the next start
// replaces it.
func (s *Spec) writePrompt(text string) (string, error) {
	dir := filepath.Join(s.City.Dir, ".gc", "prompts")
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return "", fmt.Errorf("prompt: %w", err)
	}
	file := filepath.Join(dir, s.Session+".md")
	tmp := file + ".new"
	if err := os.WriteFile(tmp, []byte(text), 0o600); err != nil {
		return "", fmt.Errorf("prompt: %w", err)
	}
	if err := os.Rename(tmp, file); err != nil {
		os.Remove(tmp)
		return "", fmt.Errorf("prompt: %w", err)
	}
	return file, nil
}

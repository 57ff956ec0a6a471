package agent

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"gascity.dev/gc/internal/config"
	"gascity.dev/gc/internal/shell"
	"gascity.dev/gc/runtime"
)

// PromptText returns the agent's prompt without the beacon: prompt_template,
// then each of global_fragments, with templates filled in.
//
// A value that contains a blank or a template, and does not start like a path
// (/, ./, ../ or ~/), is the text itself; any other is a file, relative to the
// city.
func (s *Spec) PromptText() (string, error) {
	var parts []string
	for _, src := range append([]string{s.Resolved.PromptTemplate}, s.Resolved.Fragments...) {
		if src == "" {
			continue
		}
		text, err := s.promptSource(src)
		if err != nil {
			return "", err
		}
		if text, err = config.Expand(text, s.vars); err != nil {
			return "", fmt.Errorf("prompt: %w", err)
		}
		parts = append(parts, strings.TrimRight(text, "\n"))
	}
	return strings.Join(parts, "\n\n"), nil
}

func (s *Spec) promptSource(src string) (string, error) {
	if isInline(src) {
		return src, nil
	}
	file := config.Place(s.City.Dir, src)
	b, err := os.ReadFile(file)
	if errors.Is(err, os.ErrNotExist) {
		return "", &StartError{
			Msg:  fmt.Sprintf("prompt file %s does not exist", file),
			Help: "create the file, or change prompt_template (global_fragments); a path is relative to the city",
		}
	}
	if err != nil {
		return "", fmt.Errorf("prompt: %w", err)
	}
	return string(b), nil
}

// isInline distinguishes the text of a prompt from a path: see PromptText.
func isInline(v string) bool {
	for _, start := range []string{"/", "./", "../", "~/"} {
		if strings.HasPrefix(v, start) {
			return false
		}
	}
	return strings.ContainsAny(v, " \t\n") || strings.Contains(v, "{{")
}

// HasPrompt reports whether incarnations get a prompt.
func (s *Spec) HasPrompt() bool {
	r := &s.Resolved
	text := r.PromptTemplate != "" || len(r.Fragments) > 0
	return r.PromptMode != config.PromptNone && (text || r.Origins["prompt_mode"].Source != "default")
}

// Prompt returns an incarnation's initial prompt: the beacon, then the text. It
// is "" if the mode is "none", and for a plain program (no text and no mode set).
func (s *Spec) Prompt(inst Instance) (string, error) {
	if s.Resolved.PromptMode == config.PromptNone {
		return "", nil
	}
	text, err := s.PromptText()
	if err != nil {
		return "", err
	}
	if text == "" && s.Resolved.Origins["prompt_mode"].Source == "default" {
		return "", nil
	}
	full := s.beacon(inst)
	if text != "" {
		full += "\n\n" + text
	}
	if strings.Contains(full, "\x00") {
		return "", &StartError{Msg: "the prompt contains a NUL byte", Help: "prompts are text"}
	}
	return full, nil
}

func (s *Spec) beacon(inst Instance) string {
	return s.renamed(runtime.Beacon(s.City.Name(), s.Name(), inst.At, s.Resolved.SupportsHooks))
}

// renamed replaces "gc" in a beacon with gc's name here.
func (s *Spec) renamed(beacon string) string {
	bin := s.Config.Env["GC_BIN"]
	if bin == "" {
		return beacon
	}
	return strings.Replace(beacon, "`gc prime", "`"+filepath.Base(bin)+" prime", 1)
}

// addPrompt sets an incarnation's prompt. The runtime puts one that is too long
// for an argument into a file. A resumed conversation already has it: on a terminal it gets
// none, and over ACP the host gets it for the case that the agent refuses to resume.
func (s *Spec) addPrompt(cfg *runtime.Config, inst Instance) error {
	prompt, err := s.Prompt(inst)
	if err != nil || prompt == "" {
		return err
	}
	addMessage(cfg, prompt, s.beacon(inst))
	if inst.Resume {
		return nil
	}
	cfg.PromptSuffix = shell.Quote(prompt)
	if s.Resolved.PromptMode == config.PromptFlag {
		cfg.PromptFlag = s.Resolved.PromptFlag
	}
	return nil
}

package agent

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path"
	"path/filepath"

	"gascity.dev/gc/internal/hooks"
	"gascity.dev/gc/internal/shell"
	"gascity.dev/gc/runtime"
)

// HookFileCommand is the hidden command of gc that calls WriteHookFile.
const HookFileCommand = "hook-file"

// mergesThere reports whether the program gets a file of hooks that gc makes on its machine,
// since only there its own settings can be read: qwen and codex.
func (s *Spec) mergesThere(cfg *runtime.Config) bool {
	style := s.Resolved.HooksStyle
	return (style == hooks.ByQwen || style == hooks.ByCodex) && s.elsewhere() && cfg.WorkDir != "" && s.hooked(cfg)
}

// hooksThere lets the start make that file, before the program starts.
func (s *Spec) hooksThere(cfg *runtime.Config) error {
	style, file := s.Resolved.HooksStyle, path.Join(cfg.WorkDir, ".gc", "hooks", s.Session)
	var own []string // known here
	var env string
	switch style {
	case hooks.ByQwen:
		file += ".json"
		if known := cfg.Env[qwenVariable]; known != "" {
			own = []string{known}
		}
		cfg.Env[qwenVariable] = file
	case hooks.ByCodex:
		file += ".sh"
		notify, here, err := s.notifyInArgs()
		if err != nil {
			return nil // the user's stays, as in codexHooks
		}
		if here {
			own = notify
		} else if home := cfg.Env["CODEX_HOME"]; home != "" {
			env = "CODEX_HOME=" + shell.Quote(home) + " "
		}
		text, err := json.Marshal([]string{"/bin/sh", file})
		if err != nil {
			return err
		}
		cfg.Command += " -c " + shell.Quote("notify="+string(text))
	}
	line := env + `"$GC_BIN" ` + HookFileCommand + " " + quoteAll(append([]string{style, file}, own...))
	cfg.PreStart = append(cfg.PreStart[:len(cfg.PreStart):len(cfg.PreStart)], line)
	return nil
}

// WriteHookFile writes the file that a program of this machine loads its hooks from: the
// settings of qwen, or the script that codex notifies. Both contain what the user has: own is
// the file of the settings, or the program to notify; without it, what this process's
// environment says. Only the user can read the file.
func WriteHookFile(style, file string, own []string) error {
	env := &runtime.Config{BaseEnv: map[string]string{}}
	for _, name := range []string{qwenVariable, "CODEX_HOME", "HOME"} {
		env.BaseEnv[name] = os.Getenv(name)
	}
	var text []byte
	var err error
	switch style {
	case hooks.ByQwen:
		if len(own) > 0 {
			env.BaseEnv[qwenVariable] = own[0]
		}
		text, err = qwenText(env)
	case hooks.ByCodex:
		if len(own) == 0 {
			if own, err = notifyIn(env); errors.Is(err, errNotify) {
				err = unmerged("config.toml", err)
			}
		}
		text = hooks.CodexScript(quoteAll(own))
	default:
		err = fmt.Errorf("no hooks of %s are made here", cmp.Or(style, `""`))
	}
	if err != nil {
		return err
	}
	if err := os.MkdirAll(filepath.Dir(file), 0o700); err != nil {
		return fmt.Errorf("hooks: %w", err)
	}
	if err := writeWhole(file, text); err != nil {
		return fmt.Errorf("hooks: %w", err)
	}
	return nil
}

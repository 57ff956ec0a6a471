package agent

import (
	"cmp"
	"encoding/json"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"gascity.dev/gc/internal/config"
	"gascity.dev/gc/internal/hooks"
	"gascity.dev/gc/internal/shell"
	"gascity.dev/gc/internal/toml"
	"gascity.dev/gc/runtime"
)

// errNotify means that it is not known which program codex notifies.
var errNotify = errors.New("the user's notify cannot be read")

// codexHooks sets notify, which codex has once: file is a script that calls the user's
// program, too. Where that is not known the user's stays, and gc hears nothing by it.
func (s *Spec) codexHooks(cfg *runtime.Config, file string) error {
	if _, err := s.ownNotify(); err != nil || s.elsewhere() {
		return nil
	}
	program := hooks.CodexNotify()
	if file != "" {
		program = []string{"/bin/sh", file}
	}
	text, err := json.Marshal(program)
	if err == nil {
		cfg.Command += " -c " + shell.Quote("notify="+string(text))
	}
	return err
}

// ownNotify returns the program that the user has codex notify: by an argument, else by
// config.toml. errNotify if that cannot be told.
func (s *Spec) ownNotify() ([]string, error) {
	if own, here, err := s.notifyInArgs(); err != nil || here {
		return own, err
	}
	return notifyIn(&s.Config)
}

// notifyInArgs returns the program that an argument has codex notify.
func (s *Spec) notifyInArgs() (own []string, here bool, err error) {
	args, err := config.ExpandAll(s.Resolved.Args, s.vars)
	if err != nil {
		return nil, false, err
	}
	if value, ok := notifyFlag(args); ok {
		own, err = notifyOf("notify = " + value)
		return own, true, err
	}
	if strings.Contains(s.Config.Command, "notify") {
		return nil, true, errNotify // by a start_command
	}
	return nil, false, nil
}

// notifyIn returns the program that config.toml has codex notify.
func notifyIn(cfg *runtime.Config) ([]string, error) {
	env := func(name string) string { return cmp.Or(cfg.Env[name], cfg.BaseEnv[name]) }
	home := cmp.Or(env("CODEX_HOME"), filepath.Join(env("HOME"), ".codex"))
	text, err := os.ReadFile(filepath.Join(home, "config.toml"))
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return nil, nil
	case err != nil:
		return nil, errNotify
	}
	return notifyOf(string(text))
}

// notifyFlag returns the last value of notify in codex's arguments, which are "-c KEY=VALUE".
func notifyFlag(args []string) (value string, ok bool) {
	for i, arg := range args {
		if i == 0 || args[i-1] != "-c" && args[i-1] != "--config" {
			arg, _ = strings.CutPrefix(arg, "--config=")
			arg, _ = strings.CutPrefix(arg, "-c")
		}
		if v, is := strings.CutPrefix(arg, "notify="); is {
			value, ok = v, true
		}
	}
	return value, ok
}

// notifyOf returns notify of a config.toml; other tables may have a key of that name, of
// which it is not known what it means.
func notifyOf(text string) ([]string, error) {
	var bad toml.Report
	doc := toml.Parse([]byte(text), &bad)
	if bad.Err() != nil {
		return nil, errNotify
	}
	var own struct {
		Notify []string `toml:"notify"`
	}
	doc.Decode(&own, &bad) // every other key is unknown to it
	if len(own.Notify) == 0 && setsNotify(text) {
		return nil, errNotify
	}
	return own.Notify, nil
}

// setsNotify reports whether a config.toml may have the key notify.
func setsNotify(text string) bool {
	for line := range strings.Lines(text) {
		key, _, _ := strings.Cut(line, "=")
		if strings.Trim(key, " \t\"'") == "notify" {
			return true
		}
	}
	return false
}

func quoteAll(words []string) string {
	quoted := make([]string, len(words))
	for i, w := range words {
		quoted[i] = shell.Quote(w)
	}
	return strings.Join(quoted, " ")
}

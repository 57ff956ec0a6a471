package agent

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	goruntime "runtime"
	"slices"
	"strings"

	"gascity.dev/gc/internal/config"
	"gascity.dev/gc/internal/hooks"
	"gascity.dev/gc/internal/shell"
	"gascity.dev/gc/runtime"
)

// maxSettings limits the bytes of a user's settings that are merged.
const maxSettings = 1 << 20

// hooked reports whether the program gets hooks that report its state: it is the one that
// its provider names, or the agent says so itself; and its session can hear them.
func (s *Spec) hooked(cfg *runtime.Config) bool {
	r := &s.Resolved
	if !r.Hooks || r.HooksStyle == "" || s.OverACP() || cfg.Command == "" {
		return false
	}
	if s.hostedBy != "" && s.hostedBy != "native" && s.Host() == "" {
		return false // no multiplexer of ours
	}
	word, _, _ := strings.Cut(cfg.Command, " ")
	return r.HooksStyle == filepath.Base(word) || r.Origins["hooks"].Source != config.OriginDefault
}

const openCodeVariable = "OPENCODE_CONFIG_CONTENT"

// startHooks gives the program of an incarnation hooks that report its state, for this
// session alone. Those of the user stay.
func (s *Spec) startHooks(cfg *runtime.Config) error {
	if !s.hooked(&s.Config) {
		return nil
	}
	if s.mergesThere(cfg) {
		return s.hooksThere(cfg)
	}
	file, _, err := s.hooksText()
	if err != nil {
		return err
	}
	if file != "" && s.elsewhere() {
		file = stageHooks(cfg, file)
	}
	switch s.Resolved.HooksStyle {
	case hooks.ByClaude:
		return s.claudeHooks(cfg, file)
	case hooks.ByCodex:
		return s.codexHooks(cfg, file)
	case hooks.ByQwen:
		if file != "" {
			cfg.Env[qwenVariable] = file
		}
	case hooks.ByPi:
		if file != "" {
			cfg.Command += " -e " + shell.Word(file)
		}
	case hooks.ByOpenCode:
		if file == "" {
			return nil
		}
		text, err := hooks.WithPlugin(cmp.Or(cfg.Env[openCodeVariable], cfg.BaseEnv[openCodeVariable]), file)
		if err != nil {
			return unmerged(openCodeVariable, err)
		}
		cfg.Env[openCodeVariable] = text
	}
	return nil
}

// stageHooks lets the start stage a file of hooks into the work directory on another
// machine, and returns its path there.
func stageHooks(cfg *runtime.Config, file string) (there string) {
	there = path.Join(".gc", "hooks", filepath.Base(file))
	cfg.CopyFiles = append(slices.Clip(cfg.CopyFiles), runtime.CopyFile{Src: file, RelDst: there})
	return path.Join(cfg.WorkDir, there)
}

// stagesHooks reports whether the program gets its hooks on another machine: there, settings
// that a file would replace cannot be read, and without a work directory there is no place.
func (s *Spec) stagesHooks(cfg *runtime.Config) bool {
	style := s.Resolved.HooksStyle
	known := style == hooks.ByPi || style == hooks.ByOpenCode && cfg.BaseEnv[openCodeVariable] == ""
	return known && s.elsewhere() && cfg.WorkDir != "" && s.hooked(cfg)
}

// hooksText returns the file that the program loads its hooks from, and its text; "" if it
// needs none, or cannot have it on another machine.
func (s *Spec) hooksText() (file string, text []byte, err error) {
	if !s.hooked(&s.Config) || s.elsewhere() && !s.stagesHooks(&s.Config) {
		return "", nil, nil
	}
	base := filepath.Join(s.City.Dir, ".gc", "hooks", s.Session)
	switch s.Resolved.HooksStyle {
	case hooks.ByClaude:
		own, _, err := s.ownSettings()
		if err != nil || own == "" || isObject(own) {
			return "", nil, err
		}
		if !filepath.IsAbs(own) {
			own = filepath.Join(s.vars.WorkDir, own)
		}
		text, err = merged(hooks.ByClaude, own) // it may hold secrets: not for the command line
		return base + ".json", text, err
	case hooks.ByQwen:
		text, err = qwenText(&s.Config)
		return base + ".json", text, err
	case hooks.ByCodex:
		own, err := s.ownNotify()
		if err != nil || len(own) == 0 {
			return "", nil, nil // see codexHooks
		}
		return base + ".sh", hooks.CodexScript(quoteAll(own)), nil
	case hooks.ByPi:
		return base + ".ts", hooks.PiExtension, nil
	case hooks.ByOpenCode:
		return base + ".js", hooks.OpenCodePlugin, nil
	}
	return "", nil, nil
}

// WriteFiles writes the files that a program started with cfg loads. Only the user can
// read them.
func (s *Spec) WriteFiles(cfg *runtime.Config) error {
	if err := s.WriteServers(cfg); err != nil {
		return err
	}
	file, text, err := s.hooksText()
	if err != nil || file == "" {
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

const settingsFlag = "--settings"

// claudeHooks adds --settings: file, which has the user's own, or JSON.
func (s *Spec) claudeHooks(cfg *runtime.Config, file string) error {
	own, rest, err := s.ownSettings()
	if err != nil {
		return err
	}
	if own == "" && strings.Contains(cfg.Command, settingsFlag) {
		return unmerged("its command has "+settingsFlag+", which", errors.New("only one counts"))
	}
	if own != "" {
		without := *s
		without.Resolved.Args = rest
		if cfg.Command, err = without.command(); err != nil {
			return err
		}
	}
	value := file
	switch {
	case own != "" && !isObject(own) && s.elsewhere():
		return unmerged(settingsFlag+" "+own+" of another machine", errors.New("it cannot be read from here"))
	case file == "":
		text, err := hooks.Settings(hooks.ByClaude, []byte(own))
		if err != nil {
			return unmerged(settingsFlag, err)
		}
		value = string(text)
	}
	cfg.Command += " " + settingsFlag + " " + shell.Word(value)
	return nil
}

// ownSettings returns the value of --settings in the agent's arguments, and the others.
func (s *Spec) ownSettings() (own string, rest []string, err error) {
	args, err := config.ExpandAll(s.Resolved.Args, s.vars)
	if err != nil {
		return "", nil, err
	}
	own, rest = cutFlag(args, settingsFlag)
	return strings.TrimSpace(own), rest, nil
}

func isObject(text string) bool { return strings.HasPrefix(text, "{") }

// cutFlag returns the last value of a flag, and the arguments without it. The words after
// "--" are no flags.
func cutFlag(args []string, flag string) (value string, rest []string) {
	for i := 0; i < len(args); i++ {
		of, is := strings.CutPrefix(args[i], flag+"=")
		switch {
		case args[i] == "--":
			return value, append(rest, args[i:]...)
		case is:
			value = of
		case args[i] == flag && i+1 < len(args):
			i++
			value = args[i]
		default:
			rest = append(rest, args[i])
		}
	}
	return value, rest
}

const qwenVariable = "QWEN_CODE_SYSTEM_SETTINGS_PATH"

// qwenSettings returns the system's settings of qwen, "" if there are none.
func qwenSettings(cfg *runtime.Config) string {
	path := cmp.Or(cfg.Env[qwenVariable], cfg.BaseEnv[qwenVariable])
	if path == "" {
		path = "/etc/qwen-code/settings.json"
		if goruntime.GOOS == "darwin" {
			path = "/Library/Application Support/QwenCode/settings.json"
		}
	}
	if _, err := os.Stat(path); errors.Is(err, fs.ErrNotExist) {
		return ""
	}
	return path
}

// qwenText returns those settings with the hooks added.
func qwenText(cfg *runtime.Config) ([]byte, error) {
	if own := qwenSettings(cfg); own != "" {
		return merged(hooks.ByQwen, own)
	}
	return hooks.Settings(hooks.ByQwen, nil)
}

// merged returns the settings in a file with the hooks added.
func merged(agent, file string) ([]byte, error) {
	f, err := os.Open(file)
	if err != nil {
		return nil, unmerged("settings", err)
	}
	defer f.Close()
	own, err := io.ReadAll(io.LimitReader(f, maxSettings+1))
	if err == nil && len(own) > maxSettings {
		err = fmt.Errorf("more than %d bytes", maxSettings)
	}
	var text []byte
	if err == nil {
		text, err = hooks.Settings(agent, own)
	}
	if err != nil {
		return nil, unmerged(file, err)
	}
	return text, nil
}

// unmerged is the error of a user's own settings with which the hooks cannot be merged.
func unmerged(what string, err error) error {
	return &StartError{
		Msg:  fmt.Sprintf("%s cannot be merged with the hooks that report its state: %v", what, err),
		Help: "move it to args as plain JSON, or add hooks = false", Key: "hooks",
	}
}

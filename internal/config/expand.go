package config

import (
	"fmt"
	"strings"
	"text/template"
)

// Vars are the fields available to templates in commands and prompts.
type Vars struct {
	Session   string // session name
	Agent     string // qualified name
	AgentBase string // bare name
	Rig       string // name of the rig, may be empty
	RigRoot   string // its directory
	CityRoot  string // the city's directory
	CityName  string
	WorkDir   string
	ConfigDir string // directory of the file that defines the agent
}

// Expand fills in the {{.Name}} templates of a command. Text without a template
// is returned unchanged.
func Expand(text string, v Vars) (string, error) {
	if !strings.Contains(text, "{{") {
		return text, nil
	}
	t, err := template.New("command").Option("missingkey=error").Parse(text)
	if err != nil {
		return "", fmt.Errorf("bad template %q: %s", clip(text), plainTemplateError(err))
	}
	var b strings.Builder
	if err := t.Execute(&b, v); err != nil {
		return "", fmt.Errorf("bad template %q: %s", clip(text), plainTemplateError(err))
	}
	return b.String(), nil
}

// ExpandAll expands every element; it does not modify list.
func ExpandAll(list []string, v Vars) ([]string, error) {
	out := make([]string, len(list))
	for i, s := range list {
		var err error
		if out[i], err = Expand(s, v); err != nil {
			return nil, err
		}
	}
	return out, nil
}

// plainTemplateError removes the library's prefix and positions, which are
// meaningless in a one-line command.
func plainTemplateError(err error) string {
	msg := strings.TrimPrefix(err.Error(), "template: ")
	if _, rest, ok := strings.Cut(msg, ">: "); ok {
		return rest
	}
	msg = strings.TrimPrefix(msg, "command:")
	return strings.TrimLeft(msg, "0123456789: ")
}

func clip(s string) string {
	const most = 60
	if len(s) <= most {
		return s
	}
	cut := most
	for cut > 0 && s[cut]&0xC0 == 0x80 {
		cut--
	}
	return s[:cut] + "…"
}

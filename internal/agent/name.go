package agent

import (
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"errors"
	"fmt"
	"strings"
	"text/template"

	"gascity.dev/gc/runtime"
)

// hashDigits is the length of the hash that tells ambiguous names apart.
const hashDigits = 8

// maxName is the longest session name, in bytes.
const maxName = 200

// SessionNameFor names the session of an agent (its qualified name) in a city.
// id is "", or tells the city from another of its name; it ends the name then.
// It is pure: the same four strings give the same name for ever, and distinct
// (city, id, agent) give distinct names (as far as a template uses both).
//
// A template that fails or makes an unsafe name is ignored; [CheckTemplate]
// says why.
func SessionNameFor(city, id, tmpl, agent string) string {
	room := maxName
	if id != "" {
		id = "-" + id
		room -= len(id)
	}
	if name, err := render(city, tmpl, agent, room); err == nil {
		return name + id
	}
	name, _ := render(city, "", agent, room)
	return name + id
}

// CheckTemplate returns why SessionNameFor does not use the template, or nil.
func CheckTemplate(city, id, tmpl, agent string) error {
	room := maxName
	if id != "" {
		room -= len(id) + 1
	}
	if _, err := render(city, tmpl, agent, room); err != nil {
		return fmt.Errorf("session_template %q is not used: %w", tmpl, err)
	}
	return nil
}

// nameParts is what a session template may use.
type nameParts struct {
	City  string // safe
	Agent string // safe and qualified
	Dir   string // rig part, empty without one
	Name  string // bare name
}

// render makes a name of at most room bytes.
func render(city, tmpl, agent string, room int) (string, error) {
	parts := nameParts{City: safe(city), Agent: safe(strings.ReplaceAll(agent, "/", "--")), Name: agent}
	if i := strings.LastIndexByte(agent, '/'); i >= 0 {
		parts.Dir, parts.Name = safe(strings.ReplaceAll(agent[:i], "/", "--")), agent[i+1:]
	}
	parts.Name = safe(parts.Name)
	name := "gc-" + parts.City + "-" + parts.Agent
	if tmpl != "" {
		var err error
		if name, err = execute(tmpl, parts); err != nil {
			return "", err
		}
	}
	if tmpl == "" && len(name) > room-hashDigits-1 {
		return name[:room-hashDigits-1] + "-" + pairHash(city, agent), nil
	}
	if ambiguous(city, agent, name) {
		name += "-" + pairHash(city, agent)
	}
	if len(name) > room {
		return "", fmt.Errorf("%w: %q is longer than %d bytes", runtime.ErrBadName, name, room)
	}
	return name, runtime.CheckName(name)
}

func execute(tmpl string, parts nameParts) (string, error) {
	t, err := template.New("session").Parse(tmpl)
	if err != nil {
		return "", errors.New(strings.TrimPrefix(err.Error(), "template: "))
	}
	var b strings.Builder
	if err := t.Execute(&b, parts); err != nil {
		return "", errors.New(strings.TrimPrefix(err.Error(), "template: "))
	}
	return b.String(), runtime.CheckName(b.String())
}

// ambiguous reports names that another pair could share. Without these, the
// first "-" after "gc-" ends the city and every "--" was a "/", so a name can be
// read back; and a name that looks as if it ended in a hash gets one of its own.
func ambiguous(city, agent, name string) bool {
	return city == "" || strings.Contains(city, "-") || safe(city) != city ||
		agent == "" || strings.Contains(agent, "--") || safe(strings.ReplaceAll(agent, "/", "")) != strings.ReplaceAll(agent, "/", "") ||
		strings.Contains(agent, "-/") || strings.Contains(agent, "/-") || strings.Contains(agent, "//") ||
		endsInHash(name)
}

func endsInHash(name string) bool {
	i := len(name) - hashDigits
	if i < 1 || name[i-1] != '-' {
		return false
	}
	for _, c := range []byte(name[i:]) {
		if (c < '0' || c > '9') && (c < 'a' || c > 'f') {
			return false
		}
	}
	return true
}

// safe replaces every byte that a session name cannot hold.
func safe(s string) string {
	out := []byte(s)
	for i, c := range out {
		if !(c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c >= '0' && c <= '9' || c == '.' || c == '_' || c == '-') {
			out[i] = '_'
		}
	}
	return string(out)
}

// pairHash is a hash of both names with their lengths, so that no two pairs
// meet by concatenation.
func pairHash(city, agent string) string {
	b := binary.AppendUvarint(nil, uint64(len(city)))
	b = append(b, city...)
	b = append(b, agent...)
	sum := sha256.Sum256(b)
	return hex.EncodeToString(sum[:])[:hashDigits]
}

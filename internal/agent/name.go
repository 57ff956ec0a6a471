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

// hashDigits is the length of the hash that makes ambiguous names unique.
const hashDigits = 8

// maxName is the maximum length of a session name, in bytes.
const maxName = 200

// SessionNameFor returns the session name of an agent (its qualified name) in a
// city. id is "", or distinguishes the city from another of the same name; then
// it ends the session name. It is pure: the same four strings always give the
// same name, and distinct (city, id, agent) give distinct names (if the
// template uses both).
//
// A template that fails or produces an unsafe name is ignored; [CheckTemplate]
// says why.
func SessionNameFor(city, id, tmpl, agent string) string {
	limit := maxName
	if id != "" {
		id = "-" + id
		limit -= len(id)
	}
	if name, err := render(city, tmpl, agent, limit); err == nil {
		return name + id
	}
	name, _ := render(city, "", agent, limit)
	return name + id
}

// CheckTemplate returns why SessionNameFor ignores the template, or nil.
func CheckTemplate(city, id, tmpl, agent string) error {
	limit := maxName
	if id != "" {
		limit -= len(id) + 1
	}
	if _, err := render(city, tmpl, agent, limit); err != nil {
		return fmt.Errorf("ignoring session_template %q: %w", tmpl, err)
	}
	return nil
}

// nameParts are the fields available to a session template.
type nameParts struct {
	City  string // safe
	Agent string // safe and qualified
	Dir   string // rig part, may be empty
	Name  string // bare name
}

// render returns a name of at most limit bytes.
func render(city, tmpl, agent string, limit int) (string, error) {
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
	if tmpl == "" && len(name) > limit-hashDigits-1 {
		return name[:limit-hashDigits-1] + "-" + pairHash(city, agent), nil
	}
	if ambiguous(city, agent, name) {
		name += "-" + pairHash(city, agent)
	}
	if len(name) > limit {
		return "", fmt.Errorf("%w: %q is longer than %d bytes", runtime.ErrBadName, name, limit)
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
// first "-" after "gc-" ends the city and every "--" was a "/", so a name can
// be parsed; and a name that seems to end in a hash gets a hash of its own.
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

// safe replaces every byte not allowed in a session name.
func safe(s string) string {
	out := []byte(s)
	for i, c := range out {
		if !(c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c >= '0' && c <= '9' || c == '.' || c == '_' || c == '-') {
			out[i] = '_'
		}
	}
	return string(out)
}

// pairHash hashes both names with their lengths, so that no two pairs collide
// by concatenation.
func pairHash(city, agent string) string {
	b := binary.AppendUvarint(nil, uint64(len(city)))
	b = append(b, city...)
	b = append(b, agent...)
	sum := sha256.Sum256(b)
	return hex.EncodeToString(sum[:])[:hashDigits]
}

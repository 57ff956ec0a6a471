package config

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
)

// Errors of the edits, for [errors.Is].
var (
	ErrRigExists  = errors.New("a rig of this name already exists")
	ErrUnknownRig = errors.New("no such rig")
	ErrRigInUse   = errors.New("agents work in this rig")

	ErrUnknownAgent = errors.New("no such agent in city.toml")
	// ErrByHand means that city.toml is written in a way that cannot be edited
	// here; it is left unchanged.
	ErrByHand = errors.New("cannot edit city.toml safely: edit it by hand")
)

// AddRig appends a [[rigs]] table to the city's file. Everything else in it,
// comments and order, stays. path is written verbatim.
func AddRig(c *City, name, path string) error {
	if !validName(name) {
		return fmt.Errorf("%q is not a valid rig name: use letters, digits, '.', '_' and '-'", clip(name))
	}
	return edit(c, func(now *City, text []byte) ([]byte, error) {
		if slices.ContainsFunc(now.Rigs, func(r Rig) bool { return r.Name == name }) {
			return nil, fmt.Errorf("%w: %s", ErrRigExists, name)
		}
		var b bytes.Buffer
		b.Write(text)
		if len(text) > 0 && !bytes.HasSuffix(text, []byte("\n")) {
			b.WriteByte('\n')
		}
		fmt.Fprintf(&b, "\n[[rigs]]\nname = %s\npath = %s\n", strconv.Quote(name), strconv.Quote(path))
		return b.Bytes(), nil
	}, func(old, changed *City) bool {
		return len(changed.Rigs) == len(old.Rigs)+1 && changed.Rigs[len(old.Rigs)].Name == name && changed.Rigs[len(old.Rigs)].Path == path
	})
}

// RemoveRig removes a [[rigs]] table from the city's file, from its header to
// its last key. Comments around it stay. A rig with agents is ErrRigInUse:
// without it they would run somewhere else.
func RemoveRig(c *City, name string) error {
	return edit(c, func(now *City, text []byte) ([]byte, error) {
		i := slices.IndexFunc(now.Rigs, func(r Rig) bool { return r.Name == name })
		if i < 0 {
			return nil, fmt.Errorf("%w: %s", ErrUnknownRig, name)
		}
		var users []string
		for j := range now.Agents {
			if now.Agents[j].Dir == name {
				users = append(users, now.Agents[j].QualifiedName())
			}
		}
		if len(users) > 0 {
			return nil, fmt.Errorf("%w: %s", ErrRigInUse, strings.Join(users, ", "))
		}
		return cutTable(text, now.Rigs[i].At.Line), nil
	}, func(old, changed *City) bool {
		return len(changed.Rigs) == len(old.Rigs)-1 && !slices.ContainsFunc(changed.Rigs, func(r Rig) bool { return r.Name == name })
	})
}

// Placement is where an agent runs, as its keys in city.toml say; "" is a key that is not
// there.
type Placement struct {
	Session string
	WorkDir string
}

// Placement returns the keys of an agent that say where it runs.
func (a *Agent) Placement() Placement { return Placement{a.Session, a.WorkDir} }

// SetPlacement sets the keys of an agent, by its qualified name, in the city's file.
// Everything else in it stays.
func SetPlacement(c *City, agent string, to Placement) error {
	at := -1
	return edit(c, func(now *City, text []byte) ([]byte, error) {
		at = slices.IndexFunc(now.Agents, func(a Agent) bool { return a.QualifiedName() == agent })
		if at < 0 {
			return nil, fmt.Errorf("%w: %s", ErrUnknownAgent, agent)
		}
		// From the last line to the first, so that the positions hold.
		keys := []tableKey{{"session", to.Session}, {"work_dir", to.WorkDir}}
		where := now.Agents[at].Where
		slices.SortFunc(keys, func(a, b tableKey) int { return where.Keys[b.name].Line - where.Keys[a.name].Line })
		for _, k := range keys {
			var err error
			if text, err = k.set(text, where); err != nil {
				return nil, err
			}
		}
		return text, nil
	}, func(old, changed *City) bool {
		for i := range changed.Agents {
			was, is := &old.Agents[i], &changed.Agents[i]
			if i != at && is.Placement() != was.Placement() || is.QualifiedName() != was.QualifiedName() {
				return false
			}
		}
		return changed.Agents[at].Placement() == to
	})
}

// aString is a basic or literal string of TOML on one line.
var aString = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`"(?:[^"\\]|\\.)*"|'[^']*'`) })

// tableKey is a string key of a table; "" if it is not there.
type tableKey struct{ name, value string }

// set sets the key: in its line, or in a new one after that of the name.
func (k tableKey) set(text []byte, table Where) ([]byte, error) {
	lines := strings.SplitAfter(string(text), "\n")
	name := table.Keys["name"].Line - 1
	switch at := table.Keys[k.name].Line - 1; {
	case at >= 0:
		before, rest, _ := strings.Cut(lines[at], "=")
		where := aString().FindStringIndex(rest)
		if strings.TrimSpace(before) != k.name || where == nil || strings.TrimSpace(rest[:where[0]]) != "" {
			return nil, ErrByHand
		}
		lines[at] = before + "=" + rest[:where[0]] + strconv.Quote(k.value) + rest[where[1]:]
		if k.value == "" {
			lines[at] = ""
		}
	case k.value == "":
	case name < 0 || table.At.Line == name+1: // an inline table
		return nil, ErrByHand
	default:
		end := strings.TrimSuffix(lines[name], "\n")
		lines[name] = end + "\n" + k.name + " = " + strconv.Quote(k.value) + lines[name][len(end):]
	}
	return []byte(strings.Join(lines, "")), nil
}

// cutTable removes the table whose header is on line header, from 1: up to its
// last key, and one blank line where two would meet.
func cutTable(text []byte, header int) []byte {
	lines := strings.SplitAfter(string(text), "\n")
	start := header - 1
	if start < 0 || start >= len(lines) {
		return text
	}
	end := start + 1
	for i := end; i < len(lines); i++ {
		line := strings.TrimSpace(lines[i])
		if strings.HasPrefix(line, "[") {
			break
		}
		if line != "" && !strings.HasPrefix(line, "#") {
			end = i + 1
		}
	}
	blank := func(i int) bool { return i < 0 || i >= len(lines) || strings.TrimSpace(lines[i]) == "" }
	switch {
	case start > 0 && blank(start-1) && strings.Join(lines[end:], "") == "":
		start-- // it was the last
	case blank(start-1) && end < len(lines) && blank(end):
		end++
	}
	return []byte(strings.Join(append(lines[:start:start], lines[end:]...), ""))
}

// edit changes the city's file: it rereads it, makes the new text, verifies
// that only the intended meaning changes, and replaces the file atomically.
func edit(c *City, change func(*City, []byte) ([]byte, error), meant func(old, changed *City) bool) error {
	file := c.File
	if real, err := filepath.EvalSymlinks(file); err == nil {
		file = real
	}
	text, err := os.ReadFile(file)
	if err != nil {
		return fmt.Errorf("change %s: %w", c.File, err)
	}
	old, err := Parse(c.File, text)
	if err != nil {
		return err
	}
	text, err = change(old, text)
	if err != nil {
		return err
	}
	changed, err := Parse(c.File, text)
	if err != nil || !meant(old, changed) || len(changed.Agents) != len(old.Agents) {
		return ErrByHand
	}
	return replaceFile(file, text)
}

// replaceFile replaces a file's content and keeps its permissions. A crash
// leaves the old or the new content.
func replaceFile(file string, text []byte) error {
	st, err := os.Stat(file)
	if err != nil {
		return fmt.Errorf("write %s: %w", file, err)
	}
	tmp, err := os.CreateTemp(filepath.Dir(file), ".city-*.toml")
	if err != nil {
		return fmt.Errorf("write %s: %w", file, err)
	}
	defer os.Remove(tmp.Name()) // renamed if all went well
	_, err = tmp.Write(text)
	err = errors.Join(err, tmp.Chmod(st.Mode().Perm()), tmp.Sync(), tmp.Close())
	if err == nil {
		err = os.Rename(tmp.Name(), file)
	}
	if err != nil {
		return fmt.Errorf("write %s: %w", file, err)
	}
	return nil
}

package world

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"gascity.dev/gc/internal/tmuxshim/format"
)

// Kind is what a target is to be.
type Kind int

// What a target may name.
const (
	KindSession Kind = iota
	KindWindow
	KindPane
)

// Find returns what a target (tmux(1), COMMANDS) names. here is where the command comes
// from: the client's pane, or the most recently used one; it has a session unless there is
// none at all. The errors are tmux's.
func (w *World) Find(target string, kind Kind, here Place) (Place, error) {
	if target == "" || target == "." || target == ":" || target == ":." {
		if here.Session == nil {
			return here, fmt.Errorf("no current target")
		}
		return here, nil
	}
	if target == "=" || target == "{mouse}" {
		return Place{}, fmt.Errorf("no mouse target")
	}
	session, window, pane := split(target, kind)
	f := finder{w, here}
	switch {
	case session == "" && window == "" && pane != "":
		return f.pane(pane, target, kind == KindPane && strings.HasPrefix(target, "."))
	case session == "" && window != "" && pane == "":
		return f.window(window, strings.HasPrefix(target, ":"))
	case session == "" && window != "":
		p, err := f.window(window, strings.HasPrefix(target, ":"))
		if err != nil {
			return p, err
		}
		return inWindow(p, pane)
	}
	s, err := f.session(session)
	if err != nil {
		return Place{}, err
	}
	p := placeOf(s)
	if window != "" {
		if p, err = inSession(s, window); err != nil {
			return p, err
		}
	}
	if pane != "" {
		return inWindow(p, pane)
	}
	return p, nil
}

func placeOf(s *Session) Place {
	win := s.CurrentWindow()
	return Place{s, win, win.ActivePane()}
}

// split cuts session:window.pane. What is alone is of the kind wanted, or what its first
// character says.
func split(target string, kind Kind) (session, window, pane string) {
	before, after, colon := strings.Cut(target, ":")
	if colon {
		window, pane, _ = strings.Cut(after, ".")
		return before, window, pane
	}
	if w, p, period := strings.Cut(target, "."); period && kind != KindSession {
		return "", w, p
	}
	switch {
	case target[0] == '$':
		return target, "", ""
	case target[0] == '@':
		return "", target, ""
	case target[0] == '%':
		return "", "", target
	case kind == KindSession:
		return target, "", ""
	case kind == KindWindow:
		return "", target, ""
	}
	return "", "", target
}

type finder struct {
	w    *World
	here Place
}

func (f finder) session(name string) (*Session, error) {
	none := fmt.Errorf("can't find session: %s", strings.TrimPrefix(name, "="))
	switch name[0] {
	case '$':
		n, err := strconv.Atoi(name[1:])
		if i := slices.IndexFunc(f.w.Sessions, func(s *Session) bool { return s.ID == n }); err == nil && i >= 0 {
			return f.w.Sessions[i], nil
		}
		return nil, none
	case '@', '%':
		for _, p := range f.w.Places() {
			if WindowID(p.Window.ID) == name || PaneID(p.Pane.ID) == name {
				return p.Session, nil
			}
		}
		return nil, none
	}
	exact, onlyExact := strings.CutPrefix(name, "=")
	if s := f.w.Named(exact); s != nil {
		return s, nil
	}
	if onlyExact {
		return nil, none
	}
	for _, fits := range []func(string) bool{
		func(s string) bool { return strings.HasPrefix(s, name) },
		func(s string) bool { return format.Glob(name, s) },
	} {
		if s, n := only(f.w.Sessions, func(s *Session) bool { return fits(s.Name) }); n > 1 {
			return nil, none
		} else if n == 1 {
			return s, nil
		}
	}
	return nil, none
}

// only returns the element that fits, and how many do.
func only[T any](all []T, fits func(T) bool) (one T, n int) {
	for _, x := range all {
		if fits(x) {
			one = x
			n++
		}
	}
	return one, n
}

// window finds a window by its id, in the session that the command comes from, or as a
// session's current one.
func (f finder) window(name string, windowOnly bool) (Place, error) {
	none := fmt.Errorf("can't find window: %s", name)
	if name[0] == '@' {
		for _, p := range f.w.Places() {
			if WindowID(p.Window.ID) == name {
				return Place{p.Session, p.Window, p.Window.ActivePane()}, nil
			}
		}
		return Place{}, none
	}
	if f.here.Session != nil {
		if p, err := inSession(f.here.Session, name); err == nil {
			return p, nil
		}
	}
	if !windowOnly {
		if s, err := f.session(name); err == nil {
			return placeOf(s), nil
		}
	}
	return Place{}, none
}

func (f finder) pane(name, target string, paneOnly bool) (Place, error) {
	if name[0] == '%' {
		for _, p := range f.w.Places() {
			if PaneID(p.Pane.ID) == name {
				return p, nil
			}
		}
		return Place{}, fmt.Errorf("can't find pane: %s", name)
	}
	if f.here.Session != nil {
		if p, err := inWindow(f.here, name); err == nil {
			return p, nil
		}
	}
	if !paneOnly {
		if p, err := f.window(name, false); err == nil {
			return p, nil
		}
	}
	return Place{}, fmt.Errorf("can't find pane: %s", target)
}

// inSession finds a window of a session.
func inSession(s *Session, name string) (Place, error) {
	win := windowOf(s, name)
	if win == nil {
		return Place{}, fmt.Errorf("can't find window: %s", name)
	}
	return Place{s, win, win.ActivePane()}, nil
}

func windowOf(s *Session, name string) *Window {
	switch name {
	case "!", "{last}":
		return s.LastWindow()
	case "^", "{start}":
		return s.Windows[0]
	case "$", "{end}":
		return s.Windows[len(s.Windows)-1]
	case "+", "{next}", "-", "{previous}":
		name = strings.NewReplacer("{next}", "+", "{previous}", "-").Replace(name) + "1"
	}
	switch name[0] {
	case '@':
		if i := slices.IndexFunc(s.Windows, func(w *Window) bool { return WindowID(w.ID) == name }); i >= 0 {
			return s.Windows[i]
		}
		return nil
	case '+', '-':
		if n, err := strconv.Atoi(name); err == nil {
			i := slices.Index(s.Windows, s.CurrentWindow())
			k := len(s.Windows)
			return s.Windows[((i+n)%k+k)%k]
		}
	}
	exact, onlyExact := strings.CutPrefix(name, "=")
	if n, err := strconv.Atoi(exact); err == nil && !onlyExact {
		if w := s.At(n); w != nil {
			return w
		}
	}
	tests := []func(string) bool{func(s string) bool { return s == exact }}
	if !onlyExact {
		tests = append(tests, func(s string) bool { return strings.HasPrefix(s, name) }, func(s string) bool { return format.Glob(name, s) })
	}
	for _, fits := range tests {
		if w, n := only(s.Windows, func(w *Window) bool { return fits(w.Name) }); n == 1 {
			return w
		} else if n > 1 {
			return nil
		}
	}
	return nil
}

// inWindow finds a pane of the window at p.
func inWindow(p Place, name string) (Place, error) {
	panes := p.Window.Panes
	at := slices.Index(panes, p.Window.ActivePane())
	found := -1
	switch name {
	case "!", "{last}":
		found = slices.Index(panes, p.Window.LastPane())
	case "+", "{next}", "{right-of}", "{down-of}":
		found = (at + 1) % len(panes)
	case "-", "{previous}", "{left-of}", "{up-of}":
		found = (at + len(panes) - 1) % len(panes)
	case "{top}", "{left}", "{top-left}", "{top-right}":
		found = 0
	case "{bottom}", "{right}", "{bottom-left}", "{bottom-right}":
		found = len(panes) - 1
	default:
		found = numbered(panes, at, name)
	}
	if found < 0 || found >= len(panes) {
		return Place{}, fmt.Errorf("can't find pane: %s", name)
	}
	p.Pane = panes[found]
	return p, nil
}

func numbered(panes []*Pane, at int, name string) int {
	if name[0] == '%' {
		return slices.IndexFunc(panes, func(p *Pane) bool { return PaneID(p.ID) == name })
	}
	n, err := strconv.Atoi(name)
	switch {
	case err != nil:
		return -1
	case name[0] == '+' || name[0] == '-':
		return ((at+n)%len(panes) + len(panes)) % len(panes)
	}
	return n
}

// FindIndex returns the session and the index that the target of a new window names; an
// index of -1 is any free one.
func (w *World) FindIndex(target string, here Place) (*Session, int, error) {
	f := finder{w, here}
	session, window, colon := strings.Cut(target, ":")
	switch {
	case target == "" && here.Session == nil:
		return nil, 0, fmt.Errorf("no current target")
	case target == "":
		return here.Session, -1, nil
	case colon && session == "" && here.Session != nil:
		return indexIn(here.Session, window)
	case colon:
		s, err := f.session(session)
		if err != nil {
			return nil, 0, err
		}
		return indexIn(s, window)
	case target[0] != '$' && here.Session != nil:
		if s, at, err := indexIn(here.Session, target); err == nil {
			return s, at, nil
		}
	}
	s, err := f.session(target)
	return s, -1, err
}

func indexIn(s *Session, window string) (*Session, int, error) {
	if window == "" {
		return s, -1, nil
	}
	if n, err := strconv.Atoi(window); err == nil && window[0] != '+' && window[0] != '-' {
		return s, n, nil
	}
	p, err := inSession(s, window)
	if err != nil {
		return nil, 0, err
	}
	return s, p.Window.Index, nil
}

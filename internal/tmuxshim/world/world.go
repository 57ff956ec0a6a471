// Package world is what tmux's commands are about: sessions of windows of panes, as a
// small durable record. A pane is a session of the multiplexer, which the record names; a
// pane whose session has ended is gone.
//
// A record belongs to one server of tmux's, the path of its socket. Readers take it as it
// is; [Store.Update] changes it under a lock that other processes wait for.
package world

import (
	"cmp"
	"slices"
	"strconv"
	"time"
)

// World is the sessions of one server, and what it keeps beside them.
type World struct {
	NextSession int               `json:"nextSession"`
	NextWindow  int               `json:"nextWindow"`
	NextPane    int               `json:"nextPane"`
	NextBuffer  int               `json:"nextBuffer"`
	Sessions    []*Session        `json:"sessions"`
	Buffers     []*Buffer         `json:"buffers,omitempty"` // the newest first
	Options     map[string]string `json:"options,omitempty"` // of the server, and global ones
	Environ     map[string]string `json:"environ,omitempty"` // global
	Signals     []string          `json:"signals,omitempty"` // of wait-for -S that nobody has waited for
}

// Session is one of tmux's sessions.
type Session struct {
	ID       int               `json:"id"`
	Name     string            `json:"name"`
	Group    string            `json:"group,omitempty"`
	Dir      string            `json:"dir"`
	Cols     int               `json:"cols"`
	Rows     int               `json:"rows"`
	Created  time.Time         `json:"created"`
	Activity time.Time         `json:"activity"`
	Windows  []*Window         `json:"windows"`
	Current  int               `json:"current"`        // the window's id
	Last     int               `json:"last,omitempty"` // the id of the window before it, plus 1
	Options  map[string]string `json:"options,omitempty"`
	Environ  map[string]string `json:"environ,omitempty"`
}

// Window is one of a session's windows.
type Window struct {
	ID      int               `json:"id"`
	Index   int               `json:"index"`
	Name    string            `json:"name"`
	Named   bool              `json:"named,omitempty"` // by a person: it stays
	Layout  string            `json:"layout,omitempty"`
	Panes   []*Pane           `json:"panes"`
	Active  int               `json:"active"`         // the pane's id
	Last    int               `json:"last,omitempty"` // the id of the pane before it, plus 1
	Zoomed  bool              `json:"zoomed,omitempty"`
	Options map[string]string `json:"options,omitempty"`
}

// Pane is one of a window's panes.
type Pane struct {
	ID      int               `json:"id"`
	Mux     string            `json:"mux"`             // the name of its session of the multiplexer
	Title   string            `json:"title,omitempty"` // that a person gave it
	Start   string            `json:"start,omitempty"` // the command that it was started with
	Dir     string            `json:"dir,omitempty"`
	Options map[string]string `json:"options,omitempty"`
}

// Buffer is a paste buffer.
type Buffer struct {
	Name    string    `json:"name"`
	Auto    bool      `json:"auto,omitempty"` // named by tmux
	Data    []byte    `json:"data"`
	Created time.Time `json:"created"`
}

// SessionID, WindowID and PaneID are ids as tmux writes them.
func SessionID(n int) string { return "$" + strconv.Itoa(n) }
func WindowID(n int) string  { return "@" + strconv.Itoa(n) }
func PaneID(n int) string    { return "%" + strconv.Itoa(n) }

// Place is a pane with the window and session around it.
type Place struct {
	Session *Session
	Window  *Window
	Pane    *Pane
}

// CurrentWindow is the session's current window, or its first.
func (s *Session) CurrentWindow() *Window {
	return cmp.Or(s.windowByID(s.Current), s.Windows[0])
}

func (s *Session) windowByID(id int) *Window {
	if i := slices.IndexFunc(s.Windows, func(w *Window) bool { return w.ID == id }); i >= 0 {
		return s.Windows[i]
	}
	return nil
}

// LastWindow is the one that was current before; nil if there is none.
func (s *Session) LastWindow() *Window {
	if s.Last == 0 {
		return nil
	}
	return s.windowByID(s.Last - 1)
}

// Select makes w the session's current window.
func (s *Session) Select(w *Window) {
	if s.Current != w.ID {
		s.Last, s.Current = s.Current+1, w.ID
	}
}

// ActivePane is the window's active pane, or its first.
func (w *Window) ActivePane() *Pane {
	return cmp.Or(w.paneByID(w.Active), w.Panes[0])
}

func (w *Window) paneByID(id int) *Pane {
	if i := slices.IndexFunc(w.Panes, func(p *Pane) bool { return p.ID == id }); i >= 0 {
		return w.Panes[i]
	}
	return nil
}

// LastPane is the one that was active before; nil if there is none.
func (w *Window) LastPane() *Pane {
	if w.Last == 0 {
		return nil
	}
	return w.paneByID(w.Last - 1)
}

// Select makes p the window's active pane.
func (w *Window) Select(p *Pane) {
	if w.Active != p.ID {
		w.Last, w.Active = w.Active+1, p.ID
	}
}

// Places are all panes, in the order of sessions by name, windows by index, and panes.
func (w *World) Places() []Place {
	var all []Place
	for _, s := range w.ByName() {
		for _, win := range s.Windows {
			for _, p := range win.Panes {
				all = append(all, Place{s, win, p})
			}
		}
	}
	return all
}

// ByName returns the sessions, sorted by name.
func (w *World) ByName() []*Session {
	all := slices.Clone(w.Sessions)
	slices.SortFunc(all, func(a, b *Session) int { return cmp.Compare(a.Name, b.Name) })
	return all
}

// Named returns the session of this name, or nil.
func (w *World) Named(name string) *Session {
	if i := slices.IndexFunc(w.Sessions, func(s *Session) bool { return s.Name == name }); i >= 0 {
		return w.Sessions[i]
	}
	return nil
}

// NewSession adds a session without windows.
func (w *World) NewSession(name string) *Session {
	now := time.Now()
	s := &Session{ID: w.NextSession, Name: name, Created: now, Activity: now}
	w.NextSession++
	w.Sessions = append(w.Sessions, s)
	return s
}

// NewWindow adds a window with one pane at index.
func (w *World) NewWindow(s *Session, index int) (*Window, *Pane) {
	win := &Window{ID: w.NextWindow, Index: index}
	w.NextWindow++
	s.Windows = append(s.Windows, win)
	s.sortWindows()
	return win, w.NewPane(win, 0)
}

func (s *Session) sortWindows() {
	slices.SortStableFunc(s.Windows, func(a, b *Window) int { return a.Index - b.Index })
}

// NewPane adds a pane to a window at position i.
func (w *World) NewPane(win *Window, i int) *Pane {
	p := &Pane{ID: w.NextPane}
	w.NextPane++
	if len(win.Panes) == 0 {
		win.Active = p.ID
	}
	win.Panes = slices.Insert(win.Panes, i, p)
	return p
}

// FreeIndex is the lowest free index of a window, from base.
func (s *Session) FreeIndex(base int) int {
	for s.At(base) != nil {
		base++
	}
	return base
}

// At returns the window with an index, or nil.
func (s *Session) At(index int) *Window {
	if i := slices.IndexFunc(s.Windows, func(w *Window) bool { return w.Index == index }); i >= 0 {
		return s.Windows[i]
	}
	return nil
}

// Keep removes every pane for which keep is false, windows without panes and sessions
// without windows, and returns the panes removed.
func (w *World) Keep(keep func(*Pane) bool) (gone []*Pane) {
	for _, s := range w.Sessions {
		for _, win := range s.Windows {
			win.Panes = slices.DeleteFunc(win.Panes, func(p *Pane) bool {
				if keep(p) {
					return false
				}
				gone = append(gone, p)
				return true
			})
			win.afterLoss()
		}
		s.Windows = slices.DeleteFunc(s.Windows, func(win *Window) bool { return len(win.Panes) == 0 })
		s.afterLoss()
	}
	w.Sessions = slices.DeleteFunc(w.Sessions, func(s *Session) bool { return len(s.Windows) == 0 })
	return gone
}

// afterLoss makes the pane that was active before active if the active one is gone.
func (w *Window) afterLoss() {
	if len(w.Panes) == 0 || w.paneByID(w.Active) != nil {
		return
	}
	w.Active = cmp.Or(w.LastPane(), w.Panes[0]).ID
	w.Last = 0
}

func (s *Session) afterLoss() {
	if len(s.Windows) == 0 || s.windowByID(s.Current) != nil {
		return
	}
	s.Current = cmp.Or(s.LastWindow(), s.Windows[0]).ID
	s.Last = 0
}

package world

import "slices"

// Move puts a window into a session at an index, which is free.
func (w *World) Move(from Place, to *Session, index int, selected bool) {
	win := from.Window
	from.Session.Windows = slices.DeleteFunc(from.Session.Windows, func(x *Window) bool { return x == win })
	from.Session.afterLoss()
	win.Index = index
	to.Windows = append(to.Windows, win)
	w.Sort()
	if selected {
		to.Select(win)
	}
	w.Sessions = slices.DeleteFunc(w.Sessions, func(s *Session) bool { return len(s.Windows) == 0 })
}

// Sort puts every session's windows in the order of their indexes.
func (w *World) Sort() {
	for _, s := range w.Sessions {
		s.sortWindows()
	}
}

// Take removes a pane from its window, and a window that is empty then.
func (w *World) Take(p Place) {
	p.Window.Panes = slices.DeleteFunc(p.Window.Panes, func(x *Pane) bool { return x == p.Pane })
	p.Window.afterLoss()
	if len(p.Window.Panes) > 0 {
		return
	}
	p.Session.Windows = slices.DeleteFunc(p.Session.Windows, func(x *Window) bool { return x == p.Window })
	p.Session.afterLoss()
	w.Sessions = slices.DeleteFunc(w.Sessions, func(s *Session) bool { return len(s.Windows) == 0 })
}

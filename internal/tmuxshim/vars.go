package tmuxshim

import (
	"cmp"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"gascity.dev/gc/internal/tmuxshim/format"
	"gascity.dev/gc/internal/tmuxshim/world"
	"gascity.dev/gc/mux/api"
	"gascity.dev/gc/vt"
)

// source gives formats the values at a place.
type source struct {
	server *server
	world  *world.World
	place  world.Place
	buffer *world.Buffer
	extra  map[string]string
}

// Value implements [format.Source].
func (s *source) Value(name string) (string, bool) {
	if v, ok := s.extra[name]; ok {
		return v, true
	}
	if f, ok := general[name]; ok {
		return f(s), true
	}
	p := s.place
	if f, ok := ofSession[name]; ok && p.Session != nil {
		return f(s, p.Session), true
	}
	if f, ok := ofWindow[name]; ok && p.Window != nil {
		return f(s, p.Window), true
	}
	if f, ok := ofPane[name]; ok && p.Pane != nil {
		return f(s, s.server.live[p.Pane.Mux]), true
	}
	if f, ok := ofScreen[name]; ok && p.Pane != nil {
		screen := s.server.screen(p.Pane.Mux)
		if screen == nil {
			return "", true
		}
		return f(screen), true
	}
	if f, ok := ofBuffer[name]; ok && s.buffer != nil {
		return f(s.buffer), true
	}
	return s.option(name)
}

// option is the value of an option, from the pane outwards.
func (s *source) option(name string) (string, bool) {
	p := s.place
	var places []map[string]string
	if p.Pane != nil {
		places = append(places, p.Pane.Options, p.Window.Options, p.Session.Options)
	}
	places = append(places, s.world.Options, defaults)
	for _, options := range places {
		if v, ok := options[name]; ok {
			return v, true
		}
	}
	if p.Session != nil {
		if v, ok := p.Session.Environ[name]; ok {
			return v, true
		}
	}
	v, ok := s.world.Environ[name]
	return v, ok
}

// Each implements [format.Source].
func (s *source) Each(kind byte) (all []format.Source, current int) {
	current = -1
	add := func(p world.Place, is bool) {
		if is {
			current = len(all)
		}
		all = append(all, &source{server: s.server, world: s.world, place: p})
	}
	p := s.place
	switch {
	case kind == 'S':
		for _, one := range s.world.ByName() {
			add(whole(one), one == p.Session)
		}
	case kind == 'W' && p.Session != nil:
		for _, w := range p.Session.Windows {
			add(world.Place{Session: p.Session, Window: w, Pane: w.ActivePane()}, w == p.Session.CurrentWindow())
		}
	case kind == 'P' && p.Window != nil:
		for _, one := range p.Window.Panes {
			add(world.Place{Session: p.Session, Window: p.Window, Pane: one}, one == p.Window.ActivePane())
		}
	}
	return all, current
}

// Width implements [format.Source].
func (s *source) Width(text string) int { return s.server.Width(text) }

// Exists implements [format.Source].
func (s *source) Exists(kind byte, name string) bool {
	if kind == 's' {
		return s.world.Named(name) != nil
	}
	return s.place.Session != nil && slices.ContainsFunc(s.place.Session.Windows, func(w *world.Window) bool { return w.Name == name })
}

func whole(s *world.Session) world.Place {
	w := s.CurrentWindow()
	return world.Place{Session: s, Window: w, Pane: w.ActivePane()}
}

func yes(on bool) string {
	if on {
		return "1"
	}
	return "0"
}

func seconds(t time.Time) string {
	if t.IsZero() {
		return ""
	}
	return strconv.FormatInt(t.Unix(), 10)
}

var general = map[string]func(*source) string{
	"version":     func(*source) string { return Version },
	"socket_path": func(s *source) string { return s.server.socket },
	"host":        func(*source) string { name, _ := os.Hostname(); return name },
	"host_short":  func(*source) string { name, _ := os.Hostname(); short, _, _ := strings.Cut(name, "."); return short },
	"uid":         func(*source) string { return strconv.Itoa(os.Getuid()) },
	"user":        func(*source) string { return os.Getenv("USER") },
	"pid":         func(*source) string { return "" }, // there is no server of tmux's
}

var ofSession = map[string]func(*source, *world.Session) string{
	"session_id":             func(_ *source, s *world.Session) string { return world.SessionID(s.ID) },
	"session_name":           func(_ *source, s *world.Session) string { return s.Name },
	"session_windows":        func(_ *source, s *world.Session) string { return strconv.Itoa(len(s.Windows)) },
	"session_created":        func(_ *source, s *world.Session) string { return seconds(s.Created) },
	"session_activity":       func(src *source, s *world.Session) string { return seconds(src.activity(s)) },
	"session_attached":       func(src *source, s *world.Session) string { return strconv.Itoa(src.attached(s)) },
	"session_many_attached":  func(src *source, s *world.Session) string { return yes(src.attached(s) > 1) },
	"session_last_attached":  func(*source, *world.Session) string { return "" },
	"session_path":           func(_ *source, s *world.Session) string { return s.Dir },
	"session_group":          func(_ *source, s *world.Session) string { return s.Group },
	"session_grouped":        func(_ *source, s *world.Session) string { return yes(s.Group != "") },
	"session_alerts":         func(*source, *world.Session) string { return "" },
	"session_format":         func(*source, *world.Session) string { return "0" },
	"last_window_index":      func(_ *source, s *world.Session) string { return strconv.Itoa(s.Windows[len(s.Windows)-1].Index) },
	"session_marked":         func(*source, *world.Session) string { return "0" },
	"session_group_size":     func(_ *source, s *world.Session) string { return yes(s.Group != "") },
	"session_group_attached": func(*source, *world.Session) string { return "0" },
}

// attached is how many clients show a session.
func (s *source) attached(session *world.Session) int {
	n := 0
	for _, w := range session.Windows {
		for _, p := range w.Panes {
			n += s.server.live[p.Mux].Attached
		}
	}
	return n
}

// activity is when a session was last used.
func (s *source) activity(session *world.Session) time.Time {
	last := session.Activity
	for _, w := range session.Windows {
		for _, p := range w.Panes {
			if t := s.server.live[p.Mux].LastInput; t.After(last) {
				last = t
			}
		}
	}
	return last
}

var ofWindow = map[string]func(*source, *world.Window) string{
	"window_id":             func(_ *source, w *world.Window) string { return world.WindowID(w.ID) },
	"window_index":          func(_ *source, w *world.Window) string { return strconv.Itoa(w.Index) },
	"window_name":           func(s *source, w *world.Window) string { return s.windowName(w) },
	"window_panes":          func(_ *source, w *world.Window) string { return strconv.Itoa(len(w.Panes)) },
	"window_active":         func(s *source, w *world.Window) string { return yes(w == s.place.Session.CurrentWindow()) },
	"window_last_flag":      func(s *source, w *world.Window) string { return yes(w == s.place.Session.LastWindow()) },
	"window_zoomed_flag":    func(_ *source, w *world.Window) string { return yes(w.Zoomed) },
	"window_flags":          func(s *source, w *world.Window) string { return s.flags(w) },
	"window_raw_flags":      func(s *source, w *world.Window) string { return s.flags(w) },
	"window_width":          func(s *source, _ *world.Window) string { return strconv.Itoa(s.place.Session.Cols) },
	"window_height":         func(s *source, _ *world.Window) string { return strconv.Itoa(s.place.Session.Rows) },
	"window_layout":         func(s *source, w *world.Window) string { return s.layout(w) },
	"window_visible_layout": func(s *source, w *world.Window) string { return s.layout(w) },
	"window_activity":       func(s *source, w *world.Window) string { return seconds(s.server.live[w.ActivePane().Mux].LastOutput) },
	"window_start_flag":     func(s *source, w *world.Window) string { return yes(w == s.place.Session.Windows[0]) },
	"window_end_flag": func(s *source, w *world.Window) string {
		all := s.place.Session.Windows
		return yes(w == all[len(all)-1])
	},
	"window_active_clients": func(s *source, w *world.Window) string {
		return strconv.Itoa(s.server.live[w.ActivePane().Mux].Attached)
	},
	"window_bell_flag":     func(*source, *world.Window) string { return "0" },
	"window_activity_flag": func(*source, *world.Window) string { return "0" },
	"window_silence_flag":  func(*source, *world.Window) string { return "0" },
	"window_linked":        func(*source, *world.Window) string { return "0" },
	"window_marked_flag":   func(*source, *world.Window) string { return "0" },
}

// windowName is the name that a person gave, or that of the program.
func (s *source) windowName(w *world.Window) string {
	if w.Named {
		return w.Name
	}
	return cmp.Or(program(s.server.live[w.ActivePane().Mux]), w.Name)
}

// program is the name of what a session runs.
func program(info api.SessionInfo) string {
	if info.PID == 0 {
		return ""
	}
	name, err := os.ReadFile(fmt.Sprintf("/proc/%d/comm", info.PID))
	if err != nil {
		return ""
	}
	return strings.TrimSpace(string(name))
}

func (s *source) flags(w *world.Window) string {
	text := ""
	if w == s.place.Session.CurrentWindow() {
		text += "*"
	}
	if w == s.place.Session.LastWindow() {
		text += "-"
	}
	if w.Zoomed {
		text += "Z"
	}
	return text
}

var ofPane = map[string]func(*source, api.SessionInfo) string{
	"pane_id": func(s *source, _ api.SessionInfo) string { return world.PaneID(s.place.Pane.ID) },
	"pane_index": func(s *source, _ api.SessionInfo) string {
		return strconv.Itoa(slices.Index(s.place.Window.Panes, s.place.Pane))
	},
	"pane_pid":             func(_ *source, i api.SessionInfo) string { return strconv.Itoa(i.PID) },
	"pane_title":           func(s *source, i api.SessionInfo) string { return s.paneTitle(i) },
	"pane_active":          func(s *source, _ api.SessionInfo) string { return yes(s.place.Pane == s.place.Window.ActivePane()) },
	"pane_last":            func(s *source, _ api.SessionInfo) string { return yes(s.place.Pane == s.place.Window.LastPane()) },
	"pane_width":           func(_ *source, i api.SessionInfo) string { return strconv.Itoa(i.Size.Cols) },
	"pane_height":          func(_ *source, i api.SessionInfo) string { return strconv.Itoa(i.Size.Rows) },
	"pane_current_path":    func(s *source, i api.SessionInfo) string { return cmp.Or(directory(i), s.place.Pane.Dir) },
	"pane_path":            func(*source, api.SessionInfo) string { return "" },
	"pane_start_path":      func(s *source, _ api.SessionInfo) string { return s.place.Pane.Dir },
	"pane_start_command":   func(s *source, _ api.SessionInfo) string { return s.place.Pane.Start },
	"pane_current_command": func(_ *source, i api.SessionInfo) string { return program(i) },
	"pane_tty":             func(_ *source, i api.SessionInfo) string { return terminal(i) },
	"pane_dead":            func(*source, api.SessionInfo) string { return "0" },
	"pane_in_mode":         func(*source, api.SessionInfo) string { return "0" },
	"pane_mode":            func(*source, api.SessionInfo) string { return "" },
	"pane_pipe":            func(*source, api.SessionInfo) string { return "0" },
	"pane_synchronized":    func(*source, api.SessionInfo) string { return "0" },
	"pane_marked":          func(*source, api.SessionInfo) string { return "0" },
	"pane_input_off":       func(*source, api.SessionInfo) string { return "0" },
	"pane_left":            func(*source, api.SessionInfo) string { return "0" },
	"pane_top":             func(*source, api.SessionInfo) string { return "0" },
	"pane_right":           func(_ *source, i api.SessionInfo) string { return strconv.Itoa(i.Size.Cols - 1) },
	"pane_bottom":          func(_ *source, i api.SessionInfo) string { return strconv.Itoa(i.Size.Rows - 1) },
	"pane_at_left":         func(*source, api.SessionInfo) string { return "1" },
	"pane_at_top":          func(*source, api.SessionInfo) string { return "1" },
	"pane_at_right":        func(*source, api.SessionInfo) string { return "1" },
	"pane_at_bottom":       func(*source, api.SessionInfo) string { return "1" },
}

func (s *source) paneTitle(i api.SessionInfo) string {
	host, _ := os.Hostname()
	return clean(cmp.Or(s.place.Pane.Title, i.Title, host))
}

// directory and terminal are those of a session's program; "" where the system does not say.
func directory(i api.SessionInfo) string {
	dir, _ := os.Readlink(fmt.Sprintf("/proc/%d/cwd", i.PID))
	return dir
}

func terminal(i api.SessionInfo) string {
	path, _ := os.Readlink(fmt.Sprintf("/proc/%d/fd/0", i.PID))
	if filepath.Dir(path) != "/dev/pts" {
		return ""
	}
	return path
}

var ofScreen = map[string]func(*vt.Screen) string{
	"cursor_x":           func(s *vt.Screen) string { return strconv.Itoa(s.Cursor.Col) },
	"cursor_y":           func(s *vt.Screen) string { return strconv.Itoa(s.Cursor.Row) },
	"cursor_flag":        func(s *vt.Screen) string { return yes(s.Cursor.Visible) },
	"alternate_on":       func(s *vt.Screen) string { return yes(s.Modes.AltScreen) },
	"insert_flag":        func(s *vt.Screen) string { return yes(s.Modes.Insert) },
	"bracket_paste_flag": func(s *vt.Screen) string { return yes(s.Modes.BracketedPaste) },
}

var ofBuffer = map[string]func(*world.Buffer) string{
	"buffer_name":    func(b *world.Buffer) string { return b.Name },
	"buffer_size":    func(b *world.Buffer) string { return strconv.Itoa(len(b.Data)) },
	"buffer_created": func(b *world.Buffer) string { return seconds(b.Created) },
	"buffer_sample":  func(b *world.Buffer) string { return sample(b.Data) },
}

// sample is the beginning of a buffer on one line.
func sample(data []byte) string {
	const most = 200
	var b strings.Builder
	for _, r := range string(data[:min(len(data), most)]) {
		switch {
		case r == '\n':
			b.WriteString(`\n`)
		case r == '\t':
			b.WriteString(`\t`)
		case r < 0x20 || r == 0x7f:
			fmt.Fprintf(&b, `\%03o`, r)
		default:
			b.WriteRune(r)
		}
	}
	if len(data) > most {
		b.WriteString("...")
	}
	return b.String()
}

// layout is the layout that was set, or one of all panes, each of the whole window, with
// tmux's checksum.
func (s *source) layout(w *world.Window) string {
	if w.Layout != "" {
		return w.Layout
	}
	size := fmt.Sprintf("%dx%d,0,0", s.place.Session.Cols, s.place.Session.Rows)
	body := size + "," + strconv.Itoa(w.Panes[0].ID)
	if len(w.Panes) > 1 {
		parts := make([]string, len(w.Panes))
		for i, p := range w.Panes {
			parts[i] = size + "," + strconv.Itoa(p.ID)
		}
		body = size + "[" + strings.Join(parts, ",") + "]"
	}
	sum := uint16(0)
	for i := range len(body) {
		sum = sum>>1 + sum&1<<15
		sum += uint16(body[i])
	}
	return fmt.Sprintf("%04x,%s", sum, body)
}

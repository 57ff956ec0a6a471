package cells

import (
	"image/color"
	"strconv"

	"github.com/charmbracelet/colorprofile"
	"github.com/charmbracelet/x/ansi"

	"gascity.dev/gc/vt"
)

// Colours are the colours that a terminal has. Use [NewColours].
type Colours struct {
	profile colorprofile.Profile
	looks   map[vt.Style]Look // of the styles seen so far
}

// maxLooks bounds how many styles are remembered: a program may show a gradient.
const maxLooks = 4096

// NewColours returns the colours of a terminal with these variables of its environment.
// mode is auto, always or never; NO_COLOR counts for auto.
func NewColours(mode string, terminal bool, environ []string) *Colours {
	c := &Colours{looks: map[vt.Style]Look{}}
	c.profile = colorprofile.Env(environ)
	switch {
	case mode == "never", mode != "always" && !terminal:
		c.profile = colorprofile.ASCII
	case mode == "always":
		c.profile = max(c.profile, colorprofile.ANSI)
	}
	return c
}

// Any reports whether the terminal has colours at all.
func (c *Colours) Any() bool { return c.profile >= colorprofile.ANSI }

// Look returns how a style is shown.
func (c *Colours) Look(s vt.Style) Look {
	if s == (vt.Style{}) {
		return ""
	}
	l, known := c.looks[s]
	if known {
		return l
	}
	if len(c.looks) >= maxLooks {
		clear(c.looks)
	}
	l = c.look(s)
	c.looks[s] = l
	return l
}

func (c *Colours) look(s vt.Style) Look {
	var b []byte
	add := func(params string) {
		if len(b) > 0 {
			b = append(b, ';')
		}
		b = append(b, params...)
	}
	for _, a := range [...]struct {
		on     bool
		params string
	}{{s.Bold, "1"}, {s.Faint, "2"}, {s.Italic, "3"}, {s.Underline != vt.UnderlineNone, "4"}, {s.Inverse, "7"}, {s.Conceal, "8"}, {s.Strike, "9"}} {
		if a.on {
			add(a.params)
		}
	}
	if p := c.params(s.FG, 30); p != "" {
		add(p)
	}
	if p := c.params(s.BG, 40); p != "" {
		add(p)
	}
	return Look(b)
}

// params returns the parameters of a colour; base is 30 for the foreground, 40 for the
// background.
func (c *Colours) params(v vt.Color, base int) string {
	if v == "" || !c.Any() {
		return ""
	}
	switch col := c.profile.Convert(parse(v)).(type) {
	case ansi.BasicColor:
		return basic(int(col), base)
	case ansi.IndexedColor:
		return strconv.Itoa(base+8) + ";5;" + strconv.Itoa(int(col))
	case color.Color:
		r, g, b, _ := col.RGBA()
		return strconv.Itoa(base+8) + ";2;" + strconv.Itoa(int(r>>8)) + ";" + strconv.Itoa(int(g>>8)) + ";" + strconv.Itoa(int(b>>8))
	}
	return ""
}

func basic(n, base int) string {
	if n >= 8 {
		return strconv.Itoa(base + 60 + n - 8)
	}
	return strconv.Itoa(base + n)
}

// parse reads a colour of a screen; nil if it is none.
func parse(v vt.Color) color.Color {
	if len(v) == 7 && v[0] == '#' {
		if n, err := strconv.ParseUint(string(v[1:]), 16, 32); err == nil {
			return color.RGBA{R: uint8(n >> 16), G: uint8(n >> 8), B: uint8(n), A: 0xff}
		}
		return nil
	}
	n, err := strconv.ParseUint(string(v), 10, 8)
	switch {
	case err != nil:
		return nil
	case n < 16:
		return ansi.BasicColor(n)
	}
	return ansi.IndexedColor(n)
}

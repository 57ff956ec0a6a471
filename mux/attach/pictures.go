package attach

import (
	"bytes"
	"os"
	"slices"
	"strings"

	"gascity.dev/gc/mux/api"
)

// pictures is what a person's terminal says about images: sixel by DA1, kitty's protocol by
// its query, iTerm2's by the terminal's name, which comes with XTVERSION, or else from the
// environment. DA1 is answered last.
type pictures struct {
	kitty   bool
	version string   // XTVERSION; "" for none
	shown   []string // as the server has it, once DA1 was answered
}

// pictureQuery is kitty's query for images. Its number tells the answer from those to a
// program's commands.
const pictureQuery = pictureReply + ",s=1,v=1,a=q,t=d,f=24;AAAA\x1b\\"

const pictureReply = "\x1b_Gi=1750100"

// question asks for the terminal's name and for kitty's images. tmux and screen show no
// such image, and tmux would take the query as a title.
func (*pictures) question() string {
	if kind := os.Getenv("TERM"); strings.HasPrefix(kind, "tmux") || strings.HasPrefix(kind, "screen") {
		return "\x1b[>q"
	}
	return "\x1b[>q" + pictureQuery
}

// take notes an answer to the question; false if it is none.
func (p *pictures) take(reply []byte) bool {
	text := strings.TrimRight(string(reply), "\x1b\\")
	if rest, ok := strings.CutPrefix(text, pictureReply+";"); ok {
		p.kitty = rest == "OK"
		return true
	}
	rest, ok := strings.CutPrefix(text, "\x1bP>|")
	if ok {
		p.version = rest
	}
	return ok
}

// attributes notes DA1 and reports whether the server must be told.
func (p *pictures) attributes(reply []byte) (changed bool) {
	var shown []string
	if p.kitty {
		shown = append(shown, api.ImagesKitty)
	}
	list := bytes.TrimSuffix(bytes.TrimPrefix(reply, []byte("\x1b[?")), []byte("c"))
	for i, attribute := range strings.Split(string(list), ";") {
		if i > 0 && attribute == "4" {
			shown = append(shown, api.ImagesSixel)
		}
	}
	if p.iterm() {
		shown = append(shown, api.ImagesITerm)
	}
	changed = !slices.Equal(shown, p.shown)
	p.shown = shown
	return changed
}

// iterm reports whether the terminal is one of those that show iTerm2's images. Through ssh
// the environment may have LC_TERMINAL only; within tmux and screen it is about the terminal
// around them.
func (p *pictures) iterm() bool {
	name := p.version
	if name == "" && os.Getenv("TMUX") == "" && os.Getenv("STY") == "" {
		name = os.Getenv("TERM_PROGRAM")
		if own := os.Getenv("LC_TERMINAL"); own != "" {
			name = own
		}
	}
	return strings.HasPrefix(name, "iTerm") || strings.HasPrefix(name, "WezTerm") || strings.HasPrefix(name, "mintty")
}

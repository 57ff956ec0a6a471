package server

import (
	"bytes"
	"testing"

	"gascity.dev/gc/mux/api"
	"gascity.dev/gc/mux/attach"
	"gascity.dev/gc/mux/client"
	"gascity.dev/gc/mux/internal/persontest"
	"github.com/google/go-cmp/cmp"
)

// attachRealFilter: sequences that no detach could undo do not reach the terminal, which
// shows the session nevertheless.
func attachRealFilter(t *testing.T, c *client.Client) {
	startScript(t, c, `stty -echo; echo ready; read x
printf '\033[2h\033[?2l\033[5i\033P0;1|17/41\033\\\033P@kitty-cmd{}\033\\\033]5113;ac=send\033\\'
printf '\033]11;#102030\007first\r\n'; read x
printf 'gone\033cafter RIS\r\n'; read x
printf '\033%%@Latin-1 \351\r\n'; read x
printf '\033%%GUTF-8 \303\251\r\n'; exec cat`, "ready")
	p := persontest.New(t)
	p.Resize(api.DefaultCols, api.DefaultRows)
	r := attachPerson(p, c, "demo", nil)
	p.Shows("ready")
	for _, text := range []string{"first", "after RIS", "Latin-1 é", "UTF-8 é"} {
		p.Types("\r")
		p.Shows(text)
		if diff := cmp.Diff(sessionScreen(t, c), personScreen(t, p)); diff != "" {
			t.Errorf("%s: the terminal does not show the session (-session +terminal):\n%s", text, diff)
		}
	}
	p.Types("\x02d")
	r.want(attach.Detached)
	p.Sees("\x1b]111\x1b\\")
	p.Mu.Lock()
	defer p.Mu.Unlock()
	for _, s := range []string{"\x1b[2h", "\x1b[?2l", "\x1b[5i", "17/41", "kitty-cmd", "5113", "\x1bc", "\x1b%@", "Latin-1 \xe9"} {
		if bytes.Contains(p.Seen, []byte(s)) {
			t.Errorf("%q reached the terminal", s)
		}
	}
}

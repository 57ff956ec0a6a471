//go:build unix

package server

import (
	"bytes"
	"fmt"
	"strings"
	"testing"

	"gascity.dev/gc/mux/attach"
	"gascity.dev/gc/mux/client"
	"gascity.dev/gc/mux/internal/persontest"
	"gascity.dev/gc/vt"
	"github.com/google/go-cmp/cmp"
)

// images are one of each protocol.
var images = []string{
	"\x1bPq\"1;1;30;40#0;2;0;0;0~~-~~\x1b\\",
	"\x1b_Ga=T,f=24,i=7,s=20,v=40;AAAA\x1b\\",
	"\x1b]1337;File=inline=1;width=3;height=2:AAAA\a",
}

// printed is a text as an argument of printf.
func printed(s string) string {
	return "'" + strings.NewReplacer("\x1b", `\033`, "\a", `\007`, "\r", `\r`, "\n", `\n`, `\`, `\\`, "%", "%%").Replace(s) + "'"
}

// askImages asks whether images can be shown.
const askImages = "\x1b[2J\x1b[H\x1b_Gi=31,s=1,v=1,a=q,t=d,f=24;AAAA\x1b\\\x1b[c"

// imagesScript shows an image at each line typed, then asks whether it can, and shows what
// it reads.
func imagesScript() string {
	script := "stty -echo; echo ready; "
	for i, s := range images {
		script += fmt.Sprintf("read x; printf %s; ", printed(fmt.Sprintf("image%s after %d\r\n", s, i)))
	}
	return script + "read x; stty raw; printf " + printed(askImages) + "\nwhile :; do dd bs=1 count=1 2>/dev/null | tr '\\033' 'E'; done"
}

// showing returns a person whose terminal answers and shows images.
func showing(t *testing.T, kinds vt.Images) *persontest.Person {
	p := persontest.New(t)
	p.Screen.SetHostTerminal(vt.HostTerminal{Images: kinds})
	p.Answer()
	return p
}

// TestAttachImages: a terminal gets the images that it says it shows, and placeholders for
// the others; nothing of them stays on its screen. A program gets the same answer as gc.
func TestAttachImages(t *testing.T) {
	t.Parallel()
	const all = vt.ImagesKitty | vt.ImagesSixel
	for name, c := range map[string]struct {
		shows  vt.Images
		answer string // that the program gets
	}{
		"none":  {0, "E[?64;1;6;9;21;22;28;52c"},
		"sixel": {vt.ImagesSixel, "E[?64;1;4;6;9;21;22;28;52c"},
		"kitty": {vt.ImagesKitty, `E_Gi=31;OKE\E[?64;1;6;9;21;22;28;52c`},
		"both":  {all, `E_Gi=31;OKE\E[?64;1;4;6;9;21;22;28;52c`},
	} {
		t.Run(name, func(t *testing.T) {
			server := startServer(t)
			startScript(t, server, imagesScript(), "ready")
			p := showing(t, c.shows)
			r := attachPerson(p, server, "demo", nil)
			p.Shows("ready")
			if c.shows != 0 { // painted again once the server knows
				p.Await("a paint", func() bool { return bytes.Count(p.Seen, []byte("\x1b[H\x1b[2J")) >= 2 })
			}
			for i := range images {
				p.Types("\r")
				p.Shows(fmt.Sprintf("after %d", i))
			}
			if diff := cmp.Diff(sessionScreen(t, server), personScreen(t, p)); diff != "" {
				t.Errorf("the terminal does not show the session (-session +terminal):\n%s", diff)
			}
			for i, kind := range []vt.Images{vt.ImagesSixel, vt.ImagesKitty, vt.ImagesITerm} {
				if got := strings.Contains(p.All(), images[i]); got != (c.shows&kind != 0) {
					t.Errorf("image %d reached the terminal: %v", i+1, got)
				}
			}
			p.Types("\r")
			p.Shows(c.answer)
			p.Types("\x02d")
			r.want(attach.Detached)
			p.CheckRestored()
			p.Sees("\x1b[23;0t")
			if got := strings.Contains(p.All(), "\x1b_Ga=d,d=A,q=2\x1b\\"); got != (c.shows&vt.ImagesKitty != 0) {
				t.Errorf("kitty's images are deleted: %v", got)
			}
			asksUnattached(t, server)
		})
	}
}

// asksUnattached checks that a program which nobody sees is told that there are no images.
func asksUnattached(t *testing.T, c *client.Client) {
	t.Helper()
	waitClients(t, c, 0)
	create(t, c, "alone", "stty -echo raw; printf "+printed(askImages)+"\nwhile :; do dd bs=1 count=1 2>/dev/null | tr '\\033' 'E'; done")
	await(t, c, "alone", `^E\[\?64;1;6;9;21;22;28;52c`)
}

// TestAttachImagesToOne: of two terminals the one that cannot show an image gets the
// placeholder, and a server that is replaced knows which is which.
func TestAttachImagesToOne(t *testing.T) {
	t.Parallel()
	c := startServer(t)
	startScript(t, c, "stty -echo; echo ready; while read x; do printf "+printed("image"+images[0]+" after ")+"$x'\\r\\n'; done", "ready")
	can, cannot := showing(t, vt.ImagesSixel), persontest.New(t)
	r := attachPerson(can, c, "demo", nil)
	can.Shows("ready")
	can.Await("a paint", func() bool { return bytes.Count(can.Seen, []byte("\x1b[H\x1b[2J")) >= 2 })
	other := attachPerson(cannot, c, "demo", nil)
	cannot.Shows("ready")
	for _, word := range []string{"first", "second"} {
		can.Forget()
		can.Types(word + "\r")
		can.Shows("after " + word)
		cannot.Shows("after " + word)
		if !strings.Contains(can.All(), images[0]) {
			t.Errorf("%s: the image does not reach the terminal that shows it: %q", word, can.All())
		}
		if strings.Contains(cannot.All(), "~~-~~") || !cannot.Has("image[im") {
			t.Errorf("%s: where images cannot be shown: %q", word, cannot.All())
		}
		if word == "first" {
			killServer(t, c)
			waitClients(t, c, 2)
		}
	}
	for p, r := range map[*persontest.Person]*attachRun{can: r, cannot: other} {
		p.Types("\x02d")
		r.want(attach.Detached)
	}
}

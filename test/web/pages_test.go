//go:build e2e

package web

import (
	"io"
	"testing"

	"gascity.dev/gc/internal/fleet"
)

// TestPages shows each page at each size, light and dark. With GC_WEB_PICTURES
// set to a directory, it writes the screenshots there.
func TestPages(t *testing.T) {
	f := team()
	f.Attached = func(id string, o fleet.AttachOptions, conn io.ReadWriteCloser) {
		io.WriteString(conn, asking)
		io.Copy(io.Discard, conn)
	}
	s := serve(t, f)
	for _, size := range []size{phone, laptop, wide} {
		p := open(t, s.link(false), size)
		for _, theme := range []string{"light", "dark"} {
			p.see("Do you want to proceed?")
			p.run(`localStorage.setItem('gc-theme', '` + theme + `'); location.reload()`)
			p.wait(`window.gc && document.documentElement.dataset.theme === '` + theme + `'`)
			p.see("rm -rf build")
			p.picture("attention-" + size.name + "-" + theme)
			p.keys("f")
			p.see("checkout")
			p.wait(`[...document.querySelectorAll('canvas.cells')].some((c) => c.width > 300 && c.getContext('2d').getImageData(0, 0, c.width, 40).data.some((v, i, d) => i % 4 !== 3 && v !== d[i % 4]))`)
			p.picture("fleet-" + size.name + "-" + theme)
			p.to("agent/release")
			p.on("make release")
			if size.phone { // its letters are small: see smooth in terminal.js
				p.wait(`document.querySelector('.xterm-rows').textContent.includes('make release')`)
			}
			p.picture("agent-" + size.name + "-" + theme)
			if wider := eval[float64](p, `document.documentElement.scrollWidth - document.documentElement.clientWidth`); wider > 0 {
				t.Errorf("%s: the page is %v pixels too wide", size.name, wider)
			}
			p.to("")
		}
	}
}

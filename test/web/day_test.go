//go:build e2e

package web

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// TestDay is a day with a city of ten agents: three block; they are answered from a
// phone, from a laptop by keys, and from gc ui in a terminal; one agent is restarted,
// and the recording of one is scrubbed.
func TestDay(t *testing.T) {
	w := newPlace(t)
	config := "[workspace]\nname = \"town\"\n"
	for i := range 10 {
		script := "sh -c 'echo at work; exec sleep 100000'"
		if i < 3 {
			script = "sh ./asks.sh"
		}
		config += fmt.Sprintf("[[agents]]\nname = \"agent%d\"\nstart_command = %q\nrecord = %v\n", i, script, i == 0)
	}
	for name, text := range map[string]string{"city.toml": config, "asks.sh": asksScript} {
		if err := os.WriteFile(filepath.Join(w.dir, name), []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	w.run("start")
	t.Cleanup(func() { w.run("stop") })
	w.serve()
	answered := func(agent, want string) {
		t.Helper()
		w.run("wait", agent, "--until", "text=^chose "+want, "--timeout", "20s")
	}

	small := open(t, w.first, phone)
	small.wait(`window.gc.state.attention.length === 3`)
	small.click(`li:has([data-agent="agent0"]) [data-option="2"]`)
	small.click(`dialog button.main`)
	answered("agent0", "2")
	small.wait(`window.gc.state.attention.length === 2`)

	large := open(t, "http://"+w.address+"/#token="+w.link(), laptop)
	large.to("agent/agent1")
	large.see("Remove the folder?")
	large.keys("3", "\r")
	answered("agent1", "3")
	large.wait(`window.gc.state.attention.length === 1`)

	w.run("session", "new", "ui", "--size", "120x40", "--env", "GC_TRUST=1", "--env", "GC_MUX_SOCKET="+filepath.Join(w.dir, "s"), "--", w.gc, "ui", "--city", w.dir)
	w.run("session", "wait", "ui", "--until", "text=Remove the folder", "--timeout", "20s")
	w.run("session", "keys", "ui", "1")
	w.run("session", "wait", "ui", "--until", `text=Answer agent2: No\?`, "--timeout", "20s")
	w.run("session", "keys", "ui", "y")
	answered("agent2", "1")
	large.keys("a")
	large.see("Nobody needs you.")

	large.to("agent/agent5")
	large.click(`[data-action="restart"]`)
	large.click(`dialog button.main`)
	large.see("agent5: restart done")
	if out := w.run("events", "--agent", "agent5"); strings.Count(out, " started") != 2 {
		t.Errorf("events of agent5:\n%s", out)
	}

	film := open(t, "http://"+w.address+"/#token="+w.link(), wide)
	film.to("agent/agent0")
	film.see("Recording")
	film.to("recording/agent0")
	film.wait(`window.gc.view.length > 0`)
	text := `Array.from({length: 40}, (_, y) => window.gc.view.x.term.buffer.active.getLine(y)?.translateToString(true) ?? '').join('\n')`
	film.run(`window.gc.view.seek(window.gc.view.length); 0`)
	film.wait(text + `.includes('chose 2')`)
	film.run(`window.gc.view.seek(0); 0`)
	film.wait(`!` + text + `.includes('chose 2')`)
}

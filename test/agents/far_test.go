//go:build agents

package agents

import (
	"fmt"
	"maps"
	"path/filepath"
	"strings"
	"testing"

	"gascity.dev/gc/internal/testenv/sshd"
)

// TestFar: agents on another machine, a real sshd, as an ordinary user there. Their hooks are
// those that gc installs there, and what they report is known here. It needs -far and root.
func TestFar(t *testing.T) {
	if !*far {
		t.Skip("without -far")
	}
	for _, a := range agents {
		t.Run(a.preset, func(t *testing.T) {
			there := *a
			there.missing = maps.Clone(a.missing)
			if there.missing == nil {
				there.missing = map[string]string{}
			}
			there.missing["tools"] = "only hooks are tried"
			w, s := newWorld(t), newStub(t)
			host := sshd.Start(t, sshd.Options{GC: gcBin, Env: []string{"TZ=UTC", "SHELL=/bin/bash"}})
			host.Run("ln -s " + filepath.Join(programs, "node_modules", ".bin") + "/* .local/bin/")
			for path, content := range a.files {
				host.Write(path, strings.ReplaceAll(content, "MODEL_URL", s.url), 0o600)
			}
			w.env = append(w.env, "GC_SSH="+host.SSH())
			j := &journey{world: w, agent: &there, stub: s, said: map[string]string{}, won: map[string]string{}}
			defer func() {
				if t.Failed() {
					j.dump(s)
				}
			}()
			host.Run("mkdir work")
			j.configure("", fmt.Sprintf("session = %q\nwork_dir = %q\n", host.URL(), host.Home+"/work"))
			j.gc("start", "--trust")
			j.comesUp("dialogs")
			j.nudge("tag-slow please, SLOW(4)")
			j.works()
			j.rests()
			there.own = "" // that is a file of the other machine
			j.hooksWork(t)
			j.wins("done", j.ended("tag-slow"))
			if a.own != "" {
				j.until(turn, "the user's own hook", func() bool {
					return strings.Contains(host.Run("cat work/"+a.own+" || true"), "agent-turn-complete")
				})
			}
		})
	}
}

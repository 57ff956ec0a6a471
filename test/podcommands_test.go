//go:build e2e && k8s && linux

package e2e

import (
	"os"
	"path/filepath"
	"strings"

	cityapi "gascity.dev/gc/internal/controller/api"
)

// menu draws a question as agents do: the arrows move, Enter selects.
const menu = `stty -icanon -echo
at=1
mark() { if [ "$1" = "$at" ]; then printf '❯ '; else printf '  '; fi; }
draw() { printf '\033[H\033[JRemove the folder?\r\n\r\n'; printf '%s%s. %s\r\n' "$(mark 1)" 1 No "$(mark 2)" 2 'Yes, once' "$(mark 3)" 3 'Yes, always'; }
draw
while :; do
	k=$(dd bs=1 count=1 2>/dev/null; printf x)
	case $k in
	*B*) [ $at = 3 ] || at=$((at + 1)); draw ;;
	*A*) [ $at = 1 ] || at=$((at - 1)); draw ;;
	"
x") break ;;
	esac
done
printf '\033[H\033[J'
echo "chose $at"
exec cat
`

// commands: what an agent in a pod starts in the background wakes it once, its lines are a
// log, and its questions are answered.
func (c *cluster) commands() {
	city := newCity(c.T, inPods(c.account("gc-controller"))+
		"[[agents]]\nname = \"worker\"\nsession = \"k8s\"\nready_prompt_prefix = \"ready>\"\nstart_command = \"exec sh -i\"\nenv = {PS1 = \"ready>\"}\n"+
		"[[agents]]\nname = \"asks\"\nsession = \"k8s\"\noverlay_dir = \"asks\"\nstart_command = \"sh menu.sh\"\n")
	if err := os.Mkdir(filepath.Join(city.path, "asks"), 0o700); err != nil {
		c.Fatal(err)
	}
	city.put("asks/menu.sh", menu)
	run := func(args ...string) string {
		c.Helper()
		return city.gc(append([]string{"--city", city.path}, args...)...)
	}
	run("start")
	city.becomes(map[string]cityapi.State{"worker": cityapi.StateRunning, "asks": cityapi.StateRunning})

	run("wait", "asks", "--until", "blocked", "--timeout", "30s")
	if out := run("pending", "asks"); !strings.Contains(out, "permission: Remove the folder?") || !strings.Contains(out, "3. Yes, always") {
		c.Errorf("%s", out)
	}
	run("respond", "asks", "--option", "yes, al")
	run("wait", "asks", "--until", "text=^chose 3$", "--timeout", "30s")
	if r := city.run("--city", city.path, "pending", "asks"); r.code != 1 {
		c.Errorf("after the answer: %s", r)
	}

	run("wait", "worker", "--until", "text=^ready>", "--timeout", "30s")
	run("nudge", "worker", "/gc/gc exec --bg --notify always -- 'sleep 1; exit 4'")
	said := func() string { return run("logs", "worker") + run("peek", "worker") }
	eventually(c.T, said, func() bool { return strings.Contains(run("peek", "worker"), "[gc:evt ") })
	run("nudge", "worker", "echo after $((40 + 2))")
	run("wait", "worker", "--until", "text=^after 42$", "--timeout", "30s")
	if n := strings.Count(run("peek", "worker"), "ready>[gc:evt "); n != 1 {
		c.Errorf("told %d times of the end:\n%s", n, said())
	}
	if log := run("logs", "worker"); !strings.Contains(log, "after 42") || !strings.Contains(log, "[gc:evt ") {
		c.Errorf("the log:\n%s", log)
	}
}

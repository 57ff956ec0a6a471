//go:build e2e && k8s && linux

package e2e

import (
	"fmt"
	"strings"

	cityapi "gascity.dev/gc/internal/controller/api"
)

// changes: GC_SESSION and hybrid choose who is in a pod; a window that is resized is the
// pod's; a change of the command keeps the pod with its files, a change of the pod does not.
func (c *cluster) changes() {
	const hybrid = "[session]\nprovider = \"hybrid\"\nlocal = \"native\"\nremote = \"k8s\"\nremote_match = [\"*-pod\"]\n"
	pods := inPods(c.account("gc-controller"))
	text := func(prompt, memory string) string {
		return hostDaemon + hybrid + strings.Replace(pods, "16Mi", memory, 1) +
			fmt.Sprintf("[[agents]]\nname = \"my-pod\"\nstart_command = \"PS1='%s' exec sh -i\"\n", prompt) +
			"[[agents]]\nname = \"near\"\nstart_command = \"exec sleep 1000\"\n"
	}
	city := newCity(c.T, text("one>", "16Mi"))
	run := func(args ...string) string {
		c.Helper()
		return city.gc(append([]string{"--city", city.path}, args...)...)
	}
	both := map[string]cityapi.State{"my-pod": cityapi.StateRunning, "near": cityapi.StateRunning}
	uid := func() string {
		if host, ok := strings.CutPrefix(city.agents()["my-pod"].Host, "k8s:"); ok {
			return strings.Join(c.pods(host, ".metadata.uid"), " ")
		}
		return ""
	}
	run("start")
	city.becomes(both)
	first := uid()
	if a := city.agents(); first == "" || a["near"].Host != "" {
		c.Fatalf("%+v", a)
	}

	p := city.sit(100, 30, "--city", city.path, "attach", "my-pod")
	p.sees(`^one>`)
	p.types("stty size; touch kept\r")
	p.sees(`^30 100|^29 100`)
	p.resize(81, 21)
	p.types("stty size\r")
	p.sees(`^21 81|^20 81`)
	p.types("\x02d")
	if code := p.done(); code != 0 {
		c.Errorf("attach: exit %d", code)
	}

	peek := func() string { return city.run("--city", city.path, "peek", "my-pod").out } // its pod is being replaced
	prompts := func(text string) {
		c.Helper()
		eventually(c.T, func() string { return run("events") + peek() }, func() bool {
			return city.agents()["my-pod"].State == cityapi.StateRunning && strings.Contains(peek(), text)
		})
		run("nudge", "my-pod", "ls")
	}
	city.write(text("two>", "16Mi"))
	prompts("two>")
	eventually(c.T, func() string { return run("events") + peek() }, func() bool { return strings.Contains(peek(), "\nkept") })
	if now := uid(); now != first {
		c.Errorf("pod %s, was %s: a command changed", now, first)
	}
	city.write(text("three>", "17Mi"))
	prompts("three>")
	if now := uid(); now == first || strings.Contains(run("peek", "my-pod"), "kept") {
		c.Errorf("pod %s, was %s: its memory changed", now, first)
	}
	run("stop")

	city.write(pods + "[[agents]]\nname = \"any\"\nstart_command = \"exec sleep 1000\"\n")
	city.env = append(city.env, "GC_SESSION=k8s")
	run("start")
	city.becomes(map[string]cityapi.State{"any": cityapi.StateRunning})
	if host := city.agents()["any"].Host; !strings.HasPrefix(host, "k8s:gc-live-any-") {
		c.Errorf("GC_SESSION=k8s: on %q", host)
	}
	run("stop")
}

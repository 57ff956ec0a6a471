//go:build e2e && k8s && linux

package e2e

import (
	"os"
	"path/filepath"
	"strings"
	"time"

	cityapi "gascity.dev/gc/internal/controller/api"
	"gascity.dev/gc/runtime"
)

// claudia calls the hooks that its settings name as claude does; quentin, as qwen does.
const (
	claudia = `while [ $# -gt 0 ]; do
	[ "$1" != --settings ] || settings=$2
	shift
done
` + hooked
	quentin = `settings=$(cat "$QWEN_CODE_SYSTEM_SETTINGS_PATH")
` + hooked
)

// hooked is a turn for each line: that of "ask" wants to use a tool first, and goes on when a
// line is typed.
const hooked = `hook=$(printf %s "$settings" | sed 's/.*"command":"\([^,]*\)",.*/\1/; s/\\"/"/g')
call() { printf '%s' "$1" | eval "$hook"; }
while printf '❯ ' && read -r line; do
	call '{"hook_event_name":"UserPromptSubmit"}'
	if [ "$line" = ask ]; then
		call '{"hook_event_name":"PermissionRequest","tool_name":"Bash","tool_input":{"command":"make clean"}}'
		read -r answer
		call '{"hook_event_name":"UserPromptSubmit"}'
	fi
	call '{"hook_event_name":"Stop","last_assistant_message":"did '"$line"'"}'
done
`

// cody notifies the program of its arguments at the end of a turn as codex does.
const cody = `while case $1 in notify=*) false;; esac do shift; done
script=${1#*'"/bin/sh","'}
while printf '❯ ' && read -r line; do
	/bin/sh "${script%'"]'}" '{"type":"agent-turn-complete","last-assistant-message":"did '"$line"'"}'
done
`

// reports: what agents in pods say about themselves, by hooks or by gc report, is in the
// city's status soon; letters go both ways; one that agrees to be drained is stopped.
func (c *cluster) reports() {
	config := inPods(c.account("gc-controller"))
	for name, style := range map[string]string{"claudia": "claude", "quentin": "qwen", "cody": "codex"} {
		config += "[providers.like-" + style + "]\ncommand = \"sh\"\nready_prompt_prefix = \"❯ \"\nsupports_hooks = true\nhooks_style = \"" + style + "\"\n" +
			"[[agents]]\nname = \"" + name + "\"\nsession = \"k8s\"\nprovider = \"like-" + style + "\"\nhooks = true\noverlay_dir = \"agents\"\nstart_command = \"sh " + name + ".sh\"\n"
	}
	city := newCity(c.T, config+
		"[[agents]]\nname = \"shell\"\nsession = \"k8s\"\nready_prompt_prefix = \"ready>\"\nstart_command = \"exec sh -i\"\nenv = {PS1 = \"ready>\"}\n"+
		"[[agents]]\nname = \"near\"\nstart_command = \"exec sleep 1000\"\n")
	if err := os.Mkdir(filepath.Join(city.path, "agents"), 0o700); err != nil {
		c.Fatal(err)
	}
	for name, script := range map[string]string{"claudia": claudia, "quentin": quentin, "cody": cody} {
		city.put("agents/"+name+".sh", script)
	}
	run := func(args ...string) string {
		c.Helper()
		return city.gc(append([]string{"--city", city.path}, args...)...)
	}
	run("start")
	city.becomes(map[string]cityapi.State{"claudia": cityapi.StateRunning, "quentin": cityapi.StateRunning, "cody": cityapi.StateRunning, "shell": cityapi.StateRunning, "near": cityapi.StateRunning})
	types := func(name, text string) {
		c.Helper()
		run("keys", "--literal", name, text)
		run("keys", name, "Enter")
	}
	// sees waits for what an agent does, as the status has it, and reports how long it took.
	sees := func(name, state string, is func(runtime.Activity) bool) {
		c.Helper()
		begin := time.Now()
		eventually(c.T, func() string { return run("explain", name) + run("peek", name) }, func() bool {
			ag := city.agents()[name]
			return ag.Activity == state && ag.ActivityInfo != nil && is(*ag.ActivityInfo)
		})
		if took := time.Since(begin); took > 5*time.Second {
			c.Errorf("%s was %s after %v", name, state, took)
		} else {
			c.Logf("%s is %s after %v", name, state, took.Round(time.Millisecond))
		}
	}
	run("wait", "shell", "--until", "text=^ready>", "--timeout", "30s")
	types("shell", "/gc/gc report idle --message 'all is well'")
	sees("shell", runtime.ActivityIdle, func(a runtime.Activity) bool { return strings.Contains(a.Evidence, "all is well") })
	types("shell", "/gc/gc report blocked --kind question --message 'Which branch?'")
	sees("shell", runtime.ActivityBlocked, func(a runtime.Activity) bool { return strings.Contains(a.Evidence, "Which branch?") })
	c.Log(run("status"))
	types("shell", "/gc/gc report clear")
	run("wait", "shell", "--until", "idle", "--timeout", "30s")

	for _, name := range []string{"claudia", "quentin"} {
		run("wait", name, "--until", "text=^❯", "--timeout", "30s")
		run("nudge", name, "ask")
		sees(name, runtime.ActivityBlocked, func(a runtime.Activity) bool { return strings.Contains(a.Evidence, "make clean") || a.Pending != nil })
		types(name, "yes")
		sees(name, runtime.ActivityDone, func(a runtime.Activity) bool { return a.Message == "did ask" })
	}
	run("wait", "cody", "--until", "text=^❯", "--timeout", "30s")
	run("nudge", "cody", "this")
	sees("cody", runtime.ActivityDone, func(a runtime.Activity) bool { return a.Message == "did this" })

	run("mail", "send", "shell", "one secret", "--subject", "hello")
	run("wait", "shell", "--until", "text=gc mail read shows it", "--timeout", "30s")
	run("nudge", "shell", "/gc/gc mail read; /gc/gc mail send near 'from the pod'; /gc/gc mail ack 1")
	run("wait", "shell", "--until", "text=    one secret", "--timeout", "30s")
	letters := func() string { return run("mail", "list", "--all") }
	eventually(c.T, letters, func() bool {
		list := letters()
		return strings.Contains(list, "agent shell") && strings.Contains(run("mail", "list", "--all", "shell"), " done ")
	})
	if n := strings.Count(run("mail", "list", "near"), "agent shell"); n != 1 {
		c.Errorf("%d letters:\n%s", n, letters())
	}

	types("shell", "/gc/gc runtime drain")
	events := func() string { return run("events") + run("peek", "shell") }
	eventually(c.T, events, func() bool { return strings.Contains(run("events"), "shell interrupted") })
	types("shell", "/gc/gc runtime drain-ack")
	eventually(c.T, events, func() bool { return city.agents()["shell"].State == cityapi.StateStopped })
}

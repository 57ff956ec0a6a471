//go:build agents

package agents

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"
)

// clientTools is Claude's agent as its older package has it: its files and commands go
// through the client where the client offers fs and terminal.
func clientTools() *acpAgent {
	a := *acpAgents()[0]
	agent := *a.agent
	agent.env, a.agent = a.env, &agent
	return &a
}

// TestACPClientTools: a real agent that runs its commands by terminal/* and reaches its files
// by fs/*. What the model gets is what gc did, the policy decides, and nothing is left.
func TestACPClientTools(t *testing.T) {
	t.Parallel()
	a := clientTools()
	j := &acpJourney{&journey{world: newWorld(t), agent: a.agent, stub: newStub(t), took: map[string]time.Duration{}, said: map[string]string{}}, a}
	defer func() {
		if t.Failed() {
			j.dump(j.stub)
		}
	}()
	j.configure("", "session = \"acp\"\nacp_command = \"claude-code-acp\"\n")
	path := filepath.Join(j.city, "city.toml")
	data, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	j.write("city/city.toml", string(data)+"\n[agents.acp]\nfs = true\nterminal = true\nrecord = true\n"+
		"allow = [\"execute:sh *\", \"execute:CLAUDECODE=1 sh *\", \"edit:**/made.txt\", \"read\", \"other\"]\ndeny = [\"execute:touch denied*\"]\n")
	j.write("city/fails.sh", "echo out-of-it; exit 3\n")
	j.write("city/behind.sh", "echo begun-behind; exec sleep 1234567\n")
	j.step("start", func() { j.gc("start", "--trust"); j.rests() })
	j.step("asks", func() {
		j.nudge("tag-asks RUN(touch asked.txt && echo it-is-made)")
		j.allows("asked.txt")
		j.rests()
		j.answered("it-is-made")
	})
	j.step("fails", func() {
		j.arrives("tag-fails RUN(sh fails.sh)")
		j.answered("out-of-it")
	})
	j.step("denied", func() {
		j.arrives("tag-denied RUN(touch denied.txt)")
		j.absent("denied.txt")
		j.arrives("tag-next, in one request with that result")
	})
	j.step("background", j.background)
	j.step("files", func() {
		file := filepath.Join(j.city, "made.txt")
		j.arrives(fmt.Sprintf(`tag-write USE(Write {"file_path":%q,"content":"one\ntwo\n"})`, file))
		if data, err := os.ReadFile(file); err != nil || string(data) != "one\ntwo\n" {
			t.Errorf("%q, %v", data, err)
		}
		j.arrives(fmt.Sprintf(`tag-read USE(Read {"file_path":%q})`, file))
		j.answered(`one\ntwo`) // as JSON
		j.arrives(`tag-out USE(Read {"file_path":"/etc/hostname"})`)
		j.answered("Reading file failed")
	})
	methods := j.exchanged()
	for _, m := range []string{"terminal/create", "terminal/output", "terminal/wait_for_exit", "terminal/kill", "terminal/release", "fs/read_text_file", "fs/write_text_file"} {
		if !slices.Contains(methods, m) {
			t.Errorf("the agent sent no %s: %q", m, methods)
		}
	}
}

// allows answers the agent's question about a command, and gc's own, until the file is there.
func (j *acpJourney) allows(file string) {
	j.t.Helper()
	j.until(turn, "the command is run", func() bool {
		if q := j.pending(); q.RequestID != "" {
			j.note("asks", "%q", q.Prompt)
			r := j.on("respond", name, "--request", q.RequestID, "--option", j.once(q))
			if r.code != 0 && !strings.Contains(r.err, "question") {
				j.t.Fatalf("%s", r)
			}
		}
		_, err := os.Stat(filepath.Join(j.city, file))
		return err == nil
	})
}

// once is the option of a question that allows what it asks for once.
func (j *acpJourney) once(q question) string {
	j.t.Helper()
	i := slices.IndexFunc(q.Options, func(o string) bool { return q.Metadata["option."+o] == "allow_once" })
	if i < 0 {
		j.t.Fatalf("none of %q allows it once: %q", q.Options, q.Metadata)
	}
	return q.Options[i]
}

// answered checks that the result of a tool reached the model.
func (j *acpJourney) answered(text string) {
	j.t.Helper()
	j.until(turn, fmt.Sprintf("the model gets %q", text), func() bool { return j.stub.result(text) })
}

var backgroundID = regexp.MustCompile(`started in background with id: ([\w-]+)`)

// background lets the agent start a command in the background, read what it printed, and kill
// it. The command's processes end.
func (j *acpJourney) background() {
	j.t.Helper()
	j.arrives(`tag-behind USE(Bash {"command":"sh behind.sh","timeout":60000,"run_in_background":true})`)
	var id string
	j.until(turn, "the command is started", func() bool {
		for _, r := range j.stub.main() {
			for _, x := range r.Results {
				if m := backgroundID.FindStringSubmatch(x); m != nil {
					id = m[1]
				}
			}
		}
		return id != ""
	})
	if n := j.sleepers("1234567"); n == 0 {
		j.t.Error("the command does not run")
	}
	j.arrives(fmt.Sprintf(`tag-more USE(BashOutput {"task_id":%q,"shell_id":%q,"block":false,"timeout":1})`, id, id))
	j.answered("begun-behind")
	j.arrives(fmt.Sprintf(`tag-kill USE(KillShell {"shell_id":%q})`, id))
	j.until(turn, "the command has ended", func() bool { return j.sleepers("1234567") == 0 })
}

// sleepers counts the processes that sleep for that long.
func (j *acpJourney) sleepers(seconds string) (n int) {
	all, err := filepath.Glob("/proc/[0-9]*/cmdline")
	if err != nil {
		j.t.Fatal(err)
	}
	for _, path := range all {
		line, err := os.ReadFile(path)
		if err == nil && string(line) == "sleep\x00"+seconds+"\x00" { // else it has ended
			n++
		}
	}
	return n
}

// exchanged returns the methods of the messages between gc and the agent.
func (j *acpJourney) exchanged() (methods []string) {
	j.t.Helper()
	for line := range strings.Lines(j.gc("logs", name, "--wire")) {
		for _, m := range wireMethod.FindAllStringSubmatch(line, -1) {
			methods = append(methods, m[1])
		}
	}
	return methods
}

var wireMethod = regexp.MustCompile(`\\?"method\\?":\s*\\?"([a-z_/]+)\\?"`)

// use returns the tool and the arguments of a USE.
func use(tools []string, argument string) (name, args string) {
	short, args, _ := strings.Cut(argument, " ")
	i := slices.IndexFunc(tools, func(n string) bool { return strings.HasSuffix(n, "__"+short) })
	if i < 0 || !json.Valid([]byte(args)) {
		return "", ""
	}
	return tools[i], args
}

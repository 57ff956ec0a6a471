//go:build agents

package agents

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"
)

// acpAgent is a real agent over ACP, with its preset.
type acpAgent struct {
	*agent
	pkg   string // npm package; "": the agent's own
	allow string // the option that allows a command once
	steer bool   // a message can go into the running turn
	blind bool   // its questions name no command, only a title: rules with a pattern decide nothing
	keeps bool   // gc restart continues the conversation; without: at times the agent does not find it
	env   []string
	files map[string]string // replaces the agent's
	key   string            // variable without which it cannot work; "": it says so as text, or needs none
	mode  string            // another mode than that of the preset
	late  bool              // it starts without the key, and refuses the first message
}

func acpAgents() []*acpAgent {
	return []*acpAgent{
		{agent: preset("claude"), pkg: "@agentclientprotocol/claude-agent-acp", allow: "Yes", steer: true, keeps: true, mode: "acceptEdits",
			key: "ANTHROPIC_API_KEY", late: true,
			env: []string{"ANTHROPIC_BASE_URL=MODEL_URL", "ANTHROPIC_API_KEY=stub", "DISABLE_AUTOUPDATER=1",
				"CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC=1"}},
		{agent: preset("codex"), pkg: "@agentclientprotocol/codex-acp", allow: "Yes, proceed", steer: true, keeps: true, mode: "agent"},
		{agent: preset("gemini"), blind: true, mode: "autoEdit", key: "GEMINI_API_KEY",
			env: append(slices.Clone(preset("gemini").env), "GEMINI_CLI_TRUST_WORKSPACE=true")},
		{agent: preset("qwen"), keeps: true, mode: "auto-edit", key: "OPENAI_API_KEY"},
		{agent: preset("opencode"), keeps: true, mode: "plan", files: map[string]string{".config/opencode/opencode.json": strings.Replace(
			preset("opencode").files[".config/opencode/opencode.json"], "{", `{"permission": {"bash": "ask"},`, 1)}},
	}
}

// preset returns the agent of that preset.
func preset(name string) *agent {
	return agents[slices.IndexFunc(agents, func(a *agent) bool { return a.preset == name })]
}

// acpPolicy is the policy of the agents over ACP.
const acpPolicy = `
[agents.acp]
allow = ["execute:touch allowed*"]
deny = ["execute:touch denied*"]
`

// TestACP: the agents over ACP, by their presets. What gc shows is what they say.
func TestACP(t *testing.T) {
	for _, a := range acpAgents() {
		t.Run(a.preset, func(t *testing.T) {
			t.Parallel() // they mostly wait
			own := *a.agent
			if a.env != nil {
				own.env = a.env
			}
			if a.files != nil {
				own.files = a.files
			}
			j := &acpJourney{&journey{world: newWorld(t), agent: &own, stub: newStub(t), took: map[string]time.Duration{}, said: map[string]string{}}, a}
			defer func() {
				if t.Failed() {
					j.dump(j.stub)
				}
			}()
			j.travel()
		})
	}
}

// acpJourney is one agent's run through the steps.
type acpJourney struct {
	*journey
	over *acpAgent
}

func (j *acpJourney) travel() {
	j.setUp()
	j.overACP()
	j.step("start", func() { j.gc("start", "--trust"); j.rests() })
	file := filepath.Join(j.city, "made-by-agent.txt")
	j.step("asks", func() { j.asked("tag-run RUN(touch made-by-agent.txt)", "touch made-by-agent.txt", file) })
	j.step("respond", func() {
		j.gc("respond", name, "--option", j.allowing())
		j.rests()
		if _, err := os.Stat(file); err != nil {
			j.t.Error(err)
		}
	})
	j.step("interrupt", func() {
		other := filepath.Join(j.city, "never.txt")
		j.asked("tag-never RUN(touch never.txt)", "touch never.txt", other)
		began := time.Now()
		j.gc("interrupt", name)
		j.rests()
		if took := time.Since(began); took > 5*time.Second {
			j.t.Errorf("the interrupt took %v", took)
		}
		if _, err := os.Stat(other); err == nil {
			j.t.Error("the command was run")
		}
		j.turns("end_turn", "cancelled")
	})
	j.step("queue", j.queues)
	if j.over.steer {
		j.step("steer", j.steers)
	}
	j.step("policy", j.decides)
	j.step("tools", j.callsTools)
	j.step("mode", j.changesMode)
	j.step("restart", j.restarts)
	if j.over.key != "" {
		j.step("no key", j.withoutKey)
	}
}

// overACP rewrites the city: the agent over ACP.
func (j *acpJourney) overACP() {
	j.t.Helper()
	path := filepath.Join(j.city, "city.toml")
	data, err := os.ReadFile(path)
	if err != nil {
		j.t.Fatal(err)
	}
	own := "session = \"acp\"\n"
	if !strings.Contains(string(data), "mcp_servers") { // gemini takes them only over ACP
		own += "mcp_servers = [\"gc\"]\n"
	}
	j.write("city/city.toml", strings.Replace(string(data), "\n[agents.env]", own+"\n[agents.env]", 1)+acpPolicy)
}

// asked makes the model request a command; the agent asks before it runs it.
func (j *acpJourney) asked(text, command, file string) {
	j.t.Helper()
	j.nudge(text)
	if r := j.on("wait", name, "--until", "blocked", "--timeout", turn.String()); r.code != 0 {
		j.t.Fatalf("%s", r)
	}
	q := j.pending()
	j.note("asks", "%q", q.Options)
	if q.Kind != "permission" || !strings.Contains(q.Prompt, command) || q.Metadata["command"] != command && !j.over.blind {
		j.t.Errorf("the question: %s, %q", q, q.Metadata)
	}
	if a := j.status(); a.Activity != "blocked" {
		j.t.Errorf("status %s", a.Activity)
	}
	if _, err := os.Stat(file); err == nil {
		j.t.Error("the file exists before the command was allowed")
	}
}

// allowing is the option of the open question that allows the command once.
func (j *acpJourney) allowing() string {
	j.t.Helper()
	q := j.pending()
	for _, o := range q.Options {
		if q.Metadata["option."+o] == "allow_once" && (j.over.allow == "" || j.over.allow == o) {
			return o
		}
	}
	j.t.Fatalf("none of %q allows it once: %q", q.Options, q.Metadata)
	return ""
}

// turns checks how the latest turns ended.
func (j *acpJourney) turns(want ...string) {
	j.t.Helper()
	var have []string
	tokens := false
	j.until(5*time.Second, fmt.Sprintf("turns end with %q", want), func() bool {
		have = nil
		for line := range strings.Lines(j.gc("events", "--json")) {
			var e struct {
				Kind string
				Turn struct {
					StopReason string `json:"stop_reason"`
					Input      int64  `json:"input_tokens"`
				}
			}
			if err := json.Unmarshal([]byte(line), &e); err != nil {
				j.t.Fatalf("%v in %s", err, line)
			}
			if e.Kind == "acp.turn" {
				have = append(have, e.Turn.StopReason)
				tokens = e.Turn.Input > 0 || tokens
			}
		}
		return len(have) >= len(want) && slices.Equal(have[len(have)-len(want):], want)
	})
	if !tokens {
		j.t.Error("no turn has its tokens")
	}
}

// queues sends three messages during a turn: they become three turns, in order.
func (j *acpJourney) queues() {
	j.t.Helper()
	j.nudge("tag-slow please, SLOW(2)")
	texts := []string{"tag-one", "tag-two", "tag-three"}
	for _, text := range texts {
		if out := j.gc("nudge", name, text, "--delivery", "queue"); !strings.HasPrefix(out, "queued") {
			j.t.Errorf("receipt: %s", out)
		}
	}
	before, _ := j.stub.asked("tag-slow")
	for _, text := range texts {
		j.until(turn, "the model gets "+text, func() bool { _, ok := j.stub.asked(text); return ok })
		r, _ := j.stub.asked(text)
		first, _ := j.stub.asked(before.last())
		if first.Ended.IsZero() || first.Aborted || r.At.Before(first.Ended) {
			j.t.Errorf("%s came at %v, into the turn of %q until %v", text, r.At, before.last(), first.Ended)
		}
		before = r
	}
	j.rests()
	j.turns("end_turn", "end_turn", "end_turn", "end_turn")
}

// steers sends a message into the running turn.
func (j *acpJourney) steers() {
	j.t.Helper()
	j.nudge("tag-bend please, SLOW(3)")
	if out := j.gc("nudge", name, "tag-other way", "--delivery", "immediate"); !strings.HasPrefix(out, "submitted") {
		j.t.Errorf("receipt: %s", out)
	}
	j.rests()
	j.turns("end_turn", "end_turn")
	if n, _ := j.stub.times("tag-other"); n != 1 {
		j.t.Errorf("the model has the message %d times", n)
	}
}

// decides lets the policy answer: one command runs, the other does not.
func (j *acpJourney) decides() {
	j.t.Helper()
	rules := []string{`policy: deny "execute:touch denied*"`, `policy: allow "execute:touch allowed*"`}
	if j.over.blind {
		rules = rules[:1]
		j.asked("tag-allowed RUN(touch allowed.txt)", "touch allowed.txt", filepath.Join(j.city, "allowed.txt"))
		j.gc("respond", name, "--option", j.allowing())
		j.rests()
	} else {
		j.arrives("tag-allowed RUN(touch allowed.txt)")
	}
	if _, err := os.Stat(filepath.Join(j.city, "allowed.txt")); err != nil {
		j.t.Error(err)
	}
	j.arrives("tag-denied RUN(touch denied.txt)")
	j.absent("denied.txt")
	screen := j.gc("peek", name)
	for _, rule := range rules {
		if !strings.Contains(screen, rule) {
			j.t.Errorf("the screen does not say %q:\n%s", rule, screen)
		}
	}
}

// callsTools lets the model call a tool of gc's MCP server, which the agent got over ACP.
func (j *acpJourney) callsTools() {
	j.t.Helper()
	j.nudge("tag-tools CALL(session_list)")
	j.until(turn, "the tool's result reaches the model", func() bool {
		if q := j.pending(); q.RequestID != "" {
			i := slices.IndexFunc(q.Options, func(o string) bool { return q.Metadata["option."+o] == "allow_once" })
			if i < 0 || !strings.Contains(q.Prompt, "session_list") {
				j.t.Fatalf("%s, %q", q, q.Metadata)
			}
			j.gc("respond", name, "--request", q.RequestID, "--option", q.Options[i])
		}
		return j.stub.result("lastOutput")
	})
	j.rests()
}

// changesMode sets another mode; it is in the status.
func (j *acpJourney) changesMode() {
	j.t.Helper()
	j.gc("agent", "set", name, "--mode", j.over.mode)
	if r := j.on("agent", "set", name, "--mode", "nonsense"); r.code == 0 || !strings.Contains(r.err, j.over.mode) {
		j.t.Errorf("an unknown mode: %s", r)
	}
	j.inMode()
}

func (j *acpJourney) inMode() {
	j.t.Helper()
	j.until(5*time.Second, "the mode is "+j.over.mode, func() bool {
		info := j.status().ActivityInfo
		return info != nil && info.Mode == j.over.mode
	})
}

// restarts restarts the agent: the conversation goes on, or its first lines say why not.
func (j *acpJourney) restarts() {
	j.t.Helper()
	j.gc("restart", name)
	j.rests()
	j.nudge("tag-again")
	j.rests()
	n, _ := j.stub.times("tag-run")
	told := strings.Contains(j.gc("peek", name), "a new conversation: ")
	if n == 1 {
		j.inMode() // it belongs to the conversation
	}
	if n != 1 && !(n == 0 && told && !j.over.keeps) {
		j.t.Errorf("the model has the first message %d times; the screen says that the conversation is new: %v", n, told)
	}
}

// withoutKey starts the agent without its key: the start fails at once and names what
// is missing, or the first message is refused. The agent is not started again.
func (j *acpJourney) withoutKey() {
	j.t.Helper()
	j.gc("stop")
	j.agent.env = slices.DeleteFunc(slices.Clone(j.agent.env), func(kv string) bool { return strings.HasPrefix(kv, j.over.key+"=") })
	j.configure("")
	j.overACP()
	r := j.on("start", "--trust")
	if j.over.late {
		j.on("nudge", name, "first", "--timeout", "30s") // a continued conversation begins no turn: this one is refused
		j.gc("wait", name, "--until", "blocked", "--timeout", "30s")
		if said := j.on("nudge", name, "hello", "--timeout", "30s"); !strings.HasPrefix(said.out, "refused") && !strings.Contains(said.err, "refused") {
			j.t.Errorf("a message without a key: %s", said)
		}
	} else if r.code == 0 || !strings.Contains(r.err, j.over.key) && !strings.Contains(r.err, "API key") {
		j.t.Errorf("the start without a key: %s", r)
	}
	if a := j.status(); a.Activity != "blocked" || a.Restarts != 0 {
		j.t.Errorf("without a key: %+v", a)
	}
	if st := j.gc("status"); !strings.Contains(st, blockedAuth) {
		j.t.Errorf("status:\n%s", st)
	}
}

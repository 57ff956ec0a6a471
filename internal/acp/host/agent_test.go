package host_test

import (
	"bufio"
	"cmp"
	"encoding/json"
	"fmt"
	"os"
	"os/signal"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"time"
)

// agentVar makes the test binary an agent; its value is the answer to initialize.
const agentVar = "GC_TEST_AGENT"

// scripted is an agent that does what the words of a prompt say.
type scripted struct {
	out    *bufio.Writer
	mu     sync.Mutex // of out and waits
	waits  map[string]chan json.RawMessage
	cancel chan struct{}
	asked  int

	session string // the loaded one; "": s1
}

type line struct {
	ID     json.RawMessage `json:"id"`
	Method string          `json:"method"`
	Params struct {
		Prompt  []struct{ Type, Text, URI string } `json:"prompt"`
		ModeID  string                             `json:"modeId"`
		ModelID string                             `json:"modelId"`
		ID      string                             `json:"sessionId"`
		Cwd     string                             `json:"cwd"`
	} `json:"params"`
	Result json.RawMessage `json:"result"`
	Error  json.RawMessage `json:"error"`
}

func runAgent(hello string) {
	a := &scripted{out: bufio.NewWriter(os.Stdout), waits: map[string]chan json.RawMessage{}, cancel: make(chan struct{}, 8)}
	if os.Getenv("GC_TEST_STUBBORN") != "" {
		signal.Ignore(syscall.SIGTERM)
	}
	in := bufio.NewReader(os.Stdin)
	for {
		text, err := in.ReadBytes('\n')
		if err != nil {
			if os.Getenv("GC_TEST_STUBBORN") != "" {
				time.Sleep(time.Hour)
			}
			return
		}
		var l line
		if json.Unmarshal(text, &l) != nil {
			continue
		}
		if !a.take(l, hello) {
			time.Sleep(time.Hour) // it reads nothing any more
		}
	}
}

func (a *scripted) take(l line, hello string) bool {
	switch dir, _ := os.Getwd(); l.Method {
	case "session/new", "session/load", "session/resume": // a conversation belongs to a directory
		if l.Params.Cwd != dir {
			a.send(fmt.Sprintf(`{"jsonrpc":"2.0","id":%s,"error":{"code":-32602,"message":"cwd is %s, not %s"}}`, l.ID, l.Params.Cwd, dir))
			return true
		}
	}
	switch l.Method {
	case "":
		a.mu.Lock()
		c := a.waits[string(l.ID)]
		a.mu.Unlock()
		if c != nil {
			c <- append(l.Result, l.Error...)
		}
	case "initialize":
		if os.Getenv("GC_TEST_REFUSES") != "" {
			a.send(fmt.Sprintf(`{"jsonrpc":"2.0","id":%s,"error":{"code":1001,"message":"Internal error","data":{"details":"approval_policy is gone"}}}`, l.ID))
			return true
		}
		a.send(fmt.Sprintf(`{"jsonrpc":"2.0","id":%s,"result":%s}`, l.ID, hello))
		if os.Getenv("GC_TEST_TWICE") != "" {
			a.send(fmt.Sprintf(`{"jsonrpc":"2.0","id":%s,"result":%s}`, l.ID, hello))
		}
	case "authenticate":
		if os.Getenv("GC_TEST_LOGIN") != "" {
			a.send(fmt.Sprintf(`{"jsonrpc":"2.0","id":%s,"error":{"code":-32603,"message":"Internal error","data":{"details":"the key is missing"}}}`, l.ID))
			return true
		}
		a.send(fmt.Sprintf(`{"jsonrpc":"2.0","id":%s,"result":{}}`, l.ID))
	case "session/new":
		if os.Getenv("GC_TEST_AUTH") != "" {
			a.send(fmt.Sprintf(`{"jsonrpc":"2.0","id":%s,"error":{"code":-32000,"message":"Authentication required"}}`, l.ID))
			return true
		}
		if os.Getenv("GC_TEST_NOSESSION") != "" {
			a.send(fmt.Sprintf(`{"jsonrpc":"2.0","id":%s,"result":{}}`, l.ID))
			return true
		}
		a.send(fmt.Sprintf(`{"jsonrpc":"2.0","id":%s,"result":{"sessionId":"s1","modes":{"currentModeId":"ask","availableModes":[{"id":"ask","name":"Ask"},{"id":"auto","name":"Auto"}]}%s}}`, l.ID, os.Getenv("GC_TEST_MODELS")))
	case "session/set_model":
		a.say("model " + l.Params.ModelID)
		a.send(fmt.Sprintf(`{"jsonrpc":"2.0","id":%s,"result":{}}`, l.ID))
	case "session/load":
		a.session = l.Params.ID
		a.say("replayed " + l.Params.ID)
		a.send(fmt.Sprintf(`{"jsonrpc":"2.0","id":%s,"result":null}`, l.ID))
		a.say("replayed late") // as Gemini does
	case "session/resume":
		a.session = l.Params.ID
		if os.Getenv("GC_TEST_REPLAYS") != "" {
			a.say("replayed " + l.Params.ID)
			defer a.say("replayed late")
		}
		a.send(fmt.Sprintf(`{"jsonrpc":"2.0","id":%s,"result":{"modes":{"currentModeId":"ask","availableModes":[{"id":"ask","name":"Ask"},{"id":%[2]q,"name":%[2]q}]}}}`, l.ID, cmp.Or(os.Getenv("GC_TEST_OTHERMODE"), "auto")))
	case "session/cancel":
		a.cancel <- struct{}{}
	case "session/prompt":
		text := ""
		for _, b := range l.Params.Prompt {
			text += b.Text + b.URI
		}
		if text == "DEAF" {
			a.prompt(l.ID, text)
			return false
		}
		go a.prompt(l.ID, text)
	case "_session/steering":
		a.say("steered: " + l.Params.Prompt[0].Text)
		a.send(fmt.Sprintf(`{"jsonrpc":"2.0","id":%s,"result":{"outcome":"injected"}}`, l.ID))
	default:
		if l.ID != nil {
			a.send(fmt.Sprintf(`{"jsonrpc":"2.0","id":%s,"result":{}}`, l.ID))
		}
	}
	return true
}

func (a *scripted) send(text string) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.out.WriteString(text + "\n")
	a.out.Flush()
}

func (a *scripted) say(text string) {
	b, _ := json.Marshal(text)
	a.send(fmt.Sprintf(`{"jsonrpc":"2.0","method":"session/update","params":{"sessionId":%q,"update":{"sessionUpdate":"agent_message_chunk","content":{"type":"text","text":%s}}}}`, cmp.Or(a.session, "s1"), b))
}

// ask requests a permission and returns the answer.
func (a *scripted) ask(title string) string {
	b, _ := json.Marshal(title)
	return a.request("session/request_permission", fmt.Sprintf(`{"sessionId":"s1","toolCall":{"toolCallId":"c-%d","title":%s,"kind":"execute","rawInput":{"command":%[2]s}},"options":[{"optionId":"always","name":"Always","kind":"allow_always"},{"optionId":"yes","name":"Yes","kind":"allow_once"},{"optionId":"no","name":"No","kind":"reject_once"}]}`, time.Now().UnixNano(), b))
}

// request sends a request to the client and returns its answer, a result or an error.
func (a *scripted) request(method, params string) string {
	a.mu.Lock()
	a.asked++
	id := strconv.Itoa(100 + a.asked)
	c := make(chan json.RawMessage, 1)
	a.waits[id] = c
	a.mu.Unlock()
	a.send(fmt.Sprintf(`{"jsonrpc":"2.0","id":%s,"method":%q,"params":%s}`, id, method, params))
	return string(<-c)
}

func (a *scripted) prompt(id json.RawMessage, text string) {
	word, rest, _ := strings.Cut(text, " ")
	reason := "end_turn"
	switch word {
	case "ASK":
		a.say("answered " + a.ask(rest))
	case "ASKMANY":
		n, _ := strconv.Atoi(rest)
		var all sync.WaitGroup
		for i := range n {
			all.Go(func() { a.ask(fmt.Sprint("question ", i)) })
		}
		all.Wait()
	case "LONG":
		a.say("working")
		<-a.cancel
		reason = "cancelled"
	case "FALL": // dies once there is a file "fall"
		a.say("working")
		for {
			if _, err := os.Stat("fall"); err == nil {
				os.Exit(7)
			}
			time.Sleep(5 * time.Millisecond)
		}
	case "STUCK":
		a.say("working")
		select {}
	case "QUIET": // no update before the answer
		<-a.cancel
	case "BURST":
		n, _ := strconv.Atoi(rest)
		a.mu.Lock()
		for i := range n {
			fmt.Fprintf(a.out, `{"jsonrpc":"2.0","method":"session/update","params":{"sessionId":"s1","update":{"sessionUpdate":"agent_message_chunk","content":{"type":"text","text":"%d "}}}}`+"\n", i)
		}
		a.out.Flush()
		a.mu.Unlock()
	case "FS":
		path, content, write := strings.Cut(rest, " ")
		method, extra := "fs/read_text_file", ""
		if write {
			b, _ := json.Marshal(content)
			method, extra = "fs/write_text_file", `,"content":`+string(b)
		}
		a.say("answered " + a.request(method, fmt.Sprintf(`{"sessionId":"s1","path":%q%s}`, path, extra)))
	case "RUN": // RUN LIMIT LINE: a command, its output at the end, and its release
		limit, line, _ := strings.Cut(rest, " ")
		b, _ := json.Marshal(line)
		answer := a.request("terminal/create", fmt.Sprintf(`{"sessionId":"s1","command":%s,"outputByteLimit":%s}`, b, limit))
		var made struct {
			ID string `json:"terminalId"`
		}
		if json.Unmarshal([]byte(answer), &made) != nil || made.ID == "" {
			a.say("refused " + answer)
			break
		}
		ref := fmt.Sprintf(`{"sessionId":"s1","terminalId":%q}`, made.ID)
		a.send(fmt.Sprintf(`{"jsonrpc":"2.0","method":"session/update","params":{"sessionId":"s1","update":{"sessionUpdate":"tool_call","toolCallId":"shows-%s","title":"a command","content":[{"type":"terminal","terminalId":%[1]q}]}}}`, made.ID))
		if strings.Contains(line, "sleep") {
			a.say("killed " + a.request("terminal/kill", ref) + "\n")
		}
		for _, method := range []string{"wait_for_exit", "output", "release", "output"} {
			a.say(method + " " + a.request("terminal/"+method, ref) + "\n")
		}
	case "LEAVE": // a command that the agent does not release
		b, _ := json.Marshal(rest)
		a.say("made " + a.request("terminal/create", fmt.Sprintf(`{"sessionId":"s1","command":%s}`, b)))
	case "FAIL":
		a.send(fmt.Sprintf(`{"jsonrpc":"2.0","id":%s,"error":{"code":-32603,"message":"Internal error","data":{"details":"the model refuses"}}}`, id))
		return
	case "NOAUTH":
		a.send(fmt.Sprintf(`{"jsonrpc":"2.0","id":%s,"error":{"code":-32000,"message":"log in first"}}`, id))
		return
	case "DIE":
		fmt.Fprintln(os.Stderr, "fatal: out of ideas")
		os.Exit(7)
	case "JUNK":
		a.send("Loaded cached credentials.\n{\"level\":\"info\",\"id\":1}\n\x1b]0;title\x07" + `{"jsonrpc":"2.0","method":"session/update","params":{"sessionId":"s1","update":{"sessionUpdate":"agent_message_chunk","content":{"type":"text","text":"after junk"}}}}`)
	case "RAWLINES": // the answer is one of the lines
		a.send(strings.ReplaceAll(rest, "@", string(id)))
		return
	case "REQUEST":
		method, params, _ := strings.Cut(rest, " ")
		a.say("answered " + a.request(method, params))
	case "HUGE":
		n, _ := strconv.Atoi(rest)
		a.send(fmt.Sprintf(`{"jsonrpc":"2.0","id":%s,"result":{"stopReason":"%s"}}`, id, strings.Repeat("x", n<<20)))
		return
	case "STDERR":
		n, _ := strconv.Atoi(rest)
		for range n {
			os.Stderr.WriteString(strings.Repeat(strings.Repeat("e", 1023)+"\n", 1<<10))
		}
	case "FLOOD":
		n, _ := strconv.Atoi(rest)
		for range n << 4 {
			a.say(strings.Repeat("f", 1<<16))
		}
	case "MUTE":
		os.Stdout.Close()
		select {}
	case "HALF":
		os.Stdout.WriteString(`{"jsonrpc":"2.0","id":` + string(id) + `,"result":{"stop`)
		os.Exit(0)
	case "RAW":
		a.say("\x1b[31mred\x1b[0m \x1b]52;c;aGk=\x07 bell\x07 done")
	case "TTY":
		if f, err := os.OpenFile("/dev/tty", os.O_WRONLY, 0); err == nil {
			f.WriteString("PAINTED")
			a.say("it has a terminal")
		} else {
			a.say("no terminal")
		}
		a.say(" nonce=" + os.Getenv("GC_STATUS_NONCE") + " socket=" + os.Getenv("GC_CONTROL_SOCKET"))
	default:
		a.say("you said " + text)
	}
	a.send(fmt.Sprintf(`{"jsonrpc":"2.0","id":%s,"result":{"stopReason":"%s","usage":{"inputTokens":10,"outputTokens":5}}}`, id, reason))
}

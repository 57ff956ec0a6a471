//go:build e2e

package e2e

import (
	"bufio"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"time"

	"gascity.dev/gc/internal/shell"
)

// asksVar makes the test binary an agent that speaks ACP; its value is the file in
// which the agent writes down every prompt and every answer that it gets.
const asksVar = "GC_E2E_ASKER"

// askerCommand is the command line of the agent.
func askerCommand(file string) string {
	exe, err := os.Executable()
	if err != nil {
		panic(err)
	}
	return "exec env " + asksVar + "=" + shell.Quote(file) + " " + shell.Quote(exe)
}

// asker is the agent. The prompt "ASK n" is a turn with n questions, one after the
// other; "CHILD" starts a process that ignores SIGTERM, and asks. Any other prompt is a
// turn that ends at once.
type asker struct {
	in   *bufio.Reader
	file string
	left int             // questions that are still to be asked
	n    int             // the number of the open question
	turn json.RawMessage // the id of the open prompt
}

func (a *asker) run() error {
	for {
		line, err := a.in.ReadBytes('\n')
		if err != nil {
			return nil // the end of the input is the agent's
		}
		if err := a.take(line); err != nil {
			return err
		}
	}
}

// askerMessage is what the agent reads.
type askerMessage struct {
	ID     json.RawMessage
	Method string
	Params struct {
		SessionID string
		Prompt    []struct{ Text string }
	}
	Result struct{ Outcome struct{ OptionID string } }
}

func (a *asker) take(line []byte) error {
	var m askerMessage
	if err := json.Unmarshal(line, &m); err != nil {
		return err
	}
	switch m.Method {
	case "initialize":
		return a.reply(m.ID, `{"protocolVersion":1,"agentInfo":{"name":"asker","version":"1"},"agentCapabilities":{"loadSession":true}}`)
	case "session/new":
		return a.reply(m.ID, `{"sessionId":"first"}`)
	case "session/load":
		if err := a.note("load " + m.Params.SessionID); err != nil {
			return err
		}
		return a.reply(m.ID, "null")
	case "session/prompt":
		return a.prompt(m)
	case "":
		if string(m.ID) != strconv.Itoa(a.n) {
			return a.note("answer to nothing " + string(m.ID))
		}
		if err := a.note(fmt.Sprintf("answer %d %s", a.n, m.Result.Outcome.OptionID)); err != nil {
			return err
		}
		return a.ask()
	}
	return nil
}

func (a *asker) prompt(m askerMessage) error {
	text := ""
	for _, b := range m.Params.Prompt {
		text += b.Text
	}
	if a.turn != nil {
		return a.note("a second prompt is open: " + text)
	}
	if err := a.note("prompt " + text); err != nil {
		return err
	}
	a.turn = m.ID
	if n, ok := strings.CutPrefix(text, "ASK "); ok {
		a.left, _ = strconv.Atoi(strings.Fields(n)[0])
	}
	if text == "CHILD" {
		a.left = 1
		child := exec.Command("/bin/sh", "-c", "trap '' HUP TERM; exec sleep 1000")
		if err := child.Start(); err != nil {
			return err
		}
	}
	return a.ask()
}

// ask asks the next question, or ends the turn after the last.
func (a *asker) ask() error {
	if a.left == 0 {
		turn := a.turn
		a.turn = nil
		return a.reply(turn, `{"stopReason":"end_turn"}`)
	}
	a.left--
	a.n++
	return a.send(fmt.Sprintf(`"id":%d,"method":"session/request_permission","params":{"sessionId":"first","toolCall":{"toolCallId":"c%[1]d","title":"number %[1]d","kind":"execute"},`+
		`"options":[{"optionId":"a%[1]d","name":"First","kind":"allow_once"},{"optionId":"b%[1]d","name":"Second","kind":"reject_once"}]}`, a.n))
}

func (a *asker) reply(id json.RawMessage, result string) error {
	return a.send(`"id":` + string(id) + `,"result":` + result)
}

func (a *asker) send(members string) error {
	_, err := os.Stdout.WriteString(`{"jsonrpc":"2.0",` + members + "}\n")
	return err
}

// note writes a line to the agent's file, which outlives it.
func (a *asker) note(line string) error {
	f, err := os.OpenFile(a.file, os.O_WRONLY|os.O_APPEND|os.O_CREATE, 0o600)
	if err != nil {
		return err
	}
	defer f.Close()
	_, err = f.WriteString(line + "\n")
	return err
}

// runAsker is the agent's process.
func runAsker(file string) int {
	a := &asker{in: bufio.NewReader(os.Stdin), file: file, n: int(time.Now().UnixMilli() % 1e9 * 1000)}
	if err := a.run(); err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	return 0
}

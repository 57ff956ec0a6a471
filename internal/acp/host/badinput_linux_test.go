package host_test

import (
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"gascity.dev/gc/internal/acp/control"
)

// update is a line of the agent: a notification of the session s1.
func update(body string) string {
	return `{"jsonrpc":"2.0","method":"session/update","params":{"sessionId":"s1","update":` + body + `}}`
}

func says(text string) string {
	return update(fmt.Sprintf(`{"sessionUpdate":"agent_message_chunk","content":{"type":"text","text":%q}}`, text))
}

// ends is the answer to the open prompt; the agent replaces @.
const ends = `{"jsonrpc":"2.0","id":@,"result":{"stopReason":"end_turn"}}`

// An answer of more than 64 MiB fails its call, and nothing else.
func TestAnswerThatIsTooLong(t *testing.T) {
	t.Parallel()
	r := start(t, setup{})
	r.ready()
	r.send("m", "HUGE 65")
	if st := r.idle(1); !strings.Contains(st.LastTurn.Error, "too long") {
		t.Errorf("%+v", st.LastTurn)
	}
	r.send("n", "hello")
	if st := r.idle(2); st.LastTurn.StopReason != "end_turn" {
		t.Errorf("the next turn: %+v", st.LastTurn)
	}
}

// Answers that nobody waits for are ignored: one prompt is one turn.
func TestAnswersTwice(t *testing.T) {
	t.Parallel()
	r := start(t, setup{env: []string{"GC_TEST_TWICE=1"}})
	r.ready()
	r.send("m", "RAWLINES "+says("first")+"\n"+ends+"\n"+ends+"\n"+ends)
	r.idle(1)
	r.send("n", "hello")
	r.shows("you said hello")
	if st := r.idle(2); st.Turns != 2 || st.LastTurn.ID != "n" {
		t.Errorf("%+v", st)
	}
}

// What the agent says after the end of its turn is shown, and is no work.
func TestLateUpdates(t *testing.T) {
	t.Parallel()
	r := start(t, setup{})
	r.ready()
	r.send("m", "RAWLINES "+ends+"\n"+says("too late")+"\n"+update(`{"sessionUpdate":"tool_call","toolCallId":"c","title":"background","status":"in_progress"}`))
	r.shows("too late")
	r.shows("background")
	if st, err := r.State(t.Context()); err != nil || st.Activity != "idle" || st.Turns != 1 {
		t.Errorf("%+v, %v", st, err)
	}
}

// Questions that cannot be asked are errors of the agent; nobody sees them.
func TestQuestionsThatCannotBeAsked(t *testing.T) {
	t.Parallel()
	const tool, options = `"toolCall":{"toolCallId":"c","title":"t"}`, `"options":[{"optionId":"y","name":"Yes","kind":"allow_once"}]`
	r := start(t, setup{})
	r.ready()
	turns := 0
	for name, c := range map[string]struct{ request, want string }{
		"no options":                {`session/request_permission {"sessionId":"s1",` + tool + `,"options":[]}`, "-32602"},
		"options are a word":        {`session/request_permission {"sessionId":"s1",` + tool + `,"options":"yes"}`, "-32602"},
		"of another session":        {`session/request_permission {"sessionId":"s2",` + tool + `,` + options + `}`, "-32602"},
		"an unknown method":         {`craft/drainMidTurnQueue {}`, "-32601"},
		"a form of another session": {`elicitation/create {"sessionId":"s2","mode":"form","message":"m","requestedSchema":{"properties":{"x":{"type":"string"}}}}`, "-32602"},
		"a form by its address":     {`elicitation/create {"sessionId":"s1","mode":"url","url":"https://example.com","message":"m"}`, "-32602"},
	} {
		r.send(name, "REQUEST "+c.request)
		turns++
		st := r.idle(turns)
		if st.Pending != nil || st.LastTurn.StopReason != "end_turn" {
			t.Errorf("%s: %+v", name, st)
		}
		if text := r.entries(); !strings.Contains(text[len(text)-2], c.want) {
			t.Errorf("%s: %q, want %s", name, text[len(text)-2:], c.want)
		}
	}
}

// What this gc does not know is shown by its name, and costs nothing else.
func TestUnknownParts(t *testing.T) {
	t.Parallel()
	r := start(t, setup{})
	r.ready()
	r.send("m", "RAWLINES "+strings.Join([]string{
		update(`{"sessionUpdate":"hologram","shape":3}`),
		update(`{"sessionUpdate":"agent_message_chunk","content":{"type":"smell","of":"roses"}}`),
		update(`{"sessionUpdate":"tool_call","toolCallId":"c","title":"odd call","kind":"teleport","status":"completed","content":[{"type":"cube"},{"type":"content","content":{"type":"text","text":"its output"}}]}`),
		update(`{"sessionUpdate":7}`), update(`"x"`), `{"jsonrpc":"2.0","method":"session/update","params":[]}`,
		`{"jsonrpc":"2.0","method":"vendor/news","params":{"a":1}}`,
		says("still here"), ends,
	}, "\n"))
	r.idle(1)
	for _, want := range []string{"hologram", "smell", "teleport odd call", "its output", "still here"} {
		r.shows(want)
	}
}

// A flood on standard error, or of chunks, does not stop the host, nor does it stay in
// its memory: make soak sends more than that may hold.
func TestFloods(t *testing.T) {
	t.Parallel()
	soak := os.Getenv("GC_SOAK") != ""
	turns, size := 1, " 8"
	if soak {
		turns, size = 16, " 64"
	}
	for _, word := range []string{"STDERR", "FLOOD"} {
		t.Run(word, func(t *testing.T) {
			t.Parallel()
			r := start(t, setup{})
			r.ready()
			for i := range turns {
				r.send(fmt.Sprint(i), word+size)
				if st := r.idle(i + 1); st.LastTurn.StopReason != "end_turn" {
					t.Fatalf("%+v", st.LastTurn)
				}
			}
			if _, err := r.State(t.Context()); err != nil {
				t.Error(err)
			}
			if most := peak(t, r.cmd.Process.Pid); soak && most > 64<<20 {
				t.Errorf("the host had %d MiB", most>>20)
			}
		})
	}
}

// An agent that says nothing more is of no use: it is ended, and the host with it.
func TestAgentThatClosesItsOutput(t *testing.T) {
	t.Parallel()
	r := start(t, setup{})
	r.ready()
	agent := children(t, r.cmd.Process.Pid)
	r.send("m", "MUTE")
	select {
	case <-r.ended:
	case <-time.After(20 * time.Second):
		t.Fatal("the host goes on")
	}
	for _, pid := range agent {
		gone(t, pid)
	}
	r.shows("the agent ended")
}

// The last line of an agent that dies in the middle of one is no message.
func TestHalfALine(t *testing.T) {
	t.Parallel()
	r := start(t, setup{})
	r.ready()
	r.send("m", "HALF")
	<-r.ended
	if lines := r.entries(); !slices.ContainsFunc(lines, func(l string) bool { return strings.Contains(l, "the agent ended") }) {
		t.Errorf("transcript: %q", lines)
	}
}

// An agent that does not read holds up nobody else.
func TestOthersAreServedWhileTheAgentDoesNotRead(t *testing.T) {
	t.Parallel()
	r := start(t, setup{})
	r.ready()
	r.send("deaf", "DEAF")
	r.idle(1)
	big := strings.Repeat("x", 1<<20)
	for i := range 8 { // more than a pipe holds
		if _, err := r.Nudge(t.Context(), control.Nudge{ID: fmt.Sprint(i), Queue: true, Blocks: []control.Block{{Text: big[:400<<10]}}}); err != nil {
			t.Fatal(err)
		}
		began := time.Now()
		if _, err := r.State(t.Context()); err != nil || time.Since(began) > 2*time.Second {
			t.Errorf("the state took %v: %v", time.Since(began), err)
		}
		if i == 0 {
			if err := r.Interrupt(t.Context()); err != nil {
				t.Error(err)
			}
		}
	}
}

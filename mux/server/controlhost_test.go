package server

import (
	"bufio"
	"context"
	"encoding/base64"
	"fmt"
	"os"
	"slices"
	"strings"
	"sync"

	"gascity.dev/gc/internal/acp/control"
)

// controlHostVar makes the test binary the host of an agent that speaks the control
// protocol. Lines on its terminal direct it: "working", "idle", "ask PROMPT",
// "print TEXT", where \e is ESC, "mark X" for <X>, "hide".
const controlHostVar = "MUX_TEST_CONTROL"

// controlHost is the host. A message to its idle agent is submitted, and written to the
// file in MUX_TEST_OUT; the receipt of one that begins with "hold" waits for the line "go",
// and one that begins with "bad" is refused.
type controlHost struct {
	server *control.Server
	nonce  string
	out    *os.File

	mu      sync.Mutex
	state   control.State
	sent    map[string]control.Receipt
	queue   []control.Nudge // that wait for the end of a turn
	changed chan struct{}   // closed and replaced at every change
	held    bool
	hides   bool // the next "idle" is a report only, while its agent works
}

func runControlHost() int {
	out, err := os.OpenFile(os.Getenv("MUX_TEST_OUT"), os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	if err != nil {
		fmt.Println(err)
		return 1
	}
	h := &controlHost{
		nonce: os.Getenv(control.NonceVar), out: out, sent: map[string]control.Receipt{}, changed: make(chan struct{}),
	}
	h.server = control.NewServer("test", h.handle)
	in := bufio.NewScanner(os.Stdin)
	if os.Getenv(controlHostVar) == "late" {
		fmt.Println("waiting")
		in.Scan()
	}
	l, err := control.Listen(os.Getenv(control.SocketVar))
	if err != nil {
		fmt.Println(err)
		return 1
	}
	go func() { _ = h.server.Serve(l) }()
	fmt.Println("ready")
	for in.Scan() {
		word, rest, _ := strings.Cut(in.Text(), " ")
		h.direct(word, rest)
	}
	return 0
}

func (h *controlHost) direct(word, rest string) {
	switch word {
	case "print":
		fmt.Print(strings.ReplaceAll(rest, `\e`, "\x1b"))
	case "mark":
		fmt.Printf("<%s>", rest)
	case "working":
		h.become(control.State{Activity: "working"})
	case "hide":
		h.hides = true
	case "idle":
		if h.hides {
			h.hides = false
			h.change(func() { h.state.Activity = "working" })
			h.report("state=idle")
			return
		}
		h.become(control.State{Activity: "idle"})
	case "ask":
		h.become(control.State{Activity: "blocked", Kind: "permission", Pending: &control.Question{
			RequestID: "q-" + rest, Kind: "permission", Prompt: rest, Options: []string{"Allow", "Reject"},
		}})
	case "go":
		h.change(func() { h.held = false })
	}
}

// become changes the state and reports it.
func (h *controlHost) become(s control.State) {
	h.change(func() {
		h.state = s
		if s.Activity == "idle" {
			for _, n := range h.queue {
				h.send(n)
			}
			h.queue = nil
		}
	})
	report := "state=" + s.Activity
	if s.Pending != nil {
		report += ":kind=permission:msg=" + base64.StdEncoding.EncodeToString([]byte(s.Pending.Prompt))
	}
	h.report(report)
}

// report writes a status report with the nonce.
func (h *controlHost) report(pairs string) {
	fmt.Printf("\x1b]7501;%s:nonce=%s\x1b\\", pairs, h.nonce)
}

// change makes a change that others may wait for.
func (h *controlHost) change(f func()) {
	h.mu.Lock()
	defer h.mu.Unlock()
	f()
	h.publish()
	close(h.changed)
	h.changed = make(chan struct{})
}

func (h *controlHost) handle(ctx context.Context, r control.Request) control.Reply {
	refuse := func(code, why string) control.Reply {
		return control.Reply{Error: &control.Error{Code: code, Message: why, Valid: []string{"Allow", "Reject"}}}
	}
	switch r.Op {
	case control.OpNudge:
		rec := h.nudge(ctx, *r.Nudge)
		return control.Reply{Receipt: &rec}
	case control.OpTakeBack:
		found := false
		h.change(func() {
			n := len(h.queue)
			h.queue = slices.DeleteFunc(h.queue, func(q control.Nudge) bool { return q.ID == r.MessageID })
			found = len(h.queue) < n
		})
		if !found {
			return refuse(control.CodeNotFound, "not queued")
		}
	case control.OpRespond:
		h.mu.Lock()
		q := h.state.Pending
		h.mu.Unlock()
		if q == nil || r.Answer.RequestID != "" && r.Answer.RequestID != q.RequestID || !slices.Contains(q.Options, r.Answer.Option) {
			return refuse(control.CodeStale, "no such question or option")
		}
		fmt.Fprintf(h.out, "answer %s\n", r.Answer.Option)
		h.become(control.State{Activity: "working"})
	case control.OpInterrupt:
		fmt.Fprintln(h.out, "interrupt")
		h.become(control.State{Activity: "idle"})
	}
	return control.Reply{}
}

// nudge submits a message once its agent is idle. What was sent once is not sent again.
func (h *controlHost) nudge(ctx context.Context, n control.Nudge) control.Receipt {
	for waited := false; ; waited = true {
		h.mu.Lock()
		_, sent := h.sent[n.ID]
		if waited && !sent && !slices.Contains(h.state.Queue, n.ID) {
			h.mu.Unlock()
			return control.Receipt{State: control.StateRefused, Detail: "taken back"}
		}
		rec, changed := h.try(n), h.changed
		h.mu.Unlock()
		if rec != nil {
			return *rec
		}
		select {
		case <-changed:
		case <-ctx.Done():
			return control.Receipt{State: control.StateUnverified}
		}
	}
}

// try returns the receipt of a message; nil while it waits. mu is held.
func (h *controlHost) try(n control.Nudge) *control.Receipt {
	isIt := func(q control.Nudge) bool { return q.ID == n.ID }
	rec, sent := h.sent[n.ID]
	busy := map[string]string{"working": "turn", "blocked": "question"}[h.state.Activity]
	switch {
	case sent && h.held:
		return nil
	case !sent && slices.ContainsFunc(h.queue, isIt):
		if n.Queue {
			return &control.Receipt{State: control.StateQueued}
		}
		return nil
	case sent:
		return &rec
	case len(n.Blocks) == 0:
		return &control.Receipt{State: control.StateRefused, Detail: "the message is empty"}
	case busy != "" && n.Now:
		return &control.Receipt{State: control.StateBlocked, By: busy, Detail: "busy: " + busy}
	case busy != "":
		if n.Queue {
			defer h.publish()
			h.queue = append(h.queue, n)
			return &control.Receipt{State: control.StateQueued}
		}
		h.queue = append(h.queue, n)
		h.publish()
		return nil
	}
	h.send(n)
	return h.try(n)
}

// send gives a message to the agent. mu is held.
func (h *controlHost) send(n control.Nudge) {
	fmt.Fprintf(h.out, "%q\n", n.Blocks[0].Text)
	h.sent[n.ID] = control.Receipt{State: control.StateSubmitted, Detail: "read by the agent"}
	if strings.HasPrefix(n.Blocks[0].Text, "bad") {
		h.sent[n.ID] = control.Receipt{State: control.StateRefused, Detail: "the agent refused it"}
	}
	h.held = strings.HasPrefix(n.Blocks[0].Text, "hold")
}

// publish makes the state visible. mu is held.
func (h *controlHost) publish() {
	h.state.Queue = nil
	for _, n := range h.queue {
		h.state.Queue = append(h.state.Queue, n.ID)
	}
	h.state.Version++
	h.server.Publish(h.state)
}

package host

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"time"

	"gascity.dev/gc/internal/acp/control"
)

// Limits of the messages to an agent.
const (
	maxQueued   = 64
	maxQueue    = 4 << 20 // bytes of all queued ones
	maxMessage  = 1 << 20 // bytes of one
	maxFinished = 256     // outcomes that are remembered
)

// Progress of a message.
const (
	waits    = "queued" // not sent
	sent     = "sent"   // its turn runs
	finished = "finished"
)

// message is a message to the agent, as it is kept on disk.
type message struct {
	ID       string           `json:"id"`
	By       string           `json:"by,omitempty"`
	Blocks   []control.Block  `json:"blocks,omitempty"` // nil once it is finished
	Progress string           `json:"progress"`
	Queued   time.Time        `json:"queued"`
	Accepted bool             `json:"accepted,omitempty"` // the sender knows that it waits
	Receipt  *control.Receipt `json:"receipt,omitempty"`  // once the outcome is known

	Interrupted string `json:"interrupted,omitempty"` // of a redirect: what it did to the turn before

	wait []chan<- control.Receipt // each has space for one receipt
}

// bytes is the length of the content.
func (m *message) bytes() int {
	n := 0
	for _, b := range m.Blocks {
		n += len(b.Text) + len(b.Path)
	}
	return n
}

// settle records the outcome and reports it to the callers.
func (m *message) settle(r control.Receipt) {
	if m.Receipt != nil {
		return
	}
	r.Interrupted = m.Interrupted
	m.Receipt = &r
	m.report()
}

// report sends the receipt to the callers.
func (m *message) report() {
	for _, c := range m.wait {
		c <- *m.Receipt
	}
	m.wait = nil
}

// mailbox holds the messages that wait, the one whose turn runs, and the outcomes of
// the latest others. It is kept on disk: a message that was acknowledged is delivered
// by a later host if this one is killed, and no id is sent twice.
type mailbox struct {
	path string
	list []*message // in the order of their arrival
}

// openMailbox reads the mailbox of the directory. A message whose sender waited for its
// receipt and got none is dead: the sender knows that the agent ended.
func openMailbox(dir string) (*mailbox, error) {
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return nil, err
	}
	m := &mailbox{path: filepath.Join(dir, "messages.json")}
	b, err := os.ReadFile(m.path)
	if errors.Is(err, fs.ErrNotExist) {
		return m, nil
	}
	if err != nil {
		return nil, err
	}
	if err := json.Unmarshal(b, &m.list); err != nil {
		return nil, fmt.Errorf("%s: %w", m.path, err)
	}
	for _, x := range m.list {
		if x.Progress == waits && !x.Accepted {
			x.settle(control.Receipt{State: control.StateDead, Detail: "the agent ended first"})
			x.Progress, x.Blocks = finished, nil
		}
	}
	return m, nil
}

// find returns the message of the id, nil if it is unknown.
func (m *mailbox) find(id string) *message {
	i := slices.IndexFunc(m.list, func(x *message) bool { return x.ID == id })
	if i < 0 {
		return nil
	}
	return m.list[i]
}

// next returns the oldest message that waits, nil if there is none.
func (m *mailbox) next() *message {
	i := slices.IndexFunc(m.list, func(x *message) bool { return x.Progress == waits })
	if i < 0 {
		return nil
	}
	return m.list[i]
}

// queued returns the ids of the messages that wait, the oldest first.
func (m *mailbox) queued() []string {
	var ids []string
	for _, x := range m.list {
		if x.Progress == waits {
			ids = append(ids, x.ID)
		}
	}
	return ids
}

// full returns why a message does not fit, "" if it does.
func (m *mailbox) full(add *message) string {
	n, bytes := 0, add.bytes()
	for _, x := range m.list {
		if x.Progress == waits {
			n++
			bytes += x.bytes()
		}
	}
	switch {
	case n >= maxQueued:
		return fmt.Sprintf("%d messages wait already", n)
	case bytes > maxQueue:
		return "the messages that wait are too long"
	}
	return ""
}

// add puts a message at the end, and forgets the oldest outcomes.
func (m *mailbox) add(x *message) {
	m.list = append(m.list, x)
	n := 0
	for _, y := range m.list {
		if y.Progress == finished {
			n++
		}
	}
	m.list = slices.DeleteFunc(m.list, func(y *message) bool {
		if n > maxFinished && y.Progress == finished {
			n--
			return true
		}
		return false
	})
}

// first puts a redirect of the list ahead of the messages that wait, behind earlier
// redirects.
func (m *mailbox) first(x *message) {
	m.remove(x)
	i := slices.IndexFunc(m.list, func(y *message) bool { return y.Progress == waits && y.Interrupted == "" })
	if i < 0 {
		i = len(m.list)
	}
	m.list = slices.Insert(m.list, i, x)
}

// remove removes a message.
func (m *mailbox) remove(x *message) {
	m.list = slices.DeleteFunc(m.list, func(y *message) bool { return y == x })
}

// save writes the mailbox. Until the disk has it (sync) it survives the host, not the
// machine.
func (m *mailbox) save(sync bool) error {
	b, err := json.Marshal(m.list)
	if err != nil {
		return err
	}
	f, err := os.CreateTemp(filepath.Dir(m.path), "messages-*")
	if err != nil {
		return err
	}
	defer os.Remove(f.Name()) // fails once it is renamed
	_, err = f.Write(b)
	if err == nil && sync {
		err = f.Sync()
	}
	if err = errors.Join(err, f.Close()); err != nil {
		return err
	}
	return os.Rename(f.Name(), m.path)
}

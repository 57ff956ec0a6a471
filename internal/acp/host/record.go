package host

import (
	"time"

	"gascity.dev/gc/internal/acp/control"
	"gascity.dev/gc/internal/acp/conversation"
	"gascity.dev/gc/internal/acp/transcript"
)

// record writes the transcript: every item once it is complete, questions, answers
// and the ends of turns.
type record struct {
	w    *transcript.Writer
	warn func(string)
	next int // the number, since the beginning, of the first unwritten item
	seen uint64
	bad  bool // writing failed; reported once
}

func newRecord(dir string, warn func(string)) (*record, error) {
	w, err := transcript.NewWriter(dir)
	if err != nil {
		return nil, err
	}
	return &record{w: w, warn: warn}, nil
}

// add writes an entry. A transcript that cannot be written does not stop the agent.
func (r *record) add(e transcript.Entry) {
	e.Time = time.Now()
	if err := r.w.Add(e); err != nil && !r.bad {
		r.bad = true
		r.warn("cannot write the transcript: " + err.Error())
	}
}

// items writes the items that are complete, in order: one that is not holds up those
// after it, until the end of the turn at the latest.
func (r *record) items(c *conversation.Conversation) {
	if c.Version() == r.seen {
		return
	}
	r.seen = c.Version()
	list, first := c.Items(), c.Dropped()
	for r.next = max(r.next, first); r.next-first < len(list); r.next++ {
		it := list[r.next-first]
		if !it.Done {
			return
		}
		r.add(entry(it))
	}
}

// entry is an item as it is written.
func entry(it conversation.Item) transcript.Entry {
	e := transcript.Entry{Kind: string(it.Kind), ID: it.ID, By: it.By, Text: it.Text}
	if t := it.Tool; t != nil {
		e.ID, e.Tool, e.Text, e.Status, e.Output, e.Paths = t.CallID, t.Kind, subject(t), t.Status, t.Output, t.Locations
	}
	for _, p := range it.Plan {
		e.Text += p.Status + ": " + p.Text + "\n"
	}
	return e
}

func (r *record) started(name, session string) {
	r.add(transcript.Entry{Kind: transcript.Started, Text: name, ID: session})
}

func (r *record) question(q conversation.Question) {
	e := transcript.Entry{Kind: transcript.Question, ID: q.ID, Text: q.Title, Options: labels(q.Options)}
	if q.Tool != nil {
		e.Tool, e.Paths = q.Tool.Kind, q.Tool.Locations
	}
	r.add(e)
}

func (r *record) answer(id, label, by string) {
	r.add(transcript.Entry{Kind: transcript.Answer, ID: id, Text: label, By: by})
}

func (r *record) turn(t *control.Turn) {
	r.add(transcript.Entry{Kind: transcript.Turn, ID: t.ID, StopReason: t.StopReason, Error: t.Error, Duration: t.Duration})
}

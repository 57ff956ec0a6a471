package controller

import (
	"context"
	"crypto/rand"
	"fmt"
	"slices"
	"strings"
	"time"

	"gascity.dev/gc/internal/config"
	"gascity.dev/gc/internal/controller/api"
	"gascity.dev/gc/internal/controller/query"
	"gascity.dev/gc/internal/delivery"
	"gascity.dev/gc/internal/mail"
	"gascity.dev/gc/internal/session"
)

// mails keeps the city's mail, and tells agents about it.
type mails struct {
	*core
	l       *loop
	book    *mail.Book
	boxes   map[string]mail.Box        // by agent
	sending map[string]*session.Commit // by id: on their way to the disk
	quiet   map[mail.Reader]bool       // no news, until something changes
}

func newMails(c *core) *mails {
	return &mails{
		core: c, book: mail.NewBook(nil), boxes: map[string]mail.Box{}, sending: map[string]*session.Commit{}, quiet: map[mail.Reader]bool{},
	}
}

func (m *mails) load() error {
	list, err := m.store.Letters()
	if err != nil {
		return err
	}
	m.book = mail.NewBook(list)
	m.boxes, err = m.store.Boxes()
	return err
}

func readerOf(ag *agentState) mail.Reader {
	r := &ag.spec.Resolved
	reader := mail.Reader{Agent: ag.name(), Rig: r.Rig}
	if r.Template != r.Name {
		reader.Pool = r.Template
	}
	return reader
}

// moved notes that letters or marks changed.
func (m *mails) moved() { clear(m.quiet) }

func (m *mails) box(agent string) mail.Box {
	if b, ok := m.boxes[agent]; ok {
		return b
	}
	return mail.NewBox(agent)
}

func (m *mails) save(b mail.Box) *session.Commit {
	m.boxes[b.Agent] = b
	m.moved()
	return m.store.SaveBox(b)
}

// firstSending is the oldest letter that is not on disk yet, "" if all are: agents are
// told about letters in their order, so that one id says what an agent was told.
func (m *mails) firstSending() string {
	first := ""
	for id := range m.sending {
		if first == "" || id < first {
			first = id
		}
	}
	return first
}

// add saves a new letter, or finds the one with its key: again. commit is nil for one
// that is on disk.
func (m *mails) add(who caller, r api.MailRequest) (l mail.Letter, commit *session.Commit, again bool, err error) {
	key := "/" + r.ID // an agent's ids are its own
	if who.agent != nil {
		key = who.agent.name() + key
	}
	if l, ok := m.book.Sent(key); ok {
		return l, m.sending[l.ID], true, nil
	}
	to, err := m.addressOf(r.To)
	if err != nil {
		return l, nil, false, err
	}
	forget, err := m.book.Room(len(r.Text), time.Now())
	if err != nil {
		return l, nil, false, api.Hinted("gc mail ack marks letters as done; the oldest of those make room", "%w", err)
	}
	for _, id := range forget {
		m.book.Remove(id)
	}
	l = m.store.NewLetter(mail.Letter{Key: key, From: who.name, To: to, Subject: r.Subject, Size: len(r.Text), Sent: time.Now().UTC()})
	commit = m.store.AddLetter(l, r.Text, forget)
	m.book.Add(l)
	m.sending[l.ID] = commit
	return l, commit, false, nil
}

// added notes what became of a new letter.
func (m *mails) added(l mail.Letter, err error) {
	delete(m.sending, l.ID)
	m.moved()
	if err != nil { // not acknowledged: forget it
		m.book.Remove(l.ID)
		m.store.DeleteLetter(l.ID)
		return
	}
	detail := "letter " + mail.ShortID(l.ID)
	if l.To.Kind != mail.Agent {
		detail += " to the " + string(l.To.Kind)
	}
	if l.Subject != "" {
		detail += fmt.Sprintf(": %q", l.Subject)
	}
	m.note(api.Event{Kind: api.EventMail, Agent: l.To.Name, Why: "sent", Detail: detail, By: l.From})
}

// of returns the letters that a caller means: those of one agent, or outside sessions
// and without a name those of the city, for agent "".
func (m *mails) of(who caller, name string) (agent string, list []mail.Letter, err error) {
	ag := who.agent
	if name != "" {
		if ag, err = m.l.agents.pickOne(name); err != nil {
			return "", nil, err
		}
		if who.agent != nil && ag != who.agent {
			return "", nil, api.Hinted("leave out the name", "an agent sees only its own mail")
		}
	}
	if ag == nil {
		list = m.book.All()
	} else {
		agent, list = ag.name(), m.book.Of(readerOf(ag))
	}
	return agent, slices.DeleteFunc(list, func(l mail.Letter) bool { return m.sending[l.ID] != nil }), nil
}

// pick returns the letters with the ids of a query; without ids the unread ones.
func (m *mails) pick(who caller, q api.MailQuery) (agent string, picked []mail.Letter, err error) {
	agent, list, err := m.of(who, q.Of)
	if err != nil {
		return "", nil, err
	}
	if len(q.IDs) == 0 {
		return agent, slices.DeleteFunc(list, func(l mail.Letter) bool { return agent != "" && !l.Unread(agent) }), nil
	}
	for _, id := range q.IDs {
		i := slices.IndexFunc(list, func(l mail.Letter) bool { return mail.ShortID(l.ID) == mail.ShortID(id) })
		if i < 0 {
			return "", nil, api.Hinted("gc mail list --all", "%w: %.40s", api.ErrNoLetter, id)
		}
		picked = append(picked, list[i])
	}
	return agent, picked, nil
}

// deliver tells agents about their mail, and returns when it wants to be called again.
func (m *mails) deliver(now, next time.Time) time.Time {
	before := m.firstSending()
	for _, name := range m.l.agents.order {
		ag := m.l.agents.all[name]
		if ag == nil || ag.spec == nil || ag.spec.Resolved.Mail == config.MailNever {
			continue
		}
		r := readerOf(ag)
		box := m.box(r.Agent)
		if m.quiet[r] {
			continue
		}
		if !box.Claimed() && !m.book.HasNews(r, box.Told, before) {
			m.quiet[r] = before == ""
			continue
		}
		if at := m.advance(ag, r, box, now); !at.IsZero() && at.Before(next) {
			next = at
		}
	}
	return next
}

// advance does the next thing about an agent's news, or returns when to try again.
func (m *mails) advance(ag *agentState, r mail.Reader, box mail.Box, now time.Time) time.Time {
	to := m.l.recipient(ag)
	even := m.store.Now()
	due, again := box.Due(even)
	switch {
	case to.IdleDown:
		if !m.book.HasNews(mail.Reader{Agent: r.Agent}, box.Told, m.firstSending()) {
			return time.Time{} // a letter to many wakes nobody
		}
		ag.seen.Record.IdleStopped = false
		m.l.save(ag)
		m.noteAgent(ag, api.EventMail, "wakes it", "")
	case !to.Ready || to.Foreign:
	case now.Before(to.NotBefore):
		return to.NotBefore
	case !box.Claimed() && !due:
		if again.IsZero() {
			return time.Time{}
		}
		return now.Add(again.Sub(even))
	default:
		m.tell(ag, r, box)
	}
	return time.Time{}
}

// tell types one notice, or finds out what became of the last one.
func (m *mails) tell(ag *agentState, r mail.Reader, box mail.Box) {
	ag.typing.busy = true
	n := notifier{m: m, reader: r, agent: query.Agent{Provider: m.p, Session: ag.seen.Session}, atOnce: ag.spec.Resolved.Mail == config.MailNow}
	m.ops.Go(func() {
		state, detail, err := n.deliver(m.ops.ctx, box)
		m.post(func() {
			ag.typing.busy, ag.typing.notBefore = false, time.Time{}
			if err != nil || state == "" {
				ag.typing.notBefore = time.Now().Add(endsPause)
			}
			if err != nil && m.ops.ctx.Err() == nil {
				m.logf("%s: cannot be told about its mail yet: %v", ag.name(), err)
			}
			if state != "" {
				m.settle(ag, state, detail)
			}
		})
	})
}

// settle records the outcome of a notice.
func (m *mails) settle(ag *agentState, state delivery.State, detail string) {
	box := m.box(ag.name())
	through := mail.ShortID(box.Through)
	if err := box.Settle(m.store.Now(), state, detail); err != nil {
		m.logf("%s: %v", ag.name(), err)
		return
	}
	m.save(box)
	if state == delivery.Pending {
		return
	}
	text := "up to letter " + through
	if detail != "" {
		text += ", " + oneLine(detail)
	}
	m.noteAgent(ag, api.EventMail, "told", text)
}

// notifier tells one agent.
type notifier struct {
	m      *mails
	reader mail.Reader
	agent  query.Agent
	atOnce bool
}

// deliver resolves the notice of an earlier try, or types one. The state is "" if there
// was nothing to do, or the agent was not idle for a while. With an error the notice
// keeps its state.
func (n *notifier) deliver(ctx context.Context, box mail.Box) (delivery.State, string, error) {
	if box.Claimed() {
		a := delivery.Attempt{Agent: n.agent, Tags: []string{mail.Tag(box.Batch)}}
		return a.Resolve(ctx, delivery.Pending, "the controller was restarted before it was typed")
	}
	if !n.atOnce {
		idle, cancel := context.WithTimeout(ctx, idleChunk)
		err := n.agent.AwaitIdle(idle)
		late := idle.Err() != nil && ctx.Err() == nil
		cancel()
		if err != nil && late {
			return "", "", nil
		}
		if err != nil {
			return "", "", err
		}
	}
	text, batch, err := n.claim(ctx)
	if err != nil || batch == "" {
		return "", "", err
	}
	a := delivery.Attempt{Agent: n.agent, Tags: []string{mail.Tag(batch)}}
	return a.Type(ctx, text)
}

// claim makes the notice; its claim is on disk before the first byte. batch is "" if
// there is no news any more.
func (n *notifier) claim(ctx context.Context) (text, batch string, err error) {
	m := n.m
	var commit *session.Commit
	err = m.call(ctx, func() error {
		box := m.box(n.reader.Agent)
		news := m.book.News(n.reader, box.Told, m.firstSending())
		if len(news) == 0 {
			return nil
		}
		batch = strings.ToLower(rand.Text()[:8])
		if err := box.Claim(m.store.Now(), news, batch); err != nil {
			return err
		}
		text, commit = mail.Notice(news, batch), m.save(box)
		return nil
	})
	if err != nil || commit == nil {
		return "", "", err
	}
	if err := commit.Wait(); err != nil { // nothing was typed
		_ = m.do(context.WithoutCancel(ctx), func() {
			box := m.box(n.reader.Agent)
			if box.Settle(m.store.Now(), delivery.Pending, "") == nil {
				m.save(box)
			}
		})
		return "", "", err
	}
	return text, batch, nil
}

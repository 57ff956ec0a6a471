package controller

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"gascity.dev/gc/internal/controller/api"
	"gascity.dev/gc/internal/mail"
	"gascity.dev/gc/internal/proctree"
	"gascity.dev/gc/internal/session"
)

// maxRead bounds the texts of one reply, in bytes; the first letter always fits.
const maxRead = 1 << 20

// caller is who made a request.
type caller struct {
	agent *agentState // nil: none of this city
	name  string      // as in the events
}

// peerClaim is what a process and its parents carry of an agent's identity.
type peerClaim struct{ agent, token string }

// callerOf finds out who made a request. A process in a session has the token of its
// agent's instance; one that hides it still has parents with it.
func (c *calls) callerOf(ctx context.Context, q api.InsideRequest) (who caller, err error) {
	terminal := ""
	var claims []peerClaim
	if q.Token == "" {
		terminal, claims = provenance(api.Peer(ctx))
	}
	err = c.call(ctx, func() error {
		if q.Token != "" {
			ag, err := c.inside(q)
			if err == nil {
				who = caller{ag, "agent " + ag.name()}
			}
			return err
		}
		who.name = byUnknown
		if terminal != "" {
			who.name = "terminal " + terminal
		}
		for _, claim := range claims {
			if ag, err := c.inside(api.InsideRequest{Agent: claim.agent, Token: claim.token}); err == nil {
				who = caller{ag, "agent " + ag.name()}
				break
			}
		}
		return nil
	})
	return who, err
}

// maxParents bounds the walk from a process to its session's leader.
const maxParents = 64

// provenance returns the terminal of a process, and the agents as whose it or a parent
// was started.
func provenance(pid int) (terminal string, claims []peerClaim) {
	for range maxParents {
		p, err := proctree.Get(pid)
		if pid <= 1 || err != nil {
			break
		}
		if terminal == "" {
			terminal = p.Terminal()
		}
		env, err := proctree.Environ(pid)
		claim := peerClaim{env["GC_AGENT"], env["GC_INSTANCE_TOKEN"]}
		if err == nil && claim.token != "" && !slices.Contains(claims, claim) {
			claims = append(claims, claim)
		}
		pid = p.PPID
	}
	return terminal, claims
}

// addressOf finds an agent, else a pool, else a rig.
func (m *mails) addressOf(name string) (mail.Address, error) {
	if m.l.pools.byName[name] != nil {
		return mail.Address{Kind: mail.Pool, Name: name}, nil
	}
	if found := m.l.agents.match(name); len(found) == 1 {
		return mail.Address{Kind: mail.Agent, Name: found[0].name()}, nil
	}
	for i := range m.o.City.Rigs {
		if m.o.City.Rigs[i].Name == name {
			return mail.Address{Kind: mail.Rig, Name: name}, nil
		}
	}
	return mail.Address{}, api.Hinted("gc status lists the agents, gc rig list the rigs", "%w, pool or rig: %.100q", api.ErrUnknownAgent, name)
}

// SendMail implements [api.Post].
func (c *calls) SendMail(ctx context.Context, r api.MailRequest) (mail.Letter, error) {
	if err := mail.Check(r.ID, r.Subject, r.Text); err != nil {
		return mail.Letter{}, err
	}
	who, err := c.callerOf(ctx, r.InsideRequest)
	if err != nil {
		return mail.Letter{}, err
	}
	var l mail.Letter
	var commit *session.Commit
	var again bool
	err = c.call(ctx, func() (err error) {
		l, commit, again, err = c.l.mail.add(who, r)
		return err
	})
	if err != nil || commit == nil {
		return l, err
	}
	err = commit.Wait()
	if again {
		return l, unsent(err)
	}
	_ = c.do(context.WithoutCancel(ctx), func() { c.l.mail.added(l, err) }) // else the next controller reads it
	return l, unsent(err)
}

func unsent(err error) error {
	if err == nil {
		return nil
	}
	return api.Hinted(roomHint, "the letter is not sent: %w", err)
}

// Mail implements [api.Post].
func (c *calls) Mail(ctx context.Context, q api.MailQuery) ([]api.Mail, error) {
	who, err := c.callerOf(ctx, q.InsideRequest)
	if err != nil {
		return nil, err
	}
	list := []api.Mail{}
	err = c.call(ctx, func() error {
		agent, all, err := c.l.mail.of(who, q.Of)
		for _, l := range all {
			one := shownLetter(l, agent)
			if one.Done && !q.All || !one.Unread && q.Unread {
				continue
			}
			list = append(list, one)
		}
		return err
	})
	return list, err
}

// shownLetter is a letter as an agent sees it, "" for nobody in particular.
func shownLetter(l mail.Letter, agent string) api.Mail {
	done := agent != "" && l.Settled(agent) || agent == "" && l.Done()
	return api.Mail{Letter: l, Unread: agent != "" && l.Unread(agent), Done: done}
}

// ReadMail implements [api.Post].
func (c *calls) ReadMail(ctx context.Context, q api.MailQuery) (api.MailRead, error) {
	who, err := c.callerOf(ctx, q.InsideRequest)
	if err != nil {
		return api.MailRead{}, err
	}
	var picked []mail.Letter
	var agent string
	err = c.call(ctx, func() (err error) {
		agent, picked, err = c.l.mail.pick(who, q)
		return err
	})
	if err != nil {
		return api.MailRead{}, err
	}
	out, size := api.MailRead{Letters: []api.Mail{}}, 0
	for i, l := range picked {
		if size += l.Size; size > maxRead && i > 0 {
			out.More = len(picked) - i
			break
		}
		one := shownLetter(l, agent)
		if one.Text, err = c.store.Text(l.ID); err != nil {
			return api.MailRead{}, err
		}
		out.Letters = append(out.Letters, one)
	}
	if who.agent == nil { // a person looks, and changes nothing
		return out, nil
	}
	return out, c.mark(ctx, agent, picked[:len(out.Letters)], func(m *mail.Mark) bool {
		if !m.Read.IsZero() {
			return false
		}
		m.Read = time.Now().UTC()
		return true
	})
}

// AckMail implements [api.Post].
func (c *calls) AckMail(ctx context.Context, q api.MailQuery) error {
	who, err := c.callerOf(ctx, q.InsideRequest)
	if err != nil {
		return err
	}
	var picked []mail.Letter
	var agent string
	err = c.call(ctx, func() (err error) {
		agent, picked, err = c.l.mail.pick(who, q)
		if err == nil && agent == "" {
			err = api.Hinted("name the agent whose letters they are", "only an agent's letters can be marked as done")
		}
		return err
	})
	if err != nil {
		return err
	}
	var done []string
	err = c.mark(ctx, agent, picked, func(m *mail.Mark) bool {
		if !m.Acked.IsZero() {
			return false
		}
		m.Acked = time.Now().UTC()
		return true
	})
	for _, l := range picked {
		done = append(done, mail.ShortID(l.ID))
	}
	if err == nil {
		err = c.do(ctx, func() {
			c.note(api.Event{Kind: api.EventMail, Agent: agent, Why: "done", Detail: strings.Join(done, ", "), By: who.name})
		})
	}
	return err
}

// mark changes an agent's marks, and returns once they are on disk.
func (c *calls) mark(ctx context.Context, agent string, list []mail.Letter, change func(*mail.Mark) bool) error {
	var commit *session.Commit
	err := c.do(ctx, func() {
		var changed []mail.Letter
		for _, l := range list {
			now, ok := c.l.mail.book.Get(l.ID)
			m := now.Marks[agent]
			if ok && change(&m) {
				changed = append(changed, now.With(agent, m))
			}
		}
		for _, l := range changed {
			c.l.mail.book.Set(l)
		}
		if len(changed) > 0 {
			commit = c.store.SaveLetters(changed)
		}
		c.l.mail.moved()
	})
	if err != nil || commit == nil {
		return err
	}
	if err := commit.Wait(); err != nil {
		return fmt.Errorf("the marks are lost when the controller ends: %w", err)
	}
	return nil
}

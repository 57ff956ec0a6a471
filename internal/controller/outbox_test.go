package controller

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"gascity.dev/gc/internal/config"
	"gascity.dev/gc/internal/controller/api"
	"gascity.dev/gc/internal/controller/outbox"
	"gascity.dev/gc/internal/session"
	"gascity.dev/gc/runtime"
)

// farBox is the outbox of another machine, in memory. It outlives controllers.
type farBox struct {
	mu      sync.Mutex
	list    []outbox.Message
	place   uint64
	changed chan struct{}
	dieAt   string // the step at which the controller's calls hang until it is gone
	down    bool   // it does not answer
	deleted []string
	deaf    bool // it says that messages are deleted, and keeps them
}

func newFarBox() *farBox { return &farBox{changed: make(chan struct{})} }

func (b *farBox) use(o *Options) {
	o.Outboxes = func(*config.City) []outbox.Outbox { return []outbox.Outbox{b} }
}

func (b *farBox) String() string { return "ssh://far" }

// say puts a message into the box.
func (b *farBox) say(id string, m any) {
	body, ok := m.(string)
	if !ok {
		raw, _ := json.Marshal(m)
		body = string(raw)
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	b.place++
	b.list = append(b.list, outbox.Message{ID: id, Place: b.place, Body: []byte(body)})
	close(b.changed)
	b.changed = make(chan struct{})
}

// set changes the box.
func (b *farBox) set(f func()) {
	b.mu.Lock()
	defer b.mu.Unlock()
	f()
}

// left returns the ids of the messages in the box.
func (b *farBox) left() (ids []string) {
	synctest.Wait()
	b.mu.Lock()
	defer b.mu.Unlock()
	for _, m := range b.list {
		ids = append(ids, m.ID)
	}
	return ids
}

func (b *farBox) die(ctx context.Context, step string) error {
	b.mu.Lock()
	here, down := b.dieAt == step, b.down
	b.mu.Unlock()
	if down {
		return errors.New("no route to host")
	}
	if here {
		<-ctx.Done()
		return ctx.Err()
	}
	return nil
}

func (b *farBox) Take(ctx context.Context, city string, after uint64) ([]outbox.Message, error) {
	if !strings.HasPrefix(city, "/") {
		return nil, fmt.Errorf("the city is %q", city)
	}
	late := time.NewTimer(2 * time.Minute)
	defer late.Stop()
	for {
		if err := b.die(ctx, "at the list"); err != nil {
			return nil, err
		}
		b.mu.Lock()
		changed := b.changed
		var list []outbox.Message
		for _, m := range b.list {
			if m.Place > after {
				list = append(list, m)
			}
		}
		b.mu.Unlock()
		if len(list) > 0 {
			return list, b.die(ctx, "after the list")
		}
		select {
		case <-changed:
		case <-late.C:
			return nil, nil
		case <-ctx.Done():
			return nil, ctx.Err()
		}
	}
}

func (b *farBox) Delete(ctx context.Context, _, id string) error {
	if err := b.die(ctx, "before the delete"); err != nil {
		return err
	}
	b.mu.Lock()
	b.deleted = append(b.deleted, id)
	if !b.deaf {
		b.list = slices.DeleteFunc(b.list, func(m outbox.Message) bool { return m.ID == id })
	}
	b.mu.Unlock()
	return b.die(ctx, "after the delete")
}

// me identifies the running instance of an agent.
func (r *rig) me(name string) api.InsideRequest {
	cfg, ok := r.fake.ConfigOf("gc-city-" + name)
	if !ok {
		r.t.Fatalf("%s was never started", name)
	}
	return api.InsideRequest{Agent: name, Token: cfg.Env["GC_INSTANCE_TOKEN"]}
}

// stored returns the texts of the city's nudges, in order.
func (r *rig) stored() (texts []string) {
	r.t.Helper()
	list, err := r.l.calls.Nudges(context.Background())
	if err != nil {
		r.t.Fatal(err)
	}
	for _, n := range list {
		texts = append(texts, n.Text)
	}
	return texts
}

// refusals returns why messages were refused.
func (r *rig) refusals() (why []string) {
	r.t.Helper()
	events, err := r.l.calls.Events(0)
	if err != nil {
		r.t.Fatal(err)
	}
	for _, e := range events {
		if e.Kind == api.EventOutbox {
			why = append(why, e.Why+" "+e.Detail)
		}
	}
	return why
}

const agentsAB = oneAgent + "\n[[agents]]\nname = \"b\"\nstart_command = \"b\"\n"

func farNudge(from api.InsideRequest, to, text string) api.Message {
	return api.Message{Kind: api.MessageNudge, InsideRequest: from, Nudge: &api.QueueRequest{Agent: to, Text: text}}
}

// What a program on another machine says takes effect as if it had called.
func TestMessagesFromAnotherMachine(t *testing.T) {
	bubble(t, "[daemon]\ndrift_drain_timeout = \"1h\"\n"+agentsAB, func(r *rig) {
		b := newFarBox()
		r.start(b.use)
		me := r.me("a")
		b.say("1", farNudge(me, "b", "one"))
		b.say("2", farNudge(me, "b", "two"))
		b.say("3", api.Message{Kind: api.MessageWait, InsideRequest: me, Wait: &api.WaitRequest{Agent: "b", Until: "exit", Wake: "a", Note: "see"}})
		b.say("4", api.Message{Kind: api.MessageRestart, InsideRequest: me})
		time.Sleep(time.Minute)
		if left := b.left(); len(left) > 0 || !slices.Equal(b.deleted, []string{"1", "2", "3", "4"}) {
			t.Errorf("left %q, deleted %q", left, b.deleted)
		}
		if got := r.stored(); !slices.Equal(got, []string{"one", "two"}) {
			t.Errorf("nudges %q", got)
		}
		if w, err := r.l.calls.Waits(context.Background()); err != nil || len(w) != 1 || w[0].Note != "see" || w[0].Wake != "a" {
			t.Errorf("waits %+v, %v", w, err)
		}
		if n := r.starts("gc-city-a"); n != 2 {
			t.Errorf("%d starts after a request for a restart", n)
		}

		again := r.me("a")
		b.say("5", farNudge(me, "b", "by the instance before"))
		b.say("6", api.Message{Kind: api.MessageDrain, InsideRequest: again})
		time.Sleep(10 * time.Second)
		r.wantState("a", api.StateDraining)
		b.say("7", api.Message{Kind: api.MessageDrainAck, InsideRequest: again})
		time.Sleep(time.Minute)
		r.wantState("a", api.StateStopped)
		b.say("8", api.Message{Kind: api.MessageUndrain, InsideRequest: again})
		time.Sleep(time.Minute)
		r.wantState("a", api.StateRunning)
		if got := r.stored(); !slices.Equal(got, []string{"one", "two", "by the instance before"}) {
			t.Errorf("nudges %q", got)
		}
		if why := r.refusals(); len(why) > 0 || len(b.left()) > 0 {
			t.Errorf("refused %q, left %q", why, b.left())
		}
		if kept, err := r.l.store.Taken(); err != nil || len(kept) > 0 {
			t.Errorf("ids %v are kept, %v", kept, err)
		}
		r.end()
	})
}

// What cannot be applied is refused with an event, and deleted.
func TestMessagesThatAreRefused(t *testing.T) {
	bubble(t, agentsAB+"\n[[agents]]\nname = \"p\"\nstart_command = \"p\"\n[agents.pool]\nmin = 2\nmax = 2\n", func(r *rig) {
		b := newFarBox()
		r.start(b.use)
		me := r.me("a")
		stale := me
		stale.Token = "stale"
		for i, c := range []struct {
			m    any
			want string
		}{
			{"{", "it is not a message"},
			{`"text"`, "it is not a message"},
			{api.Message{Kind: "stop", InsideRequest: me}, `unknown kind "stop"`},
			{api.Message{Kind: api.MessageDrainAck, InsideRequest: me}, "drain-ack by a: the agent was not asked to drain"},
			{api.Message{Kind: api.MessageDrain, InsideRequest: stale}, "only the running instance of an agent can do that"},
			{api.Message{Kind: api.MessageRestart, InsideRequest: stale}, "only the running instance of an agent can do that"},
			{farNudge(stale, "b", "x"), "only the running instance of an agent can do that"},
			{farNudge(api.InsideRequest{Agent: "nobody\n\x1b[31m", Token: "t"}, "b", "x"), "no such agent"},
			{farNudge(me, "nobody", "x"), "no such agent: nobody"},
			{farNudge(me, "p", "x"), "p is a pool of 2"},
			{farNudge(me, "b", strings.Repeat("x", api.MaxNudge+1)), "a text of 1048577 bytes"},
			{api.Message{Kind: api.MessageWait, InsideRequest: me, Wait: &api.WaitRequest{Agent: "b", Until: "later", Wake: "a"}}, "later"},
			{api.Message{Kind: api.MessageWait, InsideRequest: me, Wait: &api.WaitRequest{Agent: "b", Until: "exit", Wake: "nobody"}}, "no such agent: nobody"},
		} {
			b.say(fmt.Sprint("m", i), c.m)
			time.Sleep(time.Second)
			why := r.refusals()
			if len(b.left()) > 0 || len(why) != i+1 {
				t.Fatalf("message %d: left %q, refused %q", i, b.left(), why)
			}
			if last := why[i]; !strings.HasPrefix(last, "refused a message from ssh://far: ") || !strings.Contains(last, c.want) || strings.ContainsAny(last, "\n") {
				t.Errorf("message %d: %q, want %q", i, last, c.want)
			}
		}
		if got := r.stored(); len(got) > 0 || r.starts("gc-city-a") != 1 {
			t.Errorf("nudges %q, %d starts", got, r.starts("gc-city-a"))
		}
		b.say("fine", farNudge(me, "b", "fine"))
		time.Sleep(time.Second)
		if got := r.stored(); !slices.Equal(got, []string{"fine"}) {
			t.Errorf("afterwards: %q", got)
		}
		r.end()
	})
}

// A controller that dies at any step leaves each message applied once by the next ones.
func TestMessagesAreAppliedOnceOverControllers(t *testing.T) {
	for _, step := range []string{"at the list", "after the list", "before the delete", "after the delete"} {
		bubble(t, agentsAB, func(r *rig) {
			b := newFarBox()
			r.start(b.use)
			me := r.me("a")
			b.set(func() { b.dieAt = step })
			for i := range 3 {
				b.say(fmt.Sprint("n", i), farNudge(me, "b", fmt.Sprint("text ", i)))
			}
			b.say("w", api.Message{Kind: api.MessageWait, InsideRequest: me, Wait: &api.WaitRequest{Agent: "b", Until: "exit", Wake: "a"}})
			b.say("r", api.Message{Kind: api.MessageRestart, InsideRequest: me})
			for range 5 { // each gets one message further, at most
				time.Sleep(time.Minute)
				r.end()
				r.start(b.use)
			}
			b.set(func() { b.dieAt = "" })
			time.Sleep(time.Minute)
			r.end()
			r.start(b.use)
			time.Sleep(time.Minute)
			if got := r.stored(); !slices.Equal(got, []string{"text 0", "text 1", "text 2"}) {
				t.Errorf("killed %s: nudges %q", step, got)
			}
			if w, err := r.l.calls.Waits(context.Background()); err != nil || len(w) != 1 {
				t.Errorf("killed %s: waits %+v, %v", step, w, err)
			}
			if n := r.starts("gc-city-a"); n != 2 || len(b.left()) > 0 {
				t.Errorf("killed %s: %d starts, left %q, refused %q", step, n, b.left(), r.refusals())
			}
			r.end()
		})
	}
}

// While a machine does not answer, nothing happens; messages that were applied but not
// deleted are not applied again.
func TestMessagesOfAMachineThatIsAway(t *testing.T) {
	bubble(t, agentsAB, func(r *rig) {
		b := newFarBox()
		r.start(b.use)
		me := r.me("a")
		b.set(func() { b.deaf = true }) // the reply arrives, the deletion is lost: a disk set back
		b.say("1", farNudge(me, "b", "one"))
		time.Sleep(time.Minute)
		b.set(func() { b.deaf, b.down, b.list = false, true, nil })
		b.say("2", farNudge(me, "b", "two"))
		time.Sleep(time.Hour)
		if got := r.stored(); !slices.Equal(got, []string{"one"}) {
			t.Errorf("while it is away: %q", got)
		}
		if n := strings.Count(r.log.String(), "no route to host"); n != 1 {
			t.Errorf("it is logged %d times", n)
		}
		b.set(func() { b.down = false })
		time.Sleep(time.Minute)
		if got := r.stored(); !slices.Equal(got, []string{"one", "two"}) || len(b.left()) > 0 {
			t.Errorf("when it is back: %q, left %q", got, b.left())
		}
		r.end()
	})
}

// A mark of an agent whose session cannot be seen waits until it can.
func TestMarkOfAnAgentThatCannotBeSeen(t *testing.T) {
	bubble(t, agentsAB, func(r *rig) {
		b := newFarBox()
		r.start(b.use)
		me := r.me("a")
		r.fake.Fail("SetMeta", "", runtime.ErrBackendUnreachable)
		b.say("1", api.Message{Kind: api.MessageRestart, InsideRequest: me})
		time.Sleep(time.Hour)
		if left := b.left(); len(left) != 1 || len(r.refusals()) > 0 {
			t.Errorf("left %q, refused %q", left, r.refusals())
		}
		r.fake.Fail("SetMeta", "", nil)
		time.Sleep(2 * time.Minute)
		if left := b.left(); len(left) > 0 || r.starts("gc-city-a") != 2 {
			t.Errorf("left %q, %d starts", left, r.starts("gc-city-a"))
		}
		r.fake.Fail("SetMeta", "", runtime.ErrBackendUnreachable)
		b.say("2", api.Message{Kind: api.MessageRestart, InsideRequest: r.me("a")})
		time.Sleep(25 * time.Hour)
		if left := b.left(); len(left) > 0 || len(r.refusals()) != 1 {
			t.Errorf("after a day: left %q, refused %q", left, r.refusals())
		}
		r.end()
	})
}

// A letter is sent once, whichever controller dies when, and can be marked as done.
func TestMailFromAnotherMachine(t *testing.T) {
	bubble(t, agentsAB, func(r *rig) {
		b := newFarBox()
		r.start(b.use)
		me := r.me("a")
		all := func() []api.Mail {
			list, err := r.l.calls.Mail(context.Background(), api.MailQuery{All: true})
			if err != nil {
				t.Fatal(err)
			}
			return list
		}
		letter := api.Message{Kind: api.MessageMail, InsideRequest: me, Mail: &api.MailRequest{ID: "key", To: "b", Subject: "see", Text: "text"}}
		b.set(func() { b.dieAt = "before the delete" })
		b.say("1", letter)
		time.Sleep(time.Minute)
		r.end()
		b.set(func() { b.dieAt = "" })
		r.start(b.use)
		b.say("2", letter) // said again: the same letter
		b.say("3", api.Message{Kind: api.MessageMail, InsideRequest: me, Mail: &api.MailRequest{ID: "own", To: "a", Text: "to myself"}})
		time.Sleep(time.Minute)
		list := all()
		if len(list) != 2 || list[0].From != "agent a" || list[0].To.Name != "b" || list[0].Subject != "see" {
			t.Fatalf("letters %+v", list)
		}
		b.say("4", api.Message{Kind: api.MessageMailAck, InsideRequest: me, Ack: []string{list[1].ID}})
		b.say("5", api.Message{Kind: api.MessageMailAck, InsideRequest: me, Ack: []string{list[0].ID}}) // not its own
		b.say("6", api.Message{Kind: api.MessageMail, InsideRequest: me, Mail: &api.MailRequest{ID: "x", To: "nobody", Text: "text"}})
		time.Sleep(time.Minute)
		if list := all(); len(list) != 2 || list[0].Done || !list[1].Done {
			t.Errorf("letters %+v", list)
		}
		if why := r.refusals(); len(why) != 2 || !strings.Contains(why[0], "no such letter") || !strings.Contains(why[1], "nobody") || len(b.left()) > 0 {
			t.Errorf("refused %q, left %q", why, b.left())
		}
		r.end()
	})
}

// On a full disk nothing is deleted; what was said takes effect once there is room.
func TestMessagesOnAFullDisk(t *testing.T) {
	if !inDiskChild(t) {
		return
	}
	bubble(t, agentsAB, func(r *rig) {
		b := newFarBox()
		r.start(b.use)
		me := r.me("a")
		defer full(t, false)
		full(t, true)
		b.say("1", farNudge(me, "b", strings.Repeat("x", 100_000)))
		b.say("2", api.Message{Kind: api.MessageMail, InsideRequest: me, Mail: &api.MailRequest{ID: "key", To: "b", Text: strings.Repeat("y", 100_000)}})
		b.say("3", farNudge(me, "b", "two"))
		time.Sleep(time.Minute)
		if left := b.left(); len(left) != 3 {
			t.Errorf("on a full disk left %q", left)
		}
		full(t, false)
		time.Sleep(time.Minute)
		if left := b.left(); len(left) > 0 {
			t.Errorf("with room left %q", left)
		}
		r.end()
		r.start(b.use)
		if got := r.stored(); len(got) != 2 || len(got[0]) != 100_000 || got[1] != "two" {
			t.Errorf("%d nudges", len(got))
		}
		if list, err := r.l.calls.Mail(context.Background(), api.MailQuery{}); err != nil || len(list) != 1 {
			t.Errorf("letters %+v, %v", list, err)
		}
		r.end()
	})
}

// Ids that are never heard of again are forgotten after a season.
func TestOldIdsAreForgotten(t *testing.T) {
	path := t.TempDir() + "/city.db"
	synctest.Test(t, func(t *testing.T) {
		s, err := session.Open(path)
		if err != nil {
			t.Fatal(err)
		}
		if err := s.Take("old").Wait(); err != nil {
			t.Fatal(err)
		}
		time.Sleep(89 * 24 * time.Hour)
		if err := s.Take("new").Wait(); err != nil {
			t.Fatal(err)
		}
		if ids, err := s.Taken(); err != nil || len(ids) != 2 {
			t.Errorf("%v, %v", ids, err)
		}
		time.Sleep(2 * 24 * time.Hour)
		if ids, err := s.Taken(); err != nil || len(ids) != 1 || !ids["new"] {
			t.Errorf("after 91 days: %v, %v", ids, err)
		}
		if err := s.Close(); err != nil {
			t.Fatal(err)
		}
	})
}

// askedBox is a farBox whose machine's programs ask the city.
type askedBox struct {
	*farBox
	answer chan func(ctx context.Context, request []byte) []byte
}

func (b *askedBox) Serve(ctx context.Context, _ string, answer func(ctx context.Context, request []byte) []byte) error {
	select {
	case b.answer <- answer:
	case <-ctx.Done():
	}
	<-ctx.Done()
	return outbox.ErrLost
}

// An agent on another machine reads its letters and sees the city, and nobody else does.
// It can do nothing else to the city.
func TestAgentsElsewhereAsk(t *testing.T) {
	bubble(t, oneAgent+strings.ReplaceAll(oneAgent, `"a"`, `"b"`), func(r *rig) {
		box := &askedBox{newFarBox(), make(chan func(context.Context, []byte) []byte)}
		r.start(func(o *Options) {
			o.Outboxes = func(*config.City) []outbox.Outbox { return []outbox.Outbox{box} }
		})
		answer := <-box.answer
		ctx := context.Background()
		ask := func(ctx context.Context, request []byte) ([]byte, error) { return answer(ctx, request), nil }
		a := api.NewFarClient(r.me("a"), ask)
		r.send("k", "a")
		r.send("l", "b")
		if list, err := a.Mail(ctx, api.MailQuery{}); err != nil || len(list) != 1 || !list[0].Unread {
			t.Errorf("listed %+v, %v", list, err)
		}
		q := api.MailQuery{InsideRequest: api.InsideRequest{Agent: "b", Token: r.token("b")}} // does not count
		if read, err := a.ReadMail(ctx, q); err != nil || len(read.Letters) != 1 || read.Letters[0].Text != "text of k" {
			t.Errorf("read %+v, %v", read, err)
		}
		if list, err := r.l.calls.Mail(ctx, api.MailQuery{InsideRequest: r.me("a"), Unread: true}); err != nil || len(list) != 0 {
			t.Errorf("unread after it was read: %+v, %v", list, err)
		}
		if err := a.AckMail(ctx, api.MailQuery{IDs: []string{"1"}}); err != nil {
			t.Error(err)
		}
		if err := a.AckMail(ctx, api.MailQuery{IDs: []string{"2"}}); !errors.Is(err, api.ErrNoLetter) {
			t.Errorf("another's letter: %v", err)
		}
		if _, err := a.ReadMail(ctx, api.MailQuery{Of: "b"}); err == nil {
			t.Error("a read b's mail")
		}
		if st, err := a.Status(ctx); err != nil || len(st.Agents) != 2 || st.City != "city" {
			t.Errorf("status %+v, %v", st, err)
		}
		if err := a.Restart(ctx, "b"); err == nil || !strings.Contains(err.Error(), "cannot ask for") || r.starts("gc-city-b") != 1 {
			t.Errorf("a restart: %v", err)
		}
		for _, who := range []api.InsideRequest{{}, {Agent: "a"}, {Agent: "a", Token: "guess"}, {Agent: "nobody", Token: r.token("a")}} {
			c := api.NewFarClient(who, ask)
			if _, err := c.Status(ctx); err == nil {
				t.Errorf("%+v sees the city", who)
			}
			if _, err := c.ReadMail(ctx, api.MailQuery{}); err == nil {
				t.Errorf("%+v reads mail", who)
			}
		}
		for _, junk := range []string{"", "{}", "7", `{"agent":"a","method":"POST","path":"/v1/mail/read","body":7}`} {
			if b := answer(ctx, []byte(junk)); !strings.Contains(string(b), `"error"`) {
				t.Errorf("%q is answered %s", junk, b)
			}
		}
		away := api.NewFarClient(r.me("a"), func(context.Context, []byte) ([]byte, error) { return nil, api.ErrAway })
		if _, err := away.Status(ctx); !errors.Is(err, api.ErrAway) || err.Error() != api.ErrAway.Error() {
			t.Errorf("away: %v", err)
		}
		r.end()
	})
}

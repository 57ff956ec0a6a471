package controller

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"gascity.dev/gc/internal/controller/api"
	"gascity.dev/gc/internal/mail"
	"gascity.dev/gc/internal/session"
)

// send sends a letter with an id of its own.
func (r *rig) send(id, to string) mail.Letter {
	r.t.Helper()
	l, err := r.l.calls.SendMail(context.Background(), api.MailRequest{ID: id, To: to, Text: "text of " + id})
	if err != nil {
		r.t.Fatalf("send %s: %v", id, err)
	}
	return l
}

// notices waits until all is quiet and returns the parts of the notices that say which
// letters they are about.
func (r *rig) notices() (out []string) {
	r.t.Helper()
	for _, text := range r.nudges() {
		_, rest, _ := strings.Cut(text, "You have mail: ")
		about, _, _ := strings.Cut(rest, ", from ")
		out = append(out, about)
	}
	return out
}

func (r *rig) token(name string) (token string) {
	r.t.Helper()
	if err := r.l.do(context.Background(), func() { token = r.l.agents.named(name).seen.Record.Token }); err != nil {
		r.t.Fatal(err)
	}
	return token
}

func TestAgentsAreToldOnceAboutAllNewMail(t *testing.T) {
	bubble(t, oneAgent, func(r *rig) {
		r.start()
		for n := range 3 {
			r.send(fmt.Sprint("k", n), "a")
		}
		if again, first := r.send("k0", "a"), "1"; mail.ShortID(again.ID) != first {
			t.Errorf("the same id is letter %s", again.ID)
		}
		wantLines(t, r.notices(), []string{"3 new letters, 1 to 3"})
		r.send("later", "a")
		wantLines(t, r.notices(), []string{"3 new letters, 1 to 3", "1 new letter, 4"})
		r.end()
		r.start()
		wantLines(t, r.notices(), []string{"3 new letters, 1 to 3", "1 new letter, 4"})
		list, err := r.l.calls.Mail(context.Background(), api.MailQuery{Of: "a"})
		if err != nil || len(list) != 4 || !list[3].Unread {
			t.Errorf("%+v, %v", list, err)
		}
		r.end()
	})
}

func TestMailWaitsForItsAgent(t *testing.T) {
	never := strings.ReplaceAll(oneAgent, `"a"`, `"b"`) + "mail = \"never\"\n"
	bubble(t, oneAgent+never, func(r *rig) {
		r.start()
		if err := r.l.calls.StopAgents(context.Background(), []string{"a"}); err != nil {
			t.Fatal(err)
		}
		r.send("k", "a")
		r.send("l", "b")
		wantLines(t, r.notices(), nil)
		if err := r.l.calls.Restart(context.Background(), []string{"a"}); err != nil {
			t.Fatal(err)
		}
		wantLines(t, r.notices(), []string{"1 new letter, 1"})
		r.end()
	})
}

// The sender is who the token proves, and a token of an earlier instance sends nothing.
func TestSenderIsProved(t *testing.T) {
	bubble(t, oneAgent, func(r *rig) {
		r.start()
		ctx, token := context.Background(), r.token("a")
		q := api.MailRequest{InsideRequest: api.InsideRequest{Agent: "a", Token: token}, ID: "k", To: "a", Text: "x"}
		if l, err := r.l.calls.SendMail(ctx, q); err != nil || l.From != "agent a" {
			t.Errorf("with its token: from %q, %v", l.From, err)
		}
		q.ID, q.Token = "l", "stale"
		if _, err := r.l.calls.SendMail(ctx, q); !errors.Is(err, api.ErrEarlierInstance) {
			t.Errorf("with a stale token: %v", err)
		}
		q.ID, q.InsideRequest = "m", api.InsideRequest{Agent: "a"}
		if l, err := r.l.calls.SendMail(ctx, q); err != nil || l.From != byUnknown {
			t.Errorf("with a name alone: from %q, %v", l.From, err)
		}
		if _, err := r.l.calls.SendMail(ctx, api.MailRequest{ID: "n", To: "nobody", Text: "x"}); !errors.Is(err, api.ErrUnknownAgent) {
			t.Errorf("to nobody: %v", err)
		}
		r.end()
	})
}

// An id is of its sender: another agent's letter with the same one is another letter.
func TestIDsAreOfTheirSenders(t *testing.T) {
	two := oneAgent + strings.ReplaceAll(oneAgent, `"a"`, `"b"`)
	bubble(t, two, func(r *rig) {
		r.start()
		seen := map[string]bool{}
		for _, sender := range []string{"", "a", "b", "b"} {
			q := api.MailRequest{ID: "k", To: "a", Text: "x"}
			if sender != "" {
				q.InsideRequest = api.InsideRequest{Agent: sender, Token: r.token(sender)}
			}
			l, err := r.l.calls.SendMail(context.Background(), q)
			if err != nil {
				t.Fatal(err)
			}
			seen[l.ID] = true
		}
		if len(seen) != 3 {
			t.Errorf("%d letters", len(seen))
		}
		r.end()
	})
}

// What is read before the notice is typed is in no notice; reading by others changes
// nothing, and an agent sees only its own mail.
func TestReadingAndAcknowledging(t *testing.T) {
	two := oneAgent + strings.ReplaceAll(oneAgent, `"a"`, `"b"`)
	bubble(t, two, func(r *rig) {
		r.start()
		ctx := context.Background()
		me := api.MailQuery{InsideRequest: api.InsideRequest{Agent: "a", Token: r.token("a")}}
		r.send("k", "a")
		if got, err := r.l.calls.ReadMail(ctx, api.MailQuery{Of: "a"}); err != nil || len(got.Letters) != 1 || got.Letters[0].Text != "text of k" {
			t.Errorf("a person reads %+v, %v", got, err)
		}
		if got, err := r.l.calls.ReadMail(ctx, me); err != nil || len(got.Letters) != 1 {
			t.Errorf("the agent reads %+v, %v", got, err)
		}
		if got, err := r.l.calls.ReadMail(ctx, me); err != nil || len(got.Letters) != 0 {
			t.Errorf("again %+v, %v", got, err)
		}
		wantLines(t, r.notices(), nil)
		other := me
		other.Of = "b"
		if _, err := r.l.calls.Mail(ctx, other); err == nil {
			t.Error("an agent sees another's mail")
		}
		me.IDs = []string{"1"}
		if err := r.l.calls.AckMail(ctx, me); err != nil {
			t.Error(err)
		}
		if list, err := r.l.calls.Mail(ctx, api.MailQuery{Of: "a"}); err != nil || len(list) != 0 {
			t.Errorf("after the ack %+v, %v", list, err)
		}
		me.IDs = []string{"2"}
		if err := r.l.calls.AckMail(ctx, me); !errors.Is(err, api.ErrNoLetter) {
			t.Errorf("unknown letter: %v", err)
		}
		r.end()
	})
}

// A controller that dies while it types a notice leaves a claim: the next one types it
// unless the screen shows it.
func TestNoticeOfADeadController(t *testing.T) {
	for _, shown := range []bool{false, true} {
		bubble(t, oneAgent, func(r *rig) {
			r.start()
			r.fake.Hang("Nudge", "gc-city-a", true)
			r.send("k", "a")
			time.Sleep(time.Minute)
			synctest.Wait()
			r.end()
			r.fake.Hang("Nudge", "gc-city-a", false)
			store, err := session.Open(filepath.Join(r.dir, ".gc", "city.db"))
			if err != nil {
				t.Fatal(err)
			}
			boxes, err := store.Boxes()
			if box := boxes["a"]; err != nil || !box.Claimed() {
				t.Fatalf("the box is %+v, %v", box, err)
			}
			if err := store.Close(); err != nil {
				t.Fatal(err)
			}
			if shown {
				r.fake.SetPeek("gc-city-a", "You have mail … "+mail.Tag(boxes["a"].Batch)+"\n> ")
			}
			r.fake.ForgetCalls()
			r.start()
			want := []string{"1 new letter, 1"}
			if shown {
				want = nil
			}
			wantLines(t, r.notices(), want)
			if got := r.audited(api.EventMail); len(got) != 2 || !strings.HasPrefix(got[1], "mail told: up to letter 1") {
				t.Errorf("shown %v: %q", shown, got)
			}
			r.end()
		})
	}
}

// 10,000 letters from many senders at once are one notice or a few, and are all there
// after a restart.
func TestTenThousandLetters(t *testing.T) {
	bubble(t, oneAgent, func(r *rig) {
		const count, senders = 10_000, 500
		r.start()
		var all sync.WaitGroup
		for s := range senders {
			all.Go(func() {
				for n := range count / senders {
					r.send(fmt.Sprint(s, "-", n), "a")
				}
			})
		}
		all.Wait()
		if got := r.notices(); len(got) == 0 || len(got) > 20 {
			t.Errorf("%d notices", len(got))
		}
		r.end()
		r.start()
		list, err := r.l.calls.Mail(context.Background(), api.MailQuery{Of: "a"})
		if err != nil || len(list) != count {
			t.Errorf("%d letters, %v", len(list), err)
		}
		r.end()
	})
}

// The longest letter arrives whole, with its control sequences; a longer one is refused.
func TestLongLetters(t *testing.T) {
	bubble(t, oneAgent, func(r *rig) {
		r.start()
		ctx := context.Background()
		long := strings.Repeat("\x1b", mail.MaxText)
		if _, err := r.l.calls.SendMail(ctx, api.MailRequest{ID: "k", To: "a", Text: long}); err != nil {
			t.Fatal(err)
		}
		r.send("l", "a")
		if _, err := r.l.calls.SendMail(ctx, api.MailRequest{ID: "m", To: "a", Text: long + "x"}); !errors.Is(err, mail.ErrLetter) {
			t.Errorf("too long: %v", err)
		}
		got, err := r.l.calls.ReadMail(ctx, api.MailQuery{Of: "a"})
		if err != nil || len(got.Letters) != 1 || got.Letters[0].Text != long || got.More != 1 {
			t.Errorf("read %d letters, %d more, %v", len(got.Letters), got.More, err)
		}
		for _, text := range r.nudges() {
			if strings.Contains(text, "\x1b") {
				t.Errorf("typed %.80q", text)
			}
		}
		r.end()
	})
}

// A letter that cannot be stored is refused, and is not there once there is space.
func TestMailOnAFullDisk(t *testing.T) {
	if !inDiskChild(t) {
		return
	}
	bubble(t, oneAgent, func(r *rig) {
		r.start()
		ctx := context.Background()
		defer full(t, false)
		full(t, true)
		if l, err := r.l.calls.SendMail(ctx, api.MailRequest{ID: "k", To: "a", Text: "x"}); err == nil || api.Hint(err) == "" {
			t.Errorf("%+v, %v", l, err)
		}
		full(t, false)
		wantLines(t, r.notices(), nil)
		for _, what := range []string{"with room", "after a restart"} {
			if list, err := r.l.calls.Mail(ctx, api.MailQuery{}); err != nil || len(list) > 0 {
				t.Errorf("%s: %+v, %v", what, list, err)
			}
			r.end()
			r.start()
		}
		l := r.send("k", "a") // its sender tries again
		wantLines(t, r.notices(), []string{"1 new letter, " + mail.ShortID(l.ID)})
		r.end()
	})
}

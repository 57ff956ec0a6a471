package exec

import (
	"errors"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"gascity.dev/gc/internal/delivery"
	"gascity.dev/gc/internal/process"
	"gascity.dev/gc/mux/api"
	"gascity.dev/gc/store"
)

func TestTimeLimits(t *testing.T) {
	tests := []struct {
		name   string
		r      api.ExecRequest
		reason string
		after  time.Duration
	}{
		{"timeout", api.ExecRequest{Timeout: api.Millis(5 * time.Second), Background: true}, process.IntentTimeout, 5 * time.Second},
		{"idle timeout", api.ExecRequest{IdleTimeout: api.Millis(3 * time.Second), Background: true}, process.IntentIdle, 3 * time.Second},
		{"of the foreground", api.ExecRequest{}, process.IntentTimeout, foregroundTimeout},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				h := newHost(t)
				cmd, s := h.run(t, tt.r)
				res, err := cmd.Wait(t.Context(), "", 0)
				if err != nil || res.Status != process.TimedOut || res.Reason != tt.reason || time.Duration(res.Duration) != tt.after {
					t.Errorf("%+v, %v", res, err)
				}
				if s.killed != DefaultGrace {
					t.Errorf("killed after %s", s.killed)
				}
			})
		})
	}
}

// TestEndIsOneWrite: while the disk is full, waiters get the end although none
// of it is on disk; afterwards all of it is.
func TestEndIsOneWrite(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := newHost(t)
		cmd, s := h.run(t, api.ExecRequest{Background: true, Owner: "owner"})
		h.setFull(true)
		go s.exit(3, "")
		res, err := cmd.Wait(t.Context(), "somebody", 0)
		if err != nil || res.Status != process.Failed || *res.ExitCode != 3 {
			t.Errorf("%+v, %v", res, err)
		}
		saved := func() (rec process.Record, event, deliver bool) {
			t.Helper()
			synctest.Wait()
			err := h.db.View(func(tx *store.Tx) error {
				all, err := process.Store{}.Records(tx)
				if err != nil || len(all) != 1 {
					return errors.Join(err, errors.New("not one record"))
				}
				rec = all[0]
				if _, event, err = (process.Store{}).Event(tx, eventID(cmd.ID())); err != nil {
					return err
				}
				_, deliver, err = process.Store{}.Delivery(tx, eventID(cmd.ID()))
				return err
			})
			if err != nil {
				t.Fatal(err)
			}
			return rec, event, deliver
		}
		if rec, event, deliver := saved(); rec.Status != process.Running || event || deliver {
			t.Errorf("on a full disk: %s, event %t, delivery %t", rec.Status, event, deliver)
		}
		if got := h.published(); !slices.Equal(got, []string{process.EventStarted}) {
			t.Errorf("published before it was saved: %q", got)
		}
		h.setFull(false)
		time.Sleep(saveRetryMax)
		if rec, event, deliver := saved(); rec.Status != process.Failed || !event || !deliver {
			t.Errorf("afterwards: %s, event %t, delivery %t", rec.Status, event, deliver)
		}
		if got := h.published(); !slices.Equal(got, []string{process.EventStarted, process.EventFailed}) {
			t.Errorf("published: %q", got)
		}
	})
}

// TestCommandWaitsForItsReader: output stays in the program while its caller
// lags by a window, and is read again when the caller catches up or leaves.
func TestCommandWaitsForItsReader(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := newHost(t)
		cmd, s := h.run(t, api.ExecRequest{Follow: true})
		next, left := make(chan struct{}), make(chan error)
		go func() {
			left <- cmd.Follow(t.Context(), 0, "", func(api.ExecResult) error {
				if _, more := <-next; !more {
					return errors.New("the caller leaves")
				}
				return nil
			})
		}()
		const most = 16 << 20
		if n := s.write(most); n != FlowWindow {
			t.Fatalf("%d bytes without a reader", n)
		}
		next <- struct{}{} // "running"
		synctest.Wait()
		next <- struct{}{} // the first bytes
		synctest.Wait()
		if s.resumes() == 0 {
			t.Error("the session was not read again")
		}
		if n := s.write(most); n != followBytes {
			t.Errorf("%d bytes after the caller took %d", n, followBytes)
		}
		close(next)
		if err := <-left; err != nil {
			t.Error(err)
		}
		if !s.out.Full(false) {
			t.Error("the command does not wait for a caller that may come back")
		}
		before := s.resumes()
		time.Sleep(flowAway)
		synctest.Wait()
		if n := s.write(most); n != most || s.resumes() == before {
			t.Errorf("%d bytes without the caller, resumed %d times", n, s.resumes()-before)
		}
		s.exit(0, "")
	})
}

// TestDelivery: the owner's receipt and screen decide the state of the
// delivery.
func TestDelivery(t *testing.T) {
	tests := []struct {
		name   string
		result delivery.Result
		shown  bool // the message is in the owner's history
		want   process.DeliveryState
	}{
		{"submitted", delivery.Submitted, false, process.Delivered},
		{"blocked", delivery.NotSubmitted, false, process.Pending},
		{"the program ended, but shows it", delivery.NotSubmitted, true, process.Delivered},
		{"unverified", delivery.Unverified, false, process.Dead},
		{"unverified, but shown", delivery.Unverified, true, process.Delivered},
		{"taken back, and in the history", delivery.Withdrawn, true, process.Pending},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				h := newHost(t)
				cmd, s := h.run(t, api.ExecRequest{Background: true, Owner: "owner"})
				s.exit(0, "")
				if d := h.delivery(t, cmd); d.State != process.Pending || d.Tries != 0 {
					t.Fatalf("without the owner: %+v", d)
				}
				o := &fakeOwner{name: "owner", result: tt.result}
				if tt.shown {
					o.history = process.Tag(eventID(cmd.ID())) + "\n"
				}
				h.enter(o)
				time.Sleep(900 * time.Millisecond) // the screen is checked, and there is no second try yet
				if d := h.delivery(t, cmd); d.State != tt.want || d.Tries != 1 {
					t.Errorf("%+v", d)
				}
				if got := o.messages(); len(got) != 1 || !strings.Contains(got[0], process.Tag(eventID(cmd.ID()))) {
					t.Errorf("typed %q", got)
				}
			})
		})
	}
}

// TestDeliveryIsRetried: a message that was not submitted is typed again after a pause.
func TestDeliveryIsRetried(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := newHost(t)
		o := &fakeOwner{name: "owner", result: delivery.Withdrawn}
		h.enter(o)
		cmd, s := h.run(t, api.ExecRequest{Background: true, Owner: "owner"})
		s.exit(0, "")
		time.Sleep(100 * time.Millisecond) // the first try
		o.mu.Lock()
		o.result = delivery.Submitted
		o.mu.Unlock()
		time.Sleep(5 * time.Second)
		if d := h.delivery(t, cmd); d.State != process.Delivered || len(o.messages()) != 2 {
			t.Errorf("%+v, typed %q", d, o.messages())
		}
	})
}

// TestDeliveryAfterACrash: the next server asks what became of the message that the
// last one was typing, and types it only if no byte of it was typed.
func TestDeliveryAfterACrash(t *testing.T) {
	for name, typed := range map[string]bool{"typed": true, "not typed": false} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				h := newHost(t)
				cmd, s := h.run(t, api.ExecRequest{Background: true, Owner: "owner"})
				s.exit(0, "")
				o := &fakeOwner{name: "owner"}
				batch, events, text := h.commands.completions.take(o.ID(), "owner", "")
				if len(events) != 1 {
					t.Fatalf("took %q", events)
				}
				if typed {
					if _, err := o.Type(t.Context(), batch, text); err != nil {
						t.Fatal(err)
					}
					o.outcomes[batch] = delivery.Outcome{Result: delivery.Submitted}
				}
				o.result = delivery.Submitted
				h.stop()
				h.start(t)
				h.enter(o)
				time.Sleep(5 * time.Second)
				got := o.messages()
				if d := h.delivery(t, cmd); d.State != process.Delivered || len(got) != 1 || got[0] != text {
					t.Errorf("%+v, typed %q, want %q", d, got, text)
				}
			})
		})
	}
}

// TestCallerWhoSeesTheEndIsNotNotified: an owner that waits for the end gets no
// message; another caller's wait does not count.
func TestCallerWhoSeesTheEndIsNotNotified(t *testing.T) {
	for caller, want := range map[string]process.DeliveryState{"owner": process.Consumed, "another": process.Delivered} {
		t.Run(caller, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				h := newHost(t)
				o := &fakeOwner{name: "owner", result: delivery.Submitted}
				h.enter(o)
				cmd, s := h.run(t, api.ExecRequest{Background: true, Owner: "owner"})
				ended := make(chan error)
				go func() {
					_, err := cmd.Wait(t.Context(), caller, 0)
					ended <- err
				}()
				synctest.Wait()
				s.exit(0, "")
				if err := <-ended; err != nil {
					t.Fatal(err)
				}
				time.Sleep(time.Second)
				if d := h.delivery(t, cmd); d.State != want {
					t.Errorf("%+v", d)
				}
			})
		})
	}
}

// TestNothingIsTypedDuringAWait: the end is delivered only after the
// last caller that waits for it has left.
func TestNothingIsTypedDuringAWait(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := newHost(t)
		o := &fakeOwner{name: "owner", result: delivery.Submitted}
		h.enter(o)
		cmd, s := h.run(t, api.ExecRequest{Background: true, Owner: "owner"})
		leave, left := make(chan struct{}), make(chan error)
		go func() {
			left <- cmd.Follow(t.Context(), 0, "another", func(res api.ExecResult) error {
				if res.Status.Ended() {
					<-leave
				}
				return nil
			})
		}()
		synctest.Wait()
		s.exit(0, "")
		time.Sleep(time.Second)
		if got := o.messages(); len(got) != 0 {
			t.Errorf("typed %q while a caller waits", got)
		}
		close(leave)
		if err := <-left; err != nil {
			t.Fatal(err)
		}
		time.Sleep(time.Second)
		if d := h.delivery(t, cmd); d.State != process.Delivered {
			t.Errorf("after it left: %+v", d)
		}
	})
}

// TestLost: a command whose session is gone when a server starts is lost, and its owner
// learns of it.
func TestLost(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := newHost(t)
		gone, _ := h.run(t, api.ExecRequest{Background: true, Owner: "owner"})
		kept, s := h.run(t, api.ExecRequest{Background: true, Owner: "owner"})
		h.stop()
		h.Forget(gone.ID())
		h.start(t)
		synctest.Wait()
		list := h.commands.List("owner", true)
		if len(list) != 2 || list[0].Status != process.Lost || list[1].Status != process.Running {
			t.Fatalf("%+v", list)
		}
		if d := h.delivery(t, gone); d.State != process.Pending {
			t.Errorf("delivery of the lost one: %+v", d)
		}
		s.exit(0, "")
		if cmd, err := h.commands.Find(kept.ID()); err != nil || cmd.Result().Status != process.Completed {
			t.Errorf("the other one: %v", err)
		}
	})
}

// TestOldCommandsAreRemoved: after a day every trace of a command is gone.
func TestOldCommandsAreRemoved(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := newHost(t)
		cmd, s := h.run(t, api.ExecRequest{Background: true})
		s.exit(0, "")
		time.Sleep(process.KeepMost + time.Minute)
		synctest.Wait()
		if _, err := h.commands.Find(cmd.ID()); !errors.Is(err, api.ErrNotFound) {
			t.Errorf("the command: %v", err)
		}
		if _, ok := h.Find(cmd.ID()); ok {
			t.Error("its session is left")
		}
	})
}

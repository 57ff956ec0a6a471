package server

import "testing"

// TestOnesSentAwayCountNoMore: what a client sent before it knew that it was
// disconnected, or had left, changes neither the size nor its owner.
func TestOnesSentAwayCountNoMore(t *testing.T) {
	b := newJournalBench(t)
	join := func(cols int, alone bool) *attachClient {
		c := newAttachClient(b.s, cols, 20)
		c.alone = alone
		b.s.clients.join(c)
		return c
	}
	old := join(70, false)
	now := join(90, true)
	check := func(after string) {
		t.Helper()
		b.s.mu.Lock()
		defer b.s.mu.Unlock()
		if b.s.clients.sizeOwner != now || b.s.screen.cols != 90 {
			t.Errorf("%s: %d columns, and the new terminal's size counts: %v", after, b.s.screen.cols, b.s.clients.sizeOwner == now)
		}
	}
	check("one joins alone")
	late := func() {
		t.Helper()
		if err := old.in.typed(t.Context(), []byte("x")); err != nil {
			t.Error(err)
		}
		check("a key")
		if err := old.carryOut([]byte(`{"type":"resize","cols":60,"rows":20}`)); err != nil {
			t.Error(err)
		}
		check("a size")
	}
	late()
	b.s.clients.leave(old)
	late()
	b.s.clients.leave(now)
	last := newAttachClient(b.s, 50, 20)
	last.kicked = true
	if last.carryOut([]byte(`{"type":"resize","cols":61,"rows":20}`)) != nil || b.s.clients.sizeOwner != nil {
		t.Error("the size of one that was sent away counts again")
	}
}

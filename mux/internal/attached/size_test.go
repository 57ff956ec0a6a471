package attached

import "testing"

// TestDetachedClientsDoNotCount: what a client sent before it knew that it was
// disconnected, or had left, changes neither the size nor its owner, and is not typed.
func TestDetachedClientsDoNotCount(t *testing.T) {
	s := newFake(t)
	join := func(cols int, alone bool) *client {
		c := newClient(&s.clients, cols, 20)
		c.alone = alone
		s.clients.join(c)
		return c
	}
	old := join(70, false)
	now := join(90, true)
	check := func(after string) {
		t.Helper()
		if s.clients.sizeOwner != now || s.cols() != 90 {
			t.Errorf("%s: %d columns, and the new terminal's size counts: %v", after, s.cols(), s.clients.sizeOwner == now)
		}
	}
	check("one joins alone")
	late := func() {
		t.Helper()
		if err := old.in.typed(t.Context(), []byte("x")); err != nil {
			t.Error(err)
		}
		check("a key")
		if len(s.typed) > 0 {
			t.Errorf("%q was typed", s.typed)
		}
		if err := old.carryOut([]byte(`{"type":"resize","cols":60,"rows":20}`)); err != nil {
			t.Error(err)
		}
		check("a size")
	}
	late()
	s.clients.leave(old)
	late()
	s.clients.leave(now)
	last := newClient(&s.clients, 50, 20)
	last.kicked = true
	if last.carryOut([]byte(`{"type":"resize","cols":61,"rows":20}`)) != nil || s.clients.sizeOwner != nil {
		t.Error("the size of a detached client counts again")
	}
}

// TestSizeOfAReturningClient: a client whose connection was lost, and not the server, gets
// its size back; after a restart of the server, only the one whose size was kept does.
func TestSizeOfAReturningClient(t *testing.T) {
	s := newFake(t)
	first := newClient(&s.clients, 70, 20)
	s.clients.join(first)
	s.clients.leave(first)
	if s.cols() != 80 {
		t.Fatalf("%d columns without a client", s.cols())
	}
	again := newClient(&s.clients, 70, 20)
	again.out.back = &place{offset: 1 << 60}
	s.clients.join(again)
	if s.clients.sizeOwner != again || s.cols() != 70 {
		t.Errorf("%d columns", s.cols())
	}

	restarted := newFake(t)
	if err := restarted.Resize(70, 20); err != nil { // kept
		t.Fatal(err)
	}
	other := newClient(&restarted.clients, 90, 20)
	other.out.back = &place{offset: 1 << 60}
	restarted.clients.join(other)
	if restarted.clients.sizeOwner != nil || restarted.cols() != 70 {
		t.Errorf("another client took the size: %d columns", restarted.cols())
	}
}

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

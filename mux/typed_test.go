package mux

import "testing"

// TestTypist: how far a client's input came is known to the next server, until
// too many others came; what was being written at a kill is settled and told.
func TestTypist(t *testing.T) {
	b := newJournalBench(t)
	at := func(id uint64) *typist {
		t.Helper()
		m, err := b.s.j.typist(id)
		if err != nil {
			t.Fatal(err)
		}
		return m
	}
	m := at(7)
	if m.known || m.next != 0 {
		t.Fatalf("a new client: %+v", m)
	}
	m.begin(10)
	m.end(4)
	m.skip(3)
	if m = at(7); !m.known || m.done != 7 || m.next != 7 {
		t.Errorf("after 4 bytes and 3 that nobody was to have: %+v", m.typedMark)
	}
	m.begin(5)
	if m = at(7); m.done != 7 || m.next != 12 {
		t.Errorf("killed within a write of 5: %+v", m.typedMark)
	}
	m.begin(1)
	m.end(1)
	if m = at(7); m.done != 13 || m.next != 13 {
		t.Errorf("one byte more: %+v", m.typedMark)
	}
	for id := uint64(100); id < 100+typedMarks-1; id++ {
		at(id)
	}
	if !at(7).known {
		t.Error("it is forgotten although there was room")
	}
	for id := uint64(200); id < 200+typedMarks; id++ {
		at(id)
	}
	if at(7).known || !at(200+typedMarks-1).known {
		t.Error("not the oldest one is forgotten")
	}
}

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

// TestKeptInput: what a server took is not sent again, and what it did not take
// is, behind whatever was sent before.
func TestKeptInput(t *testing.T) {
	var k keptInput
	if got := k.resume(typedSoFar{known: true}, nil); len(got) > 0 {
		t.Errorf("at first %q is sent", got)
	}
	k.add([]byte("abc"))
	k.add([]byte("defg"))
	k.taken(2)
	if got := string(k.resume(typedSoFar{known: true, taken: 4, lost: 1}, []byte("defg"))); got != "efg" || k.lost != 1 {
		t.Errorf("4 were taken: %q is sent, %d lost", got, k.lost)
	}
	k.add([]byte("h"))
	if got := string(k.resume(typedSoFar{known: true, taken: 4, lost: 1}, nil)); got != "efgh" || k.lost != 1 {
		t.Errorf("the same again: %q is sent, %d lost", got, k.lost)
	}
	if got := string(k.resume(typedSoFar{}, []byte("h"))); got != "h" {
		t.Errorf("a server that does not count: %q is sent", got)
	}
	k.add([]byte("i"))
	if got := string(k.resume(typedSoFar{known: true, taken: 2}, []byte("i"))); got != "i" || k.base != 2 {
		t.Errorf("one that counts again: %q is sent, from %d", got, k.base)
	}
}

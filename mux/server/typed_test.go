package server

import (
	"testing"

	"gascity.dev/gc/mux/journal"
)

// TestTypist: the next server knows how much of a client's input arrived,
// unless too many other clients followed. A write during the kill is resolved
// and reported.
func TestTypist(t *testing.T) {
	b := newJournalBench(t)
	at := func(id uint64) *journal.Typist {
		t.Helper()
		m, err := b.s.storage.journal.Typist(id)
		if err != nil {
			t.Fatal(err)
		}
		return m
	}
	m := at(7)
	if m.Known || m.Next != 0 {
		t.Fatalf("a new client: %+v", m)
	}
	m.Begin(10)
	m.End(4)
	m.Skip(3)
	if m = at(7); !m.Known || m.Done != 7 || m.Next != 7 {
		t.Errorf("after 4 bytes and 3 skipped ones: %+v", m.TypedEntry)
	}
	m.Begin(5)
	if m = at(7); m.Done != 7 || m.Next != 12 {
		t.Errorf("killed within a write of 5: %+v", m.TypedEntry)
	}
	m.Begin(1)
	m.End(1)
	if m = at(7); m.Done != 13 || m.Next != 13 {
		t.Errorf("one byte more: %+v", m.TypedEntry)
	}
	for id := uint64(100); id < 100+journal.TypedClients-1; id++ {
		at(id)
	}
	if !at(7).Known {
		t.Error("it is forgotten although there was space")
	}
	for id := uint64(200); id < 200+journal.TypedClients; id++ {
		at(id)
	}
	if at(7).Known || !at(200+journal.TypedClients-1).Known {
		t.Error("not the oldest one is forgotten")
	}
}

package attach

import (
	"slices"

	"gascity.dev/gc/mux/client"
)

// keptInput is input that may have to be sent again if the server dies.
type keptInput struct {
	on     bool   // the server counts input
	base   uint64 // number of the first byte kept
	bytes  []byte
	lost   uint64 // bytes that may be lost
	lostAt uint64 // where the last of them were
}

// resume takes what a server says when it connects and returns what to send first.
// unsent is input that could not be written.
func (k *keptInput) resume(so client.Typed, unsent []byte) []byte {
	if so.Lost > 0 && so.Taken != k.lostAt {
		k.lost, k.lostAt = k.lost+so.Lost, so.Taken
	}
	rest := unsent
	if k.on && so.Known && so.Taken >= k.base && so.Taken-k.base <= uint64(len(k.bytes)) {
		rest = k.bytes[so.Taken-k.base:]
	}
	k.on, k.base, k.bytes = so.Known, so.Taken, nil
	k.add(rest)
	return slices.Clone(rest)
}

// add keeps input that is about to be sent.
func (k *keptInput) add(p []byte) {
	if k.on {
		k.bytes = append(k.bytes, p...)
	}
}

// taken forgets the input up to byte n, which arrived.
func (k *keptInput) taken(n uint64) {
	if n > k.base && n-k.base <= uint64(len(k.bytes)) {
		k.base, k.bytes = n, append([]byte(nil), k.bytes[n-k.base:]...)
	}
}

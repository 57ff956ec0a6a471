package client

import (
	"context"
	"fmt"
	"math/rand/v2"
	"net/http"
	"slices"

	"gascity.dev/gc/mux/api"
	"github.com/coder/websocket"
)

// maxTyped bounds one message of input.
const maxTyped = 32 << 10

// typedSoFar is what a server says of a client's input when it connects.
type typedSoFar struct {
	known bool   // a server from before says nothing
	taken uint64 // bytes that need not be sent again
	lost  uint64 // of the last of them, those that may not have arrived
}

func readTyped(h http.Header) (t typedSoFar) {
	n, _ := fmt.Sscanf(h.Get(api.TypedHeader), "%d %d", &t.taken, &t.lost)
	t.known = n == 2
	return t
}

// newClientID numbers an attachment; never 0.
func newClientID() string { return fmt.Sprintf("%x", max(rand.Uint64(), 1)) }

// keptInput is what was typed and may have to be sent again, guarded by the
// attachment's mu.
type keptInput struct {
	on     bool   // the server counts
	base   uint64 // number of the first byte kept
	bytes  []byte
	lost   uint64 // bytes that may be lost
	lostAt uint64 // where the last of them were
}

// resume takes what a server says and returns what is to be sent first. unsent is
// what could not be written.
func (k *keptInput) resume(so typedSoFar, unsent []byte) []byte {
	if so.lost > 0 && so.taken != k.lostAt {
		k.lost, k.lostAt = k.lost+so.lost, so.taken
	}
	rest := unsent
	if k.on && so.known && so.taken >= k.base && so.taken-k.base <= uint64(len(k.bytes)) {
		rest = k.bytes[so.taken-k.base:]
	}
	k.on, k.base, k.bytes = so.known, so.taken, nil
	k.add(rest)
	return slices.Clone(rest)
}

// add keeps what is about to be sent.
func (k *keptInput) add(p []byte) {
	if k.on {
		k.bytes = append(k.bytes, p...)
	}
}

// taken forgets what arrived.
func (k *keptInput) taken(n uint64) {
	if n > k.base && n-k.base <= uint64(len(k.bytes)) {
		k.base, k.bytes = n, append([]byte(nil), k.bytes[n-k.base:]...)
	}
}

// resend sends what the last connection did not bring to the program.
func (a *attachment) resend(ctx context.Context, conn *websocket.Conn) error {
	a.mu.Lock()
	rest := a.kept.resume(a.session.typed(), a.unsent)
	a.mu.Unlock()
	a.unsent = nil
	for len(rest) > 0 {
		part := rest[:min(len(rest), maxTyped)]
		if err := a.write(ctx, conn, part); err != nil {
			a.unsent = rest
			return err
		}
		rest = rest[len(part):]
	}
	return nil
}

// typed sends input.
func (a *attachment) typed(ctx context.Context, conn *websocket.Conn, p []byte) error {
	a.mu.Lock()
	a.kept.add(p)
	a.mu.Unlock()
	err := a.write(ctx, conn, p)
	if err != nil {
		a.unsent = p
	}
	return err
}

// lost is how many bytes that were typed may not have arrived.
func (a *attachment) lost() uint64 {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.kept.lost
}

package attach

import (
	"context"
	"fmt"
	"math/rand/v2"
	"slices"

	"gascity.dev/gc/mux/client"
)

// maxTyped bounds one message of input.
const maxTyped = 32 << 10

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
func (a *attachment) resend(ctx context.Context, conn *client.AttachConn) error {
	a.mu.Lock()
	rest := a.kept.resume(conn.Typed(), a.unsent)
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
func (a *attachment) typed(ctx context.Context, conn *client.AttachConn, p []byte) error {
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

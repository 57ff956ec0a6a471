package agent

import (
	"crypto/rand"
	"encoding/hex"
	"time"
)

// Instance identifies one incarnation of an agent's session. It is stored
// before the start, and Stop checks the token, so that an older decision never
// kills a newer instance.
type Instance struct {
	ID    string    // GC_SESSION_ID, unique
	Epoch int64     // GC_RUNTIME_EPOCH, counts the starts of this agent
	Token string    // GC_INSTANCE_TOKEN, secret-free random
	At    time.Time // for the beacon

	Conversation string // id of the agent's own conversation, "" for none
	Resume       bool   // resume the conversation; otherwise begin it
}

// NewInstance returns a new, unique identity.
func NewInstance(epoch int64, at time.Time) Instance {
	return Instance{ID: randomHex(12), Epoch: epoch, Token: randomHex(16), At: at}
}

func randomHex(bytes int) string {
	b := make([]byte, bytes)
	rand.Read(b) // never fails
	return hex.EncodeToString(b)
}

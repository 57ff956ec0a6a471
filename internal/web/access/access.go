// Package access decides who may use gc web: it issues and checks tokens and
// sessions, and rejects requests that a page of another site could have caused.
// Its one invariant is that it keeps and logs no secret, only hashes. It knows
// nothing of agents. internal/web puts it in front of every request, and the
// command gc web makes and revokes links with it.
//
// A link holds a token of 256 bits in its fragment, which browsers never send.
// The page exchanges it, once, for two secrets: a cookie, which scripts cannot
// read, and a second secret that the page keeps for its own origin. Browsers
// send a cookie to every port of an address, so a request needs both.
package access

import (
	"crypto/rand"
	"crypto/sha256"
	"crypto/subtle"
	"encoding/base64"
	"errors"
	"time"
)

var (
	ErrNoSession = errors.New("no session: open a new link (`gc web --link` prints one)")
	ErrToken     = errors.New("the token is wrong, was used before, or is too old")
	ErrReadOnly  = errors.New("this link is read-only")
	ErrTooMany   = errors.New("too many wrong tokens; try again in a minute")
)

// Limits of what is kept.
const (
	tokenAge    = 24 * time.Hour
	sessionAge  = 30 * 24 * time.Hour
	maxTokens   = 64
	maxSessions = 64
)

// Session is a browser that exchanged a token.
type Session struct {
	ReadOnly bool
	Ends     time.Time // unless it is revoked before

	cookie hash
	secret hash
}

// CheckSecret reports whether secret is the session's second secret.
func (s Session) CheckSecret(secret string) bool { return s.secret.matches(secret) }

// hash is the SHA-256 of a secret. Secrets are random and of 256 bits, so
// nothing slower is needed.
type hash [sha256.Size]byte

// matches takes the same time for every wrong secret.
func (h hash) matches(secret string) bool {
	other := sha256.Sum256([]byte(secret))
	return subtle.ConstantTimeCompare(h[:], other[:]) == 1
}

func (h hash) MarshalText() ([]byte, error) {
	return []byte(base64.RawURLEncoding.EncodeToString(h[:])), nil
}

func (h *hash) UnmarshalText(text []byte) error {
	b, err := base64.RawURLEncoding.DecodeString(string(text))
	if err == nil && len(b) != len(h) {
		err = errors.New("wrong length of a hash")
	}
	if err != nil {
		return err
	}
	copy(h[:], b)
	return nil
}

// newSecret returns 256 random bits as text, and their hash.
func newSecret() (string, hash) {
	var b [32]byte
	rand.Read(b[:]) // never fails
	text := base64.RawURLEncoding.EncodeToString(b[:])
	return text, sha256.Sum256([]byte(text))
}

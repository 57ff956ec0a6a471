package access

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"golang.org/x/sys/unix"
)

// Keys are the tokens and sessions of one address that gc web serves, hashed, in
// a file. Several processes may use the file: the server, and commands that add
// a link or revoke all. Sessions survive a restart of the server.
type Keys struct{ path string }

// kept is the file's content.
type kept struct {
	Tokens   []keptToken   `json:"tokens"`
	Sessions []keptSession `json:"sessions"`
}

type keptToken struct {
	Hash     hash      `json:"hash"`
	Made     time.Time `json:"made"`
	ReadOnly bool      `json:"readOnly,omitempty"`
}

type keptSession struct {
	Cookie   hash      `json:"cookie"`
	Secret   hash      `json:"secret"`
	Made     time.Time `json:"made"`
	ReadOnly bool      `json:"readOnly,omitempty"`
}

const suffix = ".keys"

// Open returns the keys for an address, in a directory that it creates.
func Open(dir, address string) (*Keys, error) {
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return nil, err
	}
	name := strings.Map(func(r rune) rune {
		if r == '/' || r == 0 {
			return '_'
		}
		return r
	}, address)
	return &Keys{path: filepath.Join(dir, name+suffix)}, nil
}

// Path is the file, which other processes change, too.
func (k *Keys) Path() string { return k.path }

// RevokeAll ends every session of every address and invalidates every link. It
// returns the number of sessions that it ended.
func RevokeAll(dir string) (int, error) {
	paths, err := filepath.Glob(filepath.Join(dir, "*"+suffix))
	n := 0
	for _, path := range paths {
		ended, failed := (&Keys{path: path}).Revoke()
		n, err = n+ended, errors.Join(err, failed)
	}
	return n, err
}

// Revoke ends every session and invalidates every link of the address. It
// returns the number of sessions that it ended.
func (k *Keys) Revoke() (int, error) {
	n := 0
	err := k.change(time.Now(), func(c *kept) error {
		n = len(c.Sessions)
		*c = kept{}
		return nil
	})
	return n, err
}

// NewToken returns a token for one exchange within a day.
func (k *Keys) NewToken(readOnly bool) (string, error) {
	token, h := newSecret()
	now := time.Now()
	err := k.change(now, func(c *kept) error {
		c.Tokens = newest(append(c.Tokens, keptToken{Hash: h, Made: now, ReadOnly: readOnly}), maxTokens)
		return nil
	})
	return token, err
}

// exchange uses up a token. It returns the session and its two secrets.
func (k *Keys) exchange(token string) (s Session, cookie, secret string, err error) {
	now := time.Now()
	err = k.change(now, func(c *kept) error {
		found := -1
		for i, t := range c.Tokens { // all of them, whichever matches
			if t.Hash.matches(token) {
				found = i
			}
		}
		if found < 0 {
			return ErrToken
		}
		s.ReadOnly = c.Tokens[found].ReadOnly
		c.Tokens = slices.Delete(c.Tokens, found, found+1)
		cookie, s.cookie = newSecret()
		secret, s.secret = newSecret()
		made := keptSession{Cookie: s.cookie, Secret: s.secret, Made: now, ReadOnly: s.ReadOnly}
		c.Sessions = newest(append(c.Sessions, made), maxSessions)
		return nil
	})
	return s, cookie, secret, err
}

// session finds the session of a cookie.
func (k *Keys) session(cookie string) (Session, error) {
	c, err := k.read(time.Now())
	if err != nil {
		return Session{}, err
	}
	var found Session
	err = ErrNoSession
	for _, s := range c.Sessions {
		if s.Cookie.matches(cookie) {
			found, err = Session{ReadOnly: s.ReadOnly, Ends: s.Made.Add(sessionAge), cookie: s.Cookie, secret: s.Secret}, nil
		}
	}
	return found, err
}

// Valid reports whether the session still exists. If the file cannot be read,
// it does not.
func (k *Keys) Valid(s Session) bool {
	c, err := k.read(time.Now())
	return err == nil && slices.ContainsFunc(c.Sessions, func(other keptSession) bool { return other.Cookie == s.cookie })
}

// end ends one session.
func (k *Keys) end(s Session) error {
	return k.change(time.Now(), func(c *kept) error {
		c.Sessions = slices.DeleteFunc(c.Sessions, func(other keptSession) bool { return other.Cookie == s.cookie })
		return nil
	})
}

// read returns what has not expired.
func (k *Keys) read(now time.Time) (kept, error) {
	var c kept
	data, err := os.ReadFile(k.path)
	if errors.Is(err, fs.ErrNotExist) {
		return c, nil
	} else if err != nil {
		return c, err
	}
	if err := json.Unmarshal(data, &c); err != nil {
		return kept{}, fmt.Errorf("%s: %w", k.path, err)
	}
	c.Tokens = slices.DeleteFunc(c.Tokens, func(t keptToken) bool { return now.Sub(t.Made) > tokenAge })
	c.Sessions = slices.DeleteFunc(c.Sessions, func(s keptSession) bool { return now.Sub(s.Made) > sessionAge })
	return c, nil
}

// change replaces the file under a lock. If f fails, the file stays.
func (k *Keys) change(now time.Time, f func(*kept) error) error {
	lock, err := os.OpenFile(k.path+".lock", os.O_CREATE|os.O_RDWR, 0o600)
	if err != nil {
		return err
	}
	defer lock.Close()
	if err := unix.Flock(int(lock.Fd()), unix.LOCK_EX); err != nil {
		return err
	}
	c, err := k.read(now)
	if err != nil {
		return err
	}
	if err := f(&c); err != nil {
		return err
	}
	data, err := json.Marshal(c)
	if err != nil {
		return err
	}
	if err := os.WriteFile(k.path+".new", data, 0o600); err != nil {
		return err
	}
	return os.Rename(k.path+".new", k.path)
}

// newest drops the oldest entries beyond n.
func newest[T any](list []T, n int) []T { return list[max(0, len(list)-n):] }

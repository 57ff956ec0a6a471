package controller

import (
	"context"
	"crypto/rand"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"golang.org/x/sys/unix"

	"gascity.dev/gc/internal/agent"
	"gascity.dev/gc/internal/config"
	"gascity.dev/gc/internal/controller/api"
	"gascity.dev/gc/runtime"
)

// settleNames decides at a city's first start, and after a change of its name,
// whether its id is part of the session names: when another city owns them. The
// caller holds the city's lock. What is decided stays.
//
// claims is the folder where the cities of this user note which names are theirs;
// "" = only what runs counts. A note or an identity that cannot be written is no
// error: the next start decides.
func reconcileNames(ctx context.Context, c *config.City, p runtime.Provider, claims string, build agent.BuildOptions) error {
	space := agent.NameSpace(c)
	i, ok := config.ReadIdentity(c.Dir)
	if !ok {
		i = config.Identity{ID: newCityID()}
	}
	taken := false
	if !i.InNames { // one that has names of its own leaves these to others
		taken = claimNames(claims, claim{Space: space, City: c.Dir, ID: i.ID})
	}
	if decided := ok && (i.InNames || i.Space == space); !decided {
		c.NameID = ""
		specs, err := agent.Build(c, build)
		if err != nil {
			return err
		}
		i.InNames = taken || ownedByAnother(ctx, p, c.Dir, specs)
	} else if i.Path == c.Dir {
		return nil
	}
	if i.Path != "" && i.Path != c.Dir {
		i.Was = i.Path
	}
	i.Path, i.Space = c.Dir, space
	if replaceJSON(config.IdentityPath(c.Dir), i) == nil && i.InNames {
		c.NameID = i.ID
	}
	return nil
}

func newCityID() string {
	b := make([]byte, 4)
	rand.Read(b) // never fails
	return hex.EncodeToString(b)
}

// ownedByAnother reports whether a session that bears a name of the city's runs
// for another one. What cannot be asked does not count.
func ownedByAnother(ctx context.Context, p runtime.Provider, dir string, specs []*agent.Spec) bool {
	list, _ := ask(ctx, func(ctx context.Context) ([]string, error) { return p.ListRunning(ctx, "") })
	running := map[string]bool{}
	for _, name := range list {
		running[name] = true
	}
	for _, s := range specs {
		for _, name := range firstNames(s) {
			if !running[name] {
				continue
			}
			owner, err := ask(ctx, func(ctx context.Context) (string, error) { return p.GetMeta(ctx, name, agent.MetaCityPath) })
			if err == nil && owner != "" && owner != dir {
				return true
			}
		}
	}
	return false
}

// firstNames are the session names of an agent, or of a pool's first members.
func firstNames(s *agent.Spec) []string {
	if s.Resolved.Pool == nil {
		return []string{s.Session}
	}
	var names []string
	for _, bare := range agent.MemberNames(s, max(s.Resolved.Pool.Min, 1)) {
		if m, err := agent.Member(s, bare, agent.BuildOptions{}); err == nil {
			names = append(names, m.Session)
		}
	}
	return names
}

// claim is the note of the city that owns some names.
type claim struct {
	Space string `json:"space"`
	City  string `json:"city"`
	ID    string `json:"id"`
}

// claimNames reports whether another city owns the names, and else notes them as
// the caller's. A city that is gone, or is another one now, owns nothing.
func claimNames(dir string, c claim) (taken bool) {
	if dir == "" || os.MkdirAll(dir, 0o700) != nil {
		return false
	}
	lock, err := os.OpenFile(filepath.Join(dir, "lock"), os.O_RDWR|os.O_CREATE, 0o600)
	if err != nil {
		return false
	}
	defer lock.Close()
	if api.Flock(lock, unix.LOCK_EX) != nil {
		return false
	}
	sum := sha256.Sum256([]byte(c.Space))
	path := filepath.Join(dir, hex.EncodeToString(sum[:16])+".json")
	var have claim
	if b, err := os.ReadFile(path); err == nil && json.Unmarshal(b, &have) == nil && have.City != c.City {
		if i, ok := config.ReadIdentity(have.City); ok && i.ID == have.ID {
			return true
		}
	}
	if have != c {
		_ = replaceJSON(path, c)
	}
	return false
}

// replaceJSON replaces a file as a whole or not at all.
func replaceJSON(path string, v any) error {
	b, err := json.Marshal(v)
	if err != nil {
		return fmt.Errorf("write %s: %w", path, err)
	}
	f, err := os.CreateTemp(filepath.Dir(path), ".new-*")
	if err != nil {
		return err
	}
	_, err = f.Write(append(b, '\n'))
	if err = errors.Join(err, f.Sync(), f.Close()); err == nil {
		err = os.Rename(f.Name(), path)
	}
	if err != nil {
		os.Remove(f.Name())
	}
	return err
}

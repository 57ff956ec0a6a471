// Package names decides whether a city's id is part of its session names, because another
// city of this user, or one with running sessions, has the same names.
//
// It writes the city's identity and its claim on names; it starts and ends no session. The
// controller calls [Reconcile] when a city starts and when its name changes.
package names

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
	"slices"

	"golang.org/x/sys/unix"

	"gascity.dev/gc/internal/agent"
	"gascity.dev/gc/internal/config"
	"gascity.dev/gc/internal/controller/api"
	"gascity.dev/gc/internal/controller/query"
	muxapi "gascity.dev/gc/mux/api"
	"gascity.dev/gc/runtime"
)

// Reconcile decides whether the city's id is part of its session names,
// because another city owns them. It decides at the first start and after a
// change of the city's name; the decision stays. The caller holds the city's
// lock.
//
// claims is the folder in which the cities of this user record which names are
// theirs; "" = only running sessions count. A failure to write a claim or an
// identity is ignored: the next start decides.
func Reconcile(ctx context.Context, c *config.City, p runtime.Provider, claims string, build agent.BuildOptions) error {
	space := agent.NameSpace(c)
	i, ok := config.ReadIdentity(c.Dir)
	if !ok {
		i = config.Identity{ID: newCityID()}
	}
	recordCity(claims, claim{City: c.Dir, ID: i.ID})
	taken := false
	if !i.InNames { // names of its own leave these to others
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

// ownedByAnother reports whether a running session under one of the city's names
// belongs to another city. Sessions that cannot be queried do not count.
func ownedByAnother(ctx context.Context, p runtime.Provider, dir string, specs []*agent.Spec) bool {
	list, _ := query.Ask(ctx, func(ctx context.Context) ([]string, error) { return p.ListRunning(ctx, "") })
	running := map[string]bool{}
	for _, name := range list {
		running[name] = true
	}
	for _, s := range specs {
		for _, name := range firstNames(s) {
			if !running[name] {
				continue
			}
			owner, err := query.Ask(ctx, func(ctx context.Context) (string, error) { return p.GetMeta(ctx, name, agent.MetaCityPath) })
			if err == nil && owner != "" && owner != dir {
				return true
			}
		}
	}
	return false
}

// firstNames returns the session names of an agent, or of a pool's first
// members.
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

// claim records which city owns some names.
type claim struct {
	Space string `json:"space,omitempty"` // "" = none
	City  string `json:"city"`
	ID    string `json:"id"`
}

// ClaimsDir is where the cities of this user record which names they own; "" if the
// environment does not say.
func ClaimsDir(getenv func(string) string) string {
	paths, err := muxapi.DefaultPaths(func(name string) string {
		if name == "GC_MUX_SOCKET" {
			return "" // the same place for all multiplexers
		}
		return getenv(name)
	})
	if err != nil {
		return ""
	}
	return filepath.Join(paths.Dir, "cities")
}

// recordCity records that a city was started, also one that claims no names.
func recordCity(dir string, c claim) {
	if dir == "" || os.MkdirAll(dir, 0o700) != nil {
		return
	}
	sum := sha256.Sum256([]byte(c.City))
	path := filepath.Join(dir, "city-"+hex.EncodeToString(sum[:16])+".json")
	var have claim
	if b, err := os.ReadFile(path); err != nil || json.Unmarshal(b, &have) != nil || have != c {
		_ = replaceJSON(path, c) // the next start records it
	}
}

// Cities returns the directories of this user's cities that were ever started, in order;
// some may be gone.
func Cities(claims string) []string {
	files, _ := filepath.Glob(filepath.Join(claims, "*.json")) // the pattern is right
	var dirs []string
	for _, f := range files {
		var c claim
		if b, err := os.ReadFile(f); err == nil && json.Unmarshal(b, &c) == nil && c.City != "" {
			dirs = append(dirs, c.City)
		}
	}
	slices.Sort(dirs)
	return slices.Compact(dirs)
}

// claimNames reports whether another city owns the names, and otherwise claims
// them for the caller. A city that no longer exists, or has another id, owns
// nothing.
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

package sessionop

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"gascity.dev/gc/runtime"
	"gascity.dev/gc/runtime/native"
)

// scope is the set of sessions that a caller sees: those of a city, by its path,
// of a namespace, or "" for callers that name neither. Sessions of other scopes
// and sessions not started through session-op do not exist for it.
type scope string

func scopeOf(getenv func(string) string) scope {
	for _, path := range []string{getenv("GC_CITY_PATH"), getenv("GC_CITY")} {
		if filepath.IsAbs(path) {
			return scope("city " + filepath.Clean(path))
		}
	}
	if name := getenv("GC_SESSION_NAMESPACE"); name != "" {
		return scope("namespace " + name)
	}
	return ""
}

// cityScope is the scope named by the environment of a start config.
func cityScope(env map[string]string) scope {
	return scopeOf(func(k string) string {
		if k == "GC_SESSION_NAMESPACE" {
			return ""
		}
		return env[k]
	})
}

// prefix starts the multiplexer's names of the scope's sessions.
func (s scope) prefix() string {
	if s == "" {
		return "op."
	}
	sum := sha256.Sum256([]byte(s))
	return "op-" + hex.EncodeToString(sum[:5]) + "."
}

// The multiplexer's names have at most longestName bytes; a longer one is cut
// and ends in a hash.
const (
	longestName = 200
	hashedTail  = 1 + 16
)

// muxName is the multiplexer's name for a caller's session.
func (s scope) muxName(name string) string {
	full := s.prefix() + name
	if len(full) <= longestName {
		return full
	}
	sum := sha256.Sum256([]byte(name))
	return full[:longestName-hashedTail] + "." + hex.EncodeToString(sum[:8])
}

// Metadata that session-op keeps with a session.
const (
	metaName  = "gc.session-op.name"  // the caller's name
	metaScope = "gc.session-op.scope" // of the start config's environment; may be ""
)

// resolve returns the multiplexer's name for a caller's name. A caller whose
// environment names a city also sees sessions that were started for that city by
// a caller whose environment does not: agents call on behalf of a controller.
func (s scope) resolve(ctx context.Context, p *native.Provider, name string) (string, error) {
	own := s.muxName(name)
	if s == "" {
		return own, nil
	}
	running, err := p.IsRunning(ctx, own)
	if err != nil || running {
		return own, err
	}
	common := scope("").muxName(name)
	named, err := p.GetMeta(ctx, common, metaScope)
	if err != nil {
		return own, err
	}
	if scope(named) == s {
		return common, nil
	}
	return own, nil
}

// list returns the caller's names of the scope's running sessions, sorted.
func (s scope) list(ctx context.Context, p *native.Provider, prefix string) ([]string, error) {
	names, err := listScope(ctx, p, s, prefix, func(string) (bool, error) { return true, nil })
	if err != nil || s == "" {
		return names, err
	}
	more, err := listScope(ctx, p, "", prefix, func(muxName string) (bool, error) {
		named, err := p.GetMeta(ctx, muxName, metaScope)
		return scope(named) == s, err
	})
	names = append(names, more...)
	slices.Sort(names)
	return slices.Compact(names), err
}

func listScope(ctx context.Context, p *native.Provider, s scope, prefix string, wanted func(muxName string) (bool, error)) ([]string, error) {
	full := s.prefix() + prefix
	running, err := p.ListRunning(ctx, full[:min(len(full), longestName-hashedTail)])
	if err != nil {
		return nil, err
	}
	var names []string
	for _, muxName := range running {
		name := strings.TrimPrefix(muxName, s.prefix())
		if len(muxName) == longestName { // may end in a hash
			if name, err = p.GetMeta(ctx, muxName, metaName); err != nil {
				return nil, err
			}
		}
		if !strings.HasPrefix(name, prefix) || name == "" {
			continue
		}
		ok, err := wanted(muxName)
		if err != nil {
			return nil, err
		}
		if ok {
			names = append(names, name)
		}
	}
	slices.Sort(names)
	return names, nil
}

func opListRunning(ctx context.Context, o Options, args []string) error {
	if len(args) > 1 {
		return errors.New("session-op list-running: accepts at most one prefix")
	}
	p, err := native.New(native.Options{Version: o.Version})
	if err != nil {
		return err
	}
	names, err := scopeOf(os.Getenv).list(ctx, p, slices.Concat(args, []string{""})[0])
	if err != nil {
		return err
	}
	for _, n := range names {
		if _, err := fmt.Fprintln(o.Out, n); err != nil {
			return err
		}
	}
	return nil
}

// CapabilitiesVar names the variable with the capabilities that are announced
// only on request: a caller must know what gc does with them.
const CapabilitiesVar = "GC_SESSION_OP_CAPABILITIES"

// opProtocol prints the handshake. proc.exec and proc.provision tell callers
// that they may run a multiplexer of their own in the box.
func opProtocol(o Options) error {
	list := []string{
		"report-attachment", "report-activity", "tty.attach",
		"exact-peek", "peek-screen", "key-modes", "last-screen", "last-words", "exact-meta", "last-exit", "relaunch",
	}
	wanted := strings.FieldsFunc(os.Getenv(CapabilitiesVar), func(r rune) bool { return r == ',' || r == ' ' })
	for _, c := range []string{"proc.exec", "proc.provision"} {
		if slices.Contains(wanted, c) {
			list = append(list, c)
		}
	}
	_, err := fmt.Fprintf(o.Out, `{"version":1,"capabilities":["%s"]}`+"\n", strings.Join(list, `","`))
	return err
}

// gone reports whether the session does not exist, and says so on Err.
func (c *call) gone() (bool, error) {
	running, err := c.p.IsRunning(c.ctx, c.name)
	if err != nil || running {
		return false, err
	}
	fmt.Fprintf(c.Err, "%s: %s: %v\n", c.Program, c.label, runtime.ErrSessionNotFound)
	return true, nil
}

package main

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

// opScope is whose sessions a caller of session-op sees: a city's, by its path,
// a namespace's, or "" for callers that name neither. Sessions of other scopes,
// and those that were not started through session-op, do not exist for it.
type opScope string

func opScopeOf(getenv func(string) string) opScope {
	for _, path := range []string{getenv("GC_CITY_PATH"), getenv("GC_CITY")} {
		if filepath.IsAbs(path) {
			return opScope("city " + filepath.Clean(path))
		}
	}
	if name := getenv("GC_SESSION_NAMESPACE"); name != "" {
		return opScope("namespace " + name)
	}
	return ""
}

// cityScope is the scope that a start config's environment names.
func cityScope(env map[string]string) opScope {
	return opScopeOf(func(k string) string {
		if k == "GC_SESSION_NAMESPACE" {
			return ""
		}
		return env[k]
	})
}

// prefix begins the multiplexer's names of the scope's sessions.
func (s opScope) prefix() string {
	if s == "" {
		return "op."
	}
	sum := sha256.Sum256([]byte(s))
	return "op-" + hex.EncodeToString(sum[:5]) + "."
}

// Names of the multiplexer are at most longestName bytes; a caller's that has
// no room beside the prefix ends in a hash.
const (
	longestName = 200
	hashedTail  = 1 + 16
)

// muxName is the multiplexer's name of a caller's session.
func (s opScope) muxName(name string) string {
	full := s.prefix() + name
	if len(full) <= longestName {
		return full
	}
	sum := sha256.Sum256([]byte(name))
	return full[:longestName-hashedTail] + "." + hex.EncodeToString(sum[:8])
}

// Metadata that session-op itself keeps with a session.
const (
	opMetaName  = "gc.session-op.name"  // the caller's name
	opMetaScope = "gc.session-op.scope" // what the start config's environment names, may be ""
)

// resolve returns the multiplexer's name for the caller's. A caller whose
// environment names a city also sees what was started for that city by one
// whose environment does not: agents call as their controller does.
func (s opScope) resolve(ctx context.Context, p *native.Provider, name string) (string, error) {
	own := s.muxName(name)
	if s == "" {
		return own, nil
	}
	running, err := p.IsRunning(ctx, own)
	if err != nil || running {
		return own, err
	}
	common := opScope("").muxName(name)
	scope, err := p.GetMeta(ctx, common, opMetaScope)
	if err != nil {
		return own, err
	}
	if opScope(scope) == s {
		return common, nil
	}
	return own, nil
}

// list returns the caller's names of the scope's running sessions, sorted.
func (s opScope) list(ctx context.Context, p *native.Provider, prefix string) ([]string, error) {
	names, err := listScope(ctx, p, s, prefix, func(string) (bool, error) { return true, nil })
	if err != nil || s == "" {
		return names, err
	}
	more, err := listScope(ctx, p, "", prefix, func(muxName string) (bool, error) {
		scope, err := p.GetMeta(ctx, muxName, opMetaScope)
		return opScope(scope) == s, err
	})
	names = append(names, more...)
	slices.Sort(names)
	return slices.Compact(names), err
}

func listScope(ctx context.Context, p *native.Provider, s opScope, prefix string, wanted func(muxName string) (bool, error)) ([]string, error) {
	full := s.prefix() + prefix
	running, err := p.ListRunning(ctx, full[:min(len(full), longestName-hashedTail)])
	if err != nil {
		return nil, err
	}
	var names []string
	for _, muxName := range running {
		name := strings.TrimPrefix(muxName, s.prefix())
		if len(muxName) == longestName { // it may end in a hash
			if name, err = p.GetMeta(ctx, muxName, opMetaName); err != nil {
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

func opListRunning(ctx context.Context, a *app, args []string) error {
	if len(args) > 1 {
		return errors.New("session-op list-running: one prefix at most")
	}
	p, err := native.New(native.Options{Version: version})
	if err != nil {
		return err
	}
	names, err := opScopeOf(os.Getenv).list(ctx, p, slices.Concat(args, []string{""})[0])
	if err != nil {
		return err
	}
	for _, n := range names {
		if _, err := fmt.Fprintln(a.out, n); err != nil {
			return err
		}
	}
	return nil
}

// opCapabilitiesVar names the capabilities to announce that a caller can only
// use when it knows what gc makes of them.
const opCapabilitiesVar = "GC_SESSION_OP_CAPABILITIES"

// opProtocol prints the handshake. proc.exec and proc.provision say to other
// callers that they may run a multiplexer of their own in the box.
func opProtocol(a *app) error {
	list := []string{
		"report-attachment", "report-activity", "tty.attach",
		"exact-peek", "peek-screen", "key-modes", "last-screen", "last-words", "exact-meta", "last-exit", "relaunch",
	}
	wanted := strings.FieldsFunc(os.Getenv(opCapabilitiesVar), func(r rune) bool { return r == ',' || r == ' ' })
	for _, c := range []string{"proc.exec", "proc.provision"} {
		if slices.Contains(wanted, c) {
			list = append(list, c)
		}
	}
	_, err := fmt.Fprintf(a.out, `{"version":1,"capabilities":["%s"]}`+"\n", strings.Join(list, `","`))
	return err
}

// gone says that there is no such session, where that is no failure.
func (c *opCall) gone() (bool, error) {
	running, err := c.p.IsRunning(c.ctx, c.name)
	if err != nil || running {
		return false, err
	}
	fmt.Fprintf(c.err, "%s: %s: %v\n", program, c.label, runtime.ErrSessionNotFound)
	return true, nil
}

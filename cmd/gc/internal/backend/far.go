package backend

import (
	"context"
	"crypto/sha256"
	"fmt"
	"io"
	"net"
	"path/filepath"
	goruntime "runtime"
	"slices"
	"strings"

	"gascity.dev/gc/cmd/gc/internal/host"
	"gascity.dev/gc/internal/config"
	"gascity.dev/gc/internal/far"
	"gascity.dev/gc/internal/link"
	"gascity.dev/gc/mux/client"
	"gascity.dev/gc/mux/many"
	"gascity.dev/gc/runtime"
	"gascity.dev/gc/runtime/acp"
	"gascity.dev/gc/runtime/native"
)

// newFar returns the provider of a city's sessions on another machine. A router's backends
// share a multiplexer there, and each has its own sessions.
func (s *Set) newFar(c Choice, city string) (runtime.Provider, error) {
	l, err := s.link(c.Name, city)
	if err != nil {
		return nil, err
	}
	overACP, machine := config.IsACP(c.Name), far.NewClient(l.String(), l)
	o := native.Options{Version: s.Version, Report: s.startStep, Machine: machine, MakeWorkDir: true}
	if c.routed && overACP {
		o.Sessions = native.WithControl
	} else if c.routed {
		o.Sessions = native.WithoutControl
	}
	base, err := native.New(o)
	if err != nil || !overACP {
		return base, err
	}
	return acp.New(acp.Options{Base: base, Dir: cityThere(city), Machine: machine, Version: s.Version, Report: s.startStep})
}

// cityThere is the folder of a city's agents over ACP on another machine: unlike that of any
// other city.
func cityThere(city string) string {
	if city == "" {
		return "sessions"
	}
	path := cityPath(city)
	sum := sha256.Sum256([]byte(path))
	return fmt.Sprintf("%s-%x", filepath.Base(path), sum[:6])
}

// link returns the held stream to another machine, one for all names of it. The lock is
// held.
func (s *Set) link(url, city string) (*link.Link, error) {
	h, err := host.Resolve(config.HostURL(url))
	if err != nil {
		return nil, err
	}
	h.Version = s.Version
	name := h.String()
	if l := s.links[name]; l != nil {
		return l, nil
	}
	open := h.Stream
	if s.Through != nil && city != "" {
		open = func(ctx context.Context) (io.ReadWriteCloser, error) {
			if rw, err := s.Through(ctx, city, name); rw != nil || err != nil {
				return rw, err
			}
			return h.Stream(ctx)
		}
	}
	if s.links == nil {
		s.links = map[string]*link.Link{}
	}
	s.links[name] = link.New(name, open, s.hello())
	return s.links[name], nil
}

func (s *Set) hello() many.Hello {
	return many.Hello{Version: s.Version, OS: goruntime.GOOS, Arch: goruntime.GOARCH}
}

// Forward returns what serves the gc at the other end of rw with connections to another
// machine, over the stream that this Set holds, until rw ends; nil if it holds none.
func (s *Set) Forward(url string) func(ctx context.Context, rw io.ReadWriteCloser) error {
	pod := s.heldPod(url)
	s.mu.Lock()
	defer s.mu.Unlock()
	l := s.links[url]
	if l == nil {
		l = pod
	}
	if l == nil {
		return nil
	}
	return func(ctx context.Context, rw io.ReadWriteCloser) error { return l.Forward(ctx, rw, s.hello()) }
}

// HostOf returns the canonical name of the machine that a provider's name selects, "" for
// this one.
func HostOf(provider string) string {
	if !config.IsHost(provider) {
		return ""
	}
	h, err := client.ParseHost(config.HostURL(provider))
	if err != nil {
		return strings.TrimSuffix(config.HostURL(provider), "/")
	}
	return h.String()
}

// Hosts returns the other machines that host agents of a city, each once.
func Hosts(city *config.City) []string {
	var hosts []string
	add := func(provider string) {
		if h := HostOf(provider); h != "" && !slices.Contains(hosts, h) {
			hosts = append(hosts, h)
		}
	}
	c := Selected(city.Session.Provider)
	add(c.Name)
	if c.Name == config.HostHybrid {
		add(city.Session.Local)
		add(city.Session.Remote)
	}
	if c.Origin == FromEnv && c.Name != config.HostAuto {
		return hosts
	}
	for i := range city.Agents {
		add(city.Agents[i].Session)
	}
	return hosts
}

// held returns the held stream to another machine, or to a pod.
func (s *Set) held(machine string) (*link.Link, error) {
	if !IsPod(machine) {
		s.mu.Lock()
		defer s.mu.Unlock()
		return s.link(machine, "")
	}
	if l := s.heldPod(machine); l != nil {
		return l, nil
	}
	return nil, errNoStream
}

// MuxOn returns a client of the multiplexer on another machine, over the held stream. It
// starts one if there is none, but not in a pod.
func (s *Set) MuxOn(ctx context.Context, url string) (*client.Client, error) {
	l, err := s.held(url)
	if err != nil {
		return nil, err
	}
	machine := far.NewClient(l.String(), l)
	c := client.NewShared(func(ctx context.Context) (net.Conn, error) { return machine.Mux(ctx, !IsPod(url)) })
	if _, err := c.Status(ctx); err != nil {
		c.Close()
		return nil, err
	}
	return c, nil
}

//go:build !k8s

package backend

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"net"
	"slices"
	"strings"
	"sync"
	"time"

	"gascity.dev/gc/internal/acp/transcript"
	cityapi "gascity.dev/gc/internal/controller/api"
	"gascity.dev/gc/internal/far"
	"gascity.dev/gc/internal/link"
	"gascity.dev/gc/runtime"
	"gascity.dev/gc/runtime/acp"
	"gascity.dev/gc/runtime/native"
	"gascity.dev/gc/runtime/wrap"
)

// throughPods is the provider of sessions in pods over the streams that the controller of
// their city holds: each pod has a multiplexer of its own. It starts nothing; the
// controller does.
type throughPods struct {
	wrap.Forward
	s     *Set
	city  string
	name  string           // pods, or acpPods
	model runtime.Provider // what each pod can do

	mu     sync.Mutex
	pods   map[string]runtime.Provider // by session
	status cityapi.Status
	read   time.Time // when status was read
}

var _ runtime.Router = (*throughPods)(nil)

// errStarts is why a command starts no pod: the controller does.
var errStarts = errors.New("only the city's controller starts sessions in pods")

// newThroughPods returns the provider of a city whose controller runs.
func newThroughPods(s *Set, city, name string) (runtime.Provider, error) {
	p := &throughPods{s: s, city: city, name: name, pods: map[string]runtime.Provider{}}
	var err error
	if p.model, err = p.over(far.NewClient(name, noPod{})); err != nil {
		return nil, err
	}
	p.Send = func(ctx context.Context, c wrap.Call, do func(context.Context, runtime.Provider) error) error {
		pod, err := p.BackendFor(ctx, c.Session)
		if err != nil {
			return err
		}
		return do(ctx, pod)
	}
	return p, nil
}

// over returns the provider of a session on one machine.
func (p *throughPods) over(m *far.Client) (runtime.Provider, error) {
	base, err := native.New(native.Options{Version: p.s.Version, Report: p.s.startStep, Machine: m, MakeWorkDir: true})
	if err != nil || p.name != acpPods {
		return base, err
	}
	return acp.New(acp.Options{Base: base, Dir: k8sACPDir, Machine: m, Version: p.s.Version, Report: p.s.startStep})
}

// k8sACPDir is where runtime/k8s has the transcripts of agents over ACP, in their pods.
const k8sACPDir = "sessions"

// noPod is the machine of no session.
type noPod struct{}

func (noPod) Dial(context.Context, string, any) (net.Conn, error) { return nil, errNoStream }

// Behind implements runtime.Forwarder.
func (p *throughPods) Behind() []runtime.Provider { return []runtime.Provider{p.model} }

// Capabilities implements runtime.Provider.
func (p *throughPods) Capabilities() runtime.Capabilities { return p.model.Capabilities() }

// SupportsTransport implements runtime.Router.
func (p *throughPods) SupportsTransport(t string) bool {
	return t == "" || t == p.name || t == "terminal"
}

// Start implements runtime.Provider.
func (p *throughPods) Start(_ context.Context, name string, _ runtime.Config) error {
	return fmt.Errorf("start %s: %w: %w", name, errStarts, runtime.ErrUnsupported)
}

// ListRunning implements runtime.Provider: what the controller says.
func (p *throughPods) ListRunning(ctx context.Context, prefix string) ([]string, error) {
	agents, err := p.agents(ctx)
	if err != nil {
		return nil, err
	}
	var names []string
	for _, session := range slices.Sorted(maps.Keys(agents)) {
		if strings.HasPrefix(session, prefix) && hasPod(agents[session].State) {
			names = append(names, session)
		}
	}
	return names, nil
}

// IsRunning implements runtime.Provider. A session without a pod is asked of nobody.
func (p *throughPods) IsRunning(ctx context.Context, name string) (bool, error) {
	agents, err := p.agents(ctx)
	if ag, known := agents[name]; err != nil || !known || !hasPod(ag.State) {
		return false, err
	}
	return p.Forward.IsRunning(ctx, name)
}

// hasPod reports whether an agent in this state may have a pod whose program runs.
func hasPod(s cityapi.State) bool {
	return s == cityapi.StateRunning || s == cityapi.StateStarting || s == cityapi.StateDraining || s == cityapi.StateUnknown
}

// statusAge is how long the controller's answer about its agents is used.
const statusAge = time.Second

// agents returns the agents of the city that are in pods, by session.
func (p *throughPods) agents(ctx context.Context) (map[string]cityapi.AgentStatus, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if time.Since(p.read) > statusAge {
		c, err := cityapi.Dial(p.city)
		if err != nil {
			return nil, fmt.Errorf("%w: %w", runtime.ErrBackendUnreachable, err)
		}
		defer c.Close()
		if p.status, err = c.Status(ctx); err != nil {
			return nil, fmt.Errorf("%w: %w", runtime.ErrBackendUnreachable, err)
		}
		p.read = time.Now()
	}
	agents := map[string]cityapi.AgentStatus{}
	for _, ag := range p.status.Agents {
		if host, _, _ := strings.Cut(ag.Host, ":"); host == pods && cmp.Or(ag.HostedBy, pods) == p.name {
			agents[ag.Session] = ag
		}
	}
	return agents, nil
}

// BackendFor implements runtime.Router: the provider of one pod.
func (p *throughPods) BackendFor(ctx context.Context, name string) (runtime.Provider, error) {
	if name == "" {
		return p.model, nil
	}
	if err := runtime.CheckName(name); err != nil {
		return nil, err
	}
	agents, err := p.agents(ctx)
	if err != nil {
		return nil, err
	}
	ag, known := agents[name]
	if !known || !hasPod(ag.State) {
		return nil, fmt.Errorf("%s: %w", name, runtime.ErrSessionNotFound)
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	if pod := p.pods[name]; pod != nil {
		return pod, nil
	}
	pod, err := p.over(far.NewClient("pod of "+name, p.s.throughLink(p.city, name)))
	if err != nil {
		return nil, err
	}
	p.pods[name] = pod
	return pod, nil
}

// Entries calls f with the entries of the transcript of an agent over ACP, as the provider of
// its pod does. Only that of acpPods offers it.
func (p *throughPods) Entries(ctx context.Context, name string, after int64, f func(transcript.Entry) error) error {
	pod, err := p.BackendFor(ctx, name)
	if err != nil {
		return fmt.Errorf("transcript of %s: %w", name, err)
	}
	overACP, ok := pod.(*acp.Provider)
	if !ok {
		return fmt.Errorf("transcript of %s: %w", name, runtime.ErrUnsupported)
	}
	return overACP.Entries(ctx, name, after, f)
}

// throughLink returns the stream to a session's pod, through the controller.
func (s *Set) throughLink(city, session string) *link.Link {
	open := func(ctx context.Context) (io.ReadWriteCloser, error) {
		rw, err := s.Through(ctx, city, podOf(session))
		if rw == nil && err == nil {
			err = errNoStream
		}
		return rw, err
	}
	l := link.New("pod of "+session, open, s.hello())
	s.mu.Lock()
	defer s.mu.Unlock()
	s.opened = append(s.opened, l)
	return l
}

// Searches implements runtime.Router.
func (p *throughPods) Searches(name string) bool { return name == p.name }

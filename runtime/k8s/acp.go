//go:build k8s

package k8s

import (
	"context"
	"fmt"

	"gascity.dev/gc/internal/acp/transcript"
	"gascity.dev/gc/internal/link"
	"gascity.dev/gc/runtime"
	"gascity.dev/gc/runtime/acp"
	"gascity.dev/gc/runtime/k8s/internal/names"
	"gascity.dev/gc/runtime/k8s/internal/podstate"
	"gascity.dev/gc/runtime/native"
)

// acpDir is the folder of transcripts, below where hosts in the pod keep theirs.
const acpDir = "sessions"

// over returns the provider of a pod's session, over that of its multiplexer.
func (p *Provider) over(base *native.Provider, m acp.Machine) (runtime.Provider, error) {
	if !p.o.ACP {
		return base, nil
	}
	return acp.New(acp.Options{Base: base, Dir: acpDir, Machine: m, Version: p.o.Version, Report: p.o.Report, StopGrace: p.o.StopGrace})
}

// protocol is the label of the provider's pods.
func (p *Provider) protocol() string {
	if p.o.ACP {
		return names.ProtocolACP
	}
	return ""
}

// Entries calls f with the entries of a session's transcript whose number is greater than
// after, in order. They are lost with the pod. Only a provider with Options.ACP offers it.
func (p *Provider) Entries(ctx context.Context, name string, after int64, f func(transcript.Entry) error) error {
	pod, err := p.get(ctx, name)
	if err == nil && (pod == nil || !podstate.Running(pod)) {
		err = runtime.ErrSessionNotFound
	}
	if err != nil {
		return fmt.Errorf("transcript of %s: %w", name, err)
	}
	b, err := p.box(pod)
	if err != nil {
		return err
	}
	a, ok := b.host.(*acp.Provider)
	if !ok {
		return fmt.Errorf("transcript of %s: %w", name, runtime.ErrUnsupported)
	}
	return a.Entries(ctx, name, after, f)
}

// acpModel is model for a provider with Options.ACP.
type acpModel struct {
	*acp.Provider
	p *Provider
}

// Behind implements runtime.Forwarder: it has every interface of its own accord.
func (m acpModel) Behind() []runtime.Provider { return []runtime.Provider{m} }

// Held is that of the provider.
func (m acpModel) Held() (map[string]*link.Link, <-chan struct{}) { return m.p.Held() }

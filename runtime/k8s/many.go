//go:build k8s

package k8s

import (
	"context"
	"maps"
	"slices"
	"sync"

	"gascity.dev/gc/runtime"
	"gascity.dev/gc/runtime/k8s/internal/names"
	"gascity.dev/gc/runtime/k8s/internal/podstate"
)

// atOnce is how many multiplexers are asked at once.
const atOnce = 32

// each calls ask for the multiplexer of each of the sessions that has one. Sessions that do
// not answer are left out; the error is of the cluster.
func (p *Provider) each(ctx context.Context, sessions []string, ask func(name string, p runtime.Provider)) error {
	all, err := p.list(ctx)
	if err != nil {
		return err
	}
	var running sync.WaitGroup
	places := make(chan struct{}, atOnce)
	for _, pod := range all {
		name := pod.Annotations[names.AnnotationSession]
		if !p.runs(pod) || !podstate.Started(pod) || p.lost(pod) || !slices.Contains(sessions, name) {
			continue
		}
		b, err := p.box(pod)
		if err != nil {
			return err
		}
		places <- struct{}{}
		running.Go(func() {
			defer func() { <-places }()
			ask(name, b.host)
		})
	}
	running.Wait()
	return nil
}

// Activities implements runtime.ManyActivities.
func (p *Provider) Activities(ctx context.Context, sessions []string) (map[string]runtime.SessionActivity, error) {
	var mu sync.Mutex
	out := map[string]runtime.SessionActivity{}
	err := p.each(ctx, sessions, func(name string, host runtime.Provider) {
		many, ok := runtime.As[runtime.ManyActivities](host)
		if !ok {
			return
		}
		some, err := many.Activities(ctx, []string{name})
		if err != nil {
			return
		}
		mu.Lock()
		defer mu.Unlock()
		maps.Copy(out, some)
	})
	return out, err
}

// SeenAlive implements runtime.ManyProcesses.
func (p *Provider) SeenAlive(ctx context.Context, sessions map[string][]string) ([]string, error) {
	var mu sync.Mutex
	var out []string
	err := p.each(ctx, slices.Collect(maps.Keys(sessions)), func(name string, host runtime.Provider) {
		many, ok := runtime.As[runtime.ManyProcesses](host)
		if !ok {
			return
		}
		some, err := many.SeenAlive(ctx, map[string][]string{name: sessions[name]})
		if err != nil {
			return
		}
		mu.Lock()
		defer mu.Unlock()
		out = append(out, some...)
	})
	return out, err
}

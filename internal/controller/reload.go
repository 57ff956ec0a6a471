package controller

import (
	"path/filepath"
	"time"

	"gascity.dev/gc/internal/agent"
	"gascity.dev/gc/internal/config"
	"gascity.dev/gc/internal/controller/api"
	"gascity.dev/gc/internal/controller/names"
	"gascity.dev/gc/internal/filewatch"
	"gascity.dev/gc/runtime"
)

// reloadDelay is how long city.toml must stay unchanged before it is read:
// editors write it in several steps.
const reloadDelay = 150 * time.Millisecond

// watcher reports changes of city.toml to the loop.
type watcher struct {
	file *filewatch.Watch
	end  chan struct{}
	done chan struct{}
}

// watch follows the city's file. The controller works without it and says so in its log.
func watch(l *loop, dir string) (*watcher, error) {
	file, err := filewatch.New(filepath.Join(dir, config.FileName))
	if err != nil {
		return nil, err
	}
	w := &watcher{file: file, end: make(chan struct{}), done: make(chan struct{})}
	go w.run(l)
	return w, nil
}

func (w *watcher) run(l *loop) {
	defer close(w.done)
	quiet := time.NewTimer(time.Hour)
	quiet.Stop()
	defer quiet.Stop()
	for {
		select {
		case <-w.file.C:
			quiet.Reset(reloadDelay)
		case <-quiet.C:
			l.post(l.config.reload)
		case <-w.end:
			return
		}
	}
}

func (w *watcher) close() {
	close(w.end)
	<-w.done
	w.file.Close()
}

// configFile is the state of city.toml.
type configFile struct {
	*core
	l       *loop
	err     string // why the newest city.toml is not in use
	hint    string
	reading bool
	again   bool // it changed while it was being read
	reads   int
}

// reload reads city.toml in the background and applies it if it is valid. A
// broken file changes nothing; status says why.
func (cf *configFile) reload() {
	if cf.reading {
		cf.again = true
		return
	}
	cf.reading, cf.again = true, false
	dir, build, claims := cf.o.City.Dir, cf.o.Build, cf.o.Claims
	cf.ops.Go(func() {
		c, err := config.Load(dir)
		var specs []*agent.Spec
		if err == nil {
			specs, err = agent.Build(c, build)
		}
		if err == nil {
			if err = names.Reconcile(cf.ops.ctx, c, cf.p, claims, build); err == nil {
				specs, err = agent.Build(c, build) // with the names decided
			}
		}
		if err == nil {
			err = cf.hostable(c, specs)
		}
		if err == nil && cf.o.Trusted != nil {
			err = cf.o.Trusted(c)
		}
		cf.post(func() { cf.reloaded(c, specs, err) })
	})
}

func (cf *configFile) reloaded(c *config.City, specs []*agent.Spec, err error) {
	cf.reading = false
	cf.reads++
	switch {
	case err != nil:
		cf.err, cf.hint = err.Error(), api.Hint(err)
		cf.note(api.Event{Kind: api.EventConfigRejected, Detail: oneLine(err.Error())})
	default:
		if a, b := cf.o.City.Session.Provider, c.Session.Provider; a != b {
			cf.logf("session provider %q takes effect at the next gc start", b)
		}
		for _, w := range agent.TemplateWarnings(c) {
			cf.logf("%s", w)
		}
		cf.err, cf.hint = "", ""
		cf.o.City = c
		cf.nameProvider(specs)
		cf.l.agents.setConfig(specs)
		cf.l.far.follow()
		cf.note(api.Event{Kind: api.EventConfigReloaded, Detail: api.CountAgents(len(cf.l.agents.order))})
		cf.l.observer.patrolAll()
	}
	if cf.again {
		cf.reload()
	}
}

// nameProvider names the provider after what it now is: commands choose theirs by it. It
// remains a router, since what ran elsewhere may run there still.
func (cf *configFile) nameProvider(specs []*agent.Spec) {
	name := cf.o.ProviderName
	if config.IsRouter(name) || runtime.RouterOf(cf.p) == nil {
		return
	}
	for _, s := range specs {
		if t := s.Config.Transport; t != "" && t != name {
			cf.o.ProviderName = config.HostAuto
			cf.logf("agent %s has a provider of its own: %s", s.Name(), t)
			cf.l.events.subscribe() // the provider may have none until now
			return
		}
	}
}

// hostable returns an error for the first agent that wants a provider that this
// controller does not have: none can be added while others run.
func (cf *configFile) hostable(c *config.City, specs []*agent.Spec) error {
	for _, s := range specs {
		transport := s.Config.Transport
		if transport == "" || transport == cf.o.ProviderName || runtime.SupportsTransport(cf.p, transport) {
			continue
		}
		return api.Hinted("gc stop, then gc start", "%s: agent %s requires session provider %s, which the running controller does not have",
			filepath.Base(c.File), s.Name(), transport)
	}
	return nil
}

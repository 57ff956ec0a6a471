package main

import (
	"context"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"path/filepath"
	"strings"
	"syscall"

	"gascity.dev/gc/internal/web"
	"gascity.dev/gc/internal/web/access"
	"gascity.dev/gc/internal/web/metrics"
	"gascity.dev/gc/mux/api"
)

// webFlags are the flags of gc web.
type webFlags struct {
	web.Options
	names                 string
	metrics, link, revoke bool
}

func (o *webFlags) add(f *flag.FlagSet) {
	f.StringVar(&o.Listen, "listen", "", "`host:port`")
	f.StringVar(&o.Unix, "unix", "", "`path` of a socket")
	f.BoolVar(&o.Open, "open", false, "open the browser")
	f.BoolVar(&o.ReadOnly, "read-only", false, "look and not touch")
	f.StringVar(&o.names, "name", "", "further host `names`")
	f.StringVar(&o.TLSCert, "tls-cert", "", "certificate `file`")
	f.StringVar(&o.TLSKey, "tls-key", "", "key `file`")
	f.BoolVar(&o.SelfSigned, "tls-self-signed", false, "make a certificate")
	f.BoolVar(&o.Insecure, "insecure", false, "plain HTTP on an address that others reach")
	f.BoolVar(&o.metrics, "metrics", false, "serve /metrics")
	f.BoolVar(&o.link, "link", false, "print another link")
	f.BoolVar(&o.revoke, "revoke", false, "end every session")
}

// runWeb shows the fleet in browsers.
func runWeb(ctx context.Context, args []string) error {
	var p place
	var o webFlags
	f := p.flags("web")
	o.add(f)
	if err := f.Parse(args); err != nil {
		return errFlags
	}
	paths, err := api.DefaultPaths(os.Getenv)
	if err != nil {
		return err
	}
	o.Dir = filepath.Join(paths.Dir, "web")
	if o.names != "" {
		o.Names = strings.Split(o.names, ",")
	}
	switch {
	case o.revoke:
		n, err := access.RevokeAll(o.Dir)
		fmt.Printf("Ended %d sessions; links from before are invalid.\n", n)
		return err
	case o.link:
		link, err := o.Link()
		if err == nil {
			fmt.Println("Open this link, once: " + link)
		}
		return err
	}
	if err := o.Check(); err != nil {
		return err
	}
	ctx, stop := signal.NotifyContext(ctx, os.Interrupt, syscall.SIGTERM, syscall.SIGHUP)
	defer stop()
	source, err := p.open(ctx)
	if err != nil {
		return err
	}
	defer source.Close()
	s := &web.Server{Fleet: source, Version: version}
	if o.metrics {
		m := metrics.New(source)
		s.Metrics, s.Observe = m.Handler(), m.Observe
	}
	return s.Run(ctx, o.Options, os.Stdout)
}

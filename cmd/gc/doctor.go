package main

import (
	"context"
	"os"
	"sync"

	"github.com/spf13/cobra"

	"gascity.dev/gc/cmd/gc/internal/backend"
	"gascity.dev/gc/cmd/gc/internal/cli"
	"gascity.dev/gc/cmd/gc/internal/doctor"
	"gascity.dev/gc/cmd/gc/internal/hostcheck"
	"gascity.dev/gc/cmd/gc/internal/report"
	"gascity.dev/gc/internal/config"
	"gascity.dev/gc/internal/controller/outside"
)

// doctorReport is gc doctor --json.
type doctorReport struct {
	OK       bool              `json:"ok"` // no problems; there may be warnings
	Findings []outside.Finding `json:"findings"`
}

func newDoctorCmd(a *app) *cobra.Command {
	var asJSON bool
	cmd := &cobra.Command{
		Use:   "doctor",
		Short: "Diagnose problems and suggest fixes",
		Args:  cli.Exactly(0),
		RunE:  func(cmd *cobra.Command, _ []string) error { return runDoctor(cmd.Context(), a, asJSON) },
	}
	cmd.Flags().BoolVar(&asJSON, "json", false, "print JSON: ok and findings, each with level, about, text and hint")
	cmd.AddCommand(newDoctorK8sCmd(a))
	return cli.Describe(cmd, `Checks your environment, the multiplexer with its directory and sockets, the session
providers, the registered hosts (gc host), and, in a city, its hosts, config, directories,
controller, database and agents. It starts and changes nothing.`, `
		gc doctor
		gc doctor k8s
		gc doctor --json | jq -r '.findings[] | select(.level == "problem").text'`,
		cli.Statuses{cli.ExitOK: "no problems (there may be warnings)", cli.ExitFailure: "problems found"})
}

func runDoctor(ctx context.Context, a *app, asJSON bool) error {
	a.providers.LooksOnly = true
	f, ofMux, ofHosts, ofCity := &outside.Findings{}, &outside.Findings{}, &outside.Findings{}, &outside.Findings{}
	doctor.Environment(f)
	machines := a.city.hosts()
	var slow sync.WaitGroup // concurrently: what hangs takes a while
	slow.Go(func() { doctor.Mux(ctx, ofMux, version) })
	slow.Go(func() { hostcheck.Doctor(ctx, ofHosts, version, machines) })
	err := checkCity(ctx, a, ofCity)
	slow.Wait()
	if err != nil {
		return err
	}
	f.List = append(f.List, ofMux.List...)
	f.List = append(f.List, ofHosts.List...)
	doctor.Providers(f)
	f.List = append(f.List, ofCity.List...)
	return printFindings(a, f, asJSON)
}

// printFindings prints what was found; problems are the exit status.
func printFindings(a *app, f *outside.Findings, asJSON bool) (err error) {
	r := doctorReport{OK: true, Findings: f.List}
	for _, one := range f.List {
		r.OK = r.OK && one.Level != outside.LevelFail
	}
	if asJSON {
		err = a.PrintJSON(r)
	} else {
		err = report.Findings(&a.Console, r.Findings)
	}
	if err != nil || r.OK {
		return err
	}
	return cli.Quiet(cli.ExitFailure)
}

func newDoctorK8sCmd(a *app) *cobra.Command {
	var asJSON, noPod bool
	cmd := &cobra.Command{
		Use:   "k8s",
		Short: "Check the cluster of the agents in pods",
		Args:  cli.Exactly(0),
		RunE:  func(cmd *cobra.Command, _ []string) error { return runDoctorK8s(cmd.Context(), a, !noPod, asJSON) },
	}
	f := cmd.Flags()
	f.BoolVar(&asJSON, "json", false, "print JSON: ok and findings, each with level, about, text and hint")
	f.BoolVar(&noPod, "no-pod", false, "do not start a pod")
	return cli.Describe(cmd, `Checks the cluster that [session.k8s] of city.toml, GC_K8S_* and your kubeconfig select:
it answers, the namespace is there, every permission is granted (a missing verb is
named), and a pod starts and runs gc from the configured images. That pod is deleted at
once. Without a city, GC_K8S_IMAGE names the image.`, `
		gc doctor k8s
		gc doctor k8s --no-pod --json`,
		cli.Statuses{cli.ExitOK: "no problems", cli.ExitFailure: "problems found", cli.ExitUnsupported: "gc-k8s is not installed"})
}

func runDoctorK8s(ctx context.Context, a *app, withPod, asJSON bool) error {
	if err := backend.BecomeK8s(); err != nil {
		return err
	}
	city, err := a.city.optional()
	if err != nil {
		return err
	}
	if city == nil {
		city = &config.City{}
	}
	pod, err := city.Pod("", os.Environ())
	if err != nil {
		return err
	}
	f := &outside.Findings{}
	for _, p := range pod.Check() {
		f.Fail("settings", "see [session.k8s] in docs/kubernetes.md", "%s", p)
	}
	if len(f.List) == 0 {
		found, err := backend.DiagnosePods(ctx, pod, withPod)
		if err != nil {
			return err
		}
		for _, p := range found {
			if p.Bad {
				f.Fail(p.About, p.Hint, "%s", p.Text)
			} else {
				f.OK(p.About, "%s", p.Text)
			}
		}
	}
	return printFindings(a, f, asJSON)
}

// hosts are the machines of the city, if there is one that can be read.
func (f *cityFinder) hosts() []string {
	dir, err := f.dir()
	if err != nil {
		return nil // checkCity reports it
	}
	city, err := config.Load(dir)
	if err != nil {
		return nil
	}
	return backend.Hosts(city)
}

// checkCity checks the city, if there is one.
func checkCity(ctx context.Context, a *app, f *outside.Findings) error {
	dir, err := a.city.dir()
	none := a.city.none(err)
	if err != nil && !none {
		return err
	}
	c := backend.Selected("")
	if city, err := config.Load(dir); err == nil && !none {
		doctor.Inherited(f, city, os.Environ())
		c = backend.SelectedIn(city)
	}
	p, err := a.providers.New(c, dir)
	if err != nil {
		_, hint := cli.Explain(err)
		f.Fail("sessions", hint, "%v", err)
	}
	if none {
		f.OK("city", "none here; gc init DIR creates one")
		return nil
	}
	build, err := buildOptions()
	if err != nil {
		return err
	}
	build.Provider = c.Override()
	f.List = append(f.List, outside.Diagnose(ctx, dir, p, build)...)
	return nil
}

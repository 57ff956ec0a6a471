package hostcmd

import (
	"context"
	"errors"
	"fmt"
	"os"
	goruntime "runtime"
	"sync/atomic"
	"time"

	"github.com/spf13/cobra"

	"gascity.dev/gc/cmd/gc/internal/cli"
	"gascity.dev/gc/cmd/gc/internal/display"
	"gascity.dev/gc/cmd/gc/internal/host"
	"gascity.dev/gc/cmd/gc/internal/hostcheck"
	"gascity.dev/gc/internal/hosts"
	"gascity.dev/gc/internal/hosts/install"
	"gascity.dev/gc/internal/self"
	"gascity.dev/gc/mux/client"
)

type installOptions struct {
	to   string
	from string
}

func newInstallCmd(a *commands) *cobra.Command {
	var o installOptions
	cmd := &cobra.Command{
		Use:               "install HOST",
		Short:             "Install gc on another machine",
		Args:              cli.Exactly(1),
		ValidArgsFunction: completeFirst,
		RunE: cli.Graceful(func(cmd *cobra.Command, args []string) error {
			return runInstall(cmd.Context(), a, args[0], o)
		}),
	}
	f := cmd.Flags()
	f.StringVar(&o.to, "to", hostcheck.HomeBin(), "install it at this `PATH` there")
	f.StringVar(&o.from, "from", "", "install this `FILE`")
	return cli.Describe(cmd, `Copies gc to a registered host or a URL, which needs no gc and no other tool than sh
and a program for SHA-256. It sends this program if the machine has its platform, else
gc-OS-ARCH, gc_OS_ARCH or gc_VERSION_OS_ARCH from the directory of this program, as make
dist builds them. gc-mcp and gc-ui beside it, which gc executes, are sent too. The old
program is replaced in one step, after the new one arrived whole and answered there; a
failure leaves it as it was. Sessions and the multiplexer there are not touched: gc mux
upgrade --host moves the multiplexer to the new program.`, `
		gc host install build
		gc host install ssh://me@build.example --to /opt/bin/gc
		gc host install build --from dist/gc_v1.2.3_linux_arm64`,
		cli.Statuses{cli.ExitFailure: "failure; the old program is as it was", cli.ExitCannotTell: "the machine cannot be reached"})
}

func runInstall(ctx context.Context, a *commands, name string, o installOptions) error {
	h, err := host.Resolve(name)
	if err != nil {
		return err
	}
	_, err = Install(ctx, a.Console, a.version, name, h, o.to, o.from)
	return err
}

// Install installs gc on a host that was given by its name or URL, prints what it
// did, and remembers the result if the host is registered.
func Install(ctx context.Context, c *cli.Console, version, name string, h *client.Host, to, from string) (install.Result, error) {
	progress := display.NewProgress(c.Err)
	progress.Show("connecting to " + h.String())
	defer progress.Clear()
	s, err := hostcheck.Shell(ctx, h)
	if err != nil {
		return install.Result{}, err
	}
	defer s.Close()
	p, err := choose(s.Machine(), version, from)
	if err != nil {
		return install.Result{}, err
	}
	r, err := send(ctx, s, p, to, progress)
	progress.Clear()
	if err != nil {
		return r, failed(h, err)
	}
	verb := "installed"
	if r.Same {
		verb = "already there:"
	}
	fmt.Fprintf(c.Out, "%s gc %s at %s on %s\n", verb, display.Line(r.Version), display.Line(r.Path), display.Line(name))
	if r.Version != version {
		c.Warn("it is version %s, this is %s", r.Version, version)
	}
	if err := installBeside(ctx, c, name, h, p.Path, r.Path, progress); err != nil {
		return r, failed(h, err)
	}
	return r, remember(c, name, h.String(), s.Machine(), r)
}

// failed adds the host, and the next step if there is one.
func failed(h *client.Host, err error) error {
	var there *install.Error
	if errors.As(err, &there) {
		return cli.Fail(cli.ExitFailure, there.Hint(), "%s: %w", h, err)
	}
	return fmt.Errorf("%s: %w", h, err)
}

// choose returns the program to send.
func choose(m install.Machine, version, from string) (install.Program, error) {
	if from == "" {
		program, err := self.Program()
		if err != nil {
			return install.Program{}, err
		}
		if from, err = install.Choose(m, program, goruntime.GOOS, goruntime.GOARCH, version); err != nil {
			return install.Program{}, err
		}
	}
	return install.Load(from)
}

// send shows the progress until the program is there.
func send(ctx context.Context, s *install.Shell, p install.Program, to string, progress *display.Progress) (install.Result, error) {
	var sent atomic.Int64
	type outcome struct {
		install.Result
		err error
	}
	done := make(chan outcome, 1)
	go func() {
		r, err := s.Install(ctx, p, to, sent.Store)
		done <- outcome{r, err}
	}()
	tick := time.NewTicker(display.ProgressTick)
	defer tick.Stop()
	for {
		select {
		case o := <-done:
			return o.Result, o.err
		case <-tick.C:
			progress.Show(fmt.Sprintf("sending %s of %s", display.Memory(sent.Load()), display.Memory(p.Size)))
		}
	}
}

// remember keeps the result for a registered host, and says what to do if gc is not
// found there by its name.
func remember(c *cli.Console, name, url string, m install.Machine, r install.Result) error {
	bin := ""
	if r.Found != r.Path {
		bin = r.Path
	}
	registry, err := hosts.Default(os.Getenv)
	if err == nil {
		err = registry.Update(url, func(h *hosts.Host) {
			h.Bin = bin
			h.Check = &hosts.Check{At: time.Now().UTC().Truncate(time.Second), Version: r.Version, OS: m.OS, Arch: m.Arch}
		})
	}
	known := err == nil
	if errors.Is(err, hosts.ErrUnknown) || errors.Is(err, hosts.ErrNoConfig) {
		err = nil
	}
	if bin == "" || err != nil {
		return err
	}
	where := "is not on the PATH of commands there"
	if r.Found != "" {
		where = "comes after " + r.Found + " on the PATH of commands there"
	}
	if known {
		fmt.Fprintf(c.Err, "it %s; gc remembers its path for %s\n", display.Line(where), display.Line(name))
		return nil
	}
	c.Warn("it %s; gc host add %s remembers its path, or set GC_HOST_BIN=%s", where, url, r.Path)
	return nil
}

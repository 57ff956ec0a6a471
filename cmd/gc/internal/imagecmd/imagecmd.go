// Package imagecmd is gc image: container images with gc, made without a container tool.
package imagecmd

import (
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	goruntime "runtime"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"gascity.dev/gc/cmd/gc/internal/cli"
	"gascity.dev/gc/internal/hosts/install"
	"gascity.dev/gc/internal/image"
	"gascity.dev/gc/internal/self"
)

// New returns gc image.
func New(c *cli.Console, version string) *cobra.Command {
	return c.Group("image", "Make container images with gc",
		`Every pod of a city needs gc. An init container copies it from an image that these
commands make into a volume, so the agent's own image does not need to contain gc.`, `
		gc image push registry.example/team/gc:v1
		gc image build --output - | ctr -n k8s.io images import -`,
		[]cli.Entry{
			{Name: "build", Make: func() *cobra.Command { return newBuild(c, version) }},
			{Name: "push", Make: func() *cobra.Command { return newPush(c, version) }},
		})
}

type options struct {
	tag    string
	output string
	from   []string
	json   bool

	controller bool
	plainHTTP  bool
}

// flags are those that build and push share.
func (o *options) flags(f *pflag.FlagSet) {
	f.StringArrayVar(&o.from, "from", nil, "add gc from this `FILE`; repeat it for another architecture")
	f.BoolVar(&o.controller, "controller", false, "add gc-k8s, for a controller that runs in the cluster")
	f.BoolVar(&o.json, "json", false, "print JSON")
}

func newBuild(c *cli.Console, version string) *cobra.Command {
	var o options
	cmd := &cobra.Command{
		Use:   "build",
		Short: "Write an image with gc to a file",
		Args:  cli.Exactly(0),
		RunE:  func(*cobra.Command, []string) error { return runBuild(c, version, o) },
	}
	f := cmd.Flags()
	f.StringVar(&o.tag, "tag", "", "the `NAME` of the image, with a registry and a tag (default gc.local/gc:VERSION)")
	f.StringVarP(&o.output, "output", "o", "gc-image.tar", "write the image to this `FILE`; - is the standard output")
	o.flags(f)
	return cli.Describe(cmd, `Writes an OCI archive, which ctr images import, docker load, podman load and skopeo can
read. The image contains gc, and gc-mcp if it is in the same directory. It is for amd64
and arm64 if both programs are there, otherwise for one of them. gc looks for this
program itself, and in its directory for gc-OS-ARCH, gc_OS_ARCH and gc_VERSION_OS_ARCH,
which make dist builds. The same programs and name always give the same bytes. The
command prints the name, the digest and the platforms of the image.`, `
		gc image build
		gc image build --tag registry.example/team/gc:v1 --from dist/gc_v1_linux_amd64
		gc image build --output - | ctr -n k8s.io images import -`, cli.Statuses{})
}

// result is what gc image build and push print with --json.
type result struct {
	Name      string   `json:"name"`
	Digest    string   `json:"digest"`
	Platforms []string `json:"platforms"`
	File      string   `json:"file,omitempty"` // "": the standard output, or pushed
}

func runBuild(c *cli.Console, version string, o options) error {
	i, err := o.image(version, cmp.Or(o.tag, "gc.local/gc:"+tagOf(version)))
	if err != nil {
		return err
	}
	r := resultOf(i)
	r.File = o.output
	to := c.Out
	if o.output == "-" {
		r.File, to = "", c.Err
		r.Digest, err = i.Write(c.Out)
	} else {
		r.Digest, err = writeFile(o.output, i)
	}
	if err != nil {
		return notProgram(err)
	}
	on := *c
	on.Out = to
	return r.print(&on, o.json)
}

// image is the image of a name with the programs that the options select.
func (o options) image(version, name string) (image.Image, error) {
	i := image.Image{Name: name, Version: version}
	if _, err := image.ParseName(name); err != nil {
		return i, cli.Fail(cli.ExitUsage, "such as gc.local/gc:v1", "%v", err)
	}
	var err error
	if i.Platforms, err = platforms(version, o.from); err == nil && o.controller {
		err = addK8s(i.Platforms)
	}
	return i, err
}

func resultOf(i image.Image) result {
	r := result{Name: i.Name}
	for _, p := range i.Platforms {
		r.Platforms = append(r.Platforms, "linux/"+p.Arch)
	}
	return r
}

func (r result) print(c *cli.Console, json bool) error {
	if json {
		return c.PrintJSON(r)
	}
	_, err := fmt.Fprintf(c.Out, "%s@%s %s\n", r.Name, r.Digest, strings.Join(r.Platforms, ","))
	return err
}

// notProgram adds the next step to the error of a file that is no program for an image.
func notProgram(err error) error {
	if errors.Is(err, image.ErrProgram) {
		return cli.Fail(cli.ExitFailure, "make dist builds such programs; give one with --from FILE", "%w", err)
	}
	return err
}

// tagOf is a version as the tag of an image.
func tagOf(version string) string {
	return regexp.MustCompile(`[^A-Za-z0-9_.-]`).ReplaceAllString(version, "-")
}

// architectures are those that an image gets if their programs are there.
var architectures = []string{"amd64", "arm64"}

// platforms finds the programs.
func platforms(version string, from []string) (all []image.Platform, err error) {
	for _, file := range from {
		arch, err := archOf(file)
		if err != nil {
			return nil, err
		}
		all = append(all, platform(arch, file))
	}
	if len(from) > 0 {
		return all, nil
	}
	own, err := self.Program()
	if err != nil {
		return nil, err
	}
	var missing error
	for _, arch := range architectures {
		file, err := install.Choose(install.Machine{OS: "linux", Arch: arch}, own, goruntime.GOOS, goruntime.GOARCH, version)
		if err != nil {
			missing = err
			continue
		}
		all = append(all, platform(arch, file))
	}
	if len(all) == 0 {
		return nil, missing
	}
	return all, nil
}

func archOf(file string) (string, error) {
	f, err := os.Open(file)
	if err != nil {
		return "", err
	}
	defer f.Close()
	arch, err := image.Arch(f)
	if err != nil {
		return "", cli.Fail(cli.ExitFailure, "make dist builds such programs", "%s: %w", file, err)
	}
	return arch, nil
}

// platform has gc, and the program that gc mcp executes if it is beside it.
func platform(arch, gc string) image.Platform {
	p := image.Platform{Arch: arch, Programs: map[string]string{"gc": gc}}
	if mcp := beside(gc, "gc-mcp"); mcp != "" {
		p.Programs["gc-mcp"] = mcp
	}
	return p
}

// beside returns the program of a name in the directory of gc, for the same platform; "" if
// there is none.
func beside(gc, name string) string {
	if real, err := filepath.EvalSymlinks(gc); err == nil {
		gc = real
	}
	rest, ok := strings.CutPrefix(filepath.Base(gc), "gc")
	if !ok {
		return ""
	}
	path := filepath.Join(filepath.Dir(gc), name+rest)
	if info, err := os.Stat(path); err != nil || !info.Mode().IsRegular() {
		return ""
	}
	return path
}

// addK8s adds gc-k8s to each platform.
func addK8s(all []image.Platform) error {
	for _, p := range all {
		if p.Programs["gc-k8s"] = beside(p.Programs["gc"], "gc-k8s"); p.Programs["gc-k8s"] == "" {
			return cli.Fail(cli.ExitNotFound, "make build and make dist build it", "there is no gc-k8s for %s beside %s", p.Arch, p.Programs["gc"])
		}
	}
	return nil
}

// writeFile writes the image to a file, which is whole or as before.
func writeFile(file string, i image.Image) (digest string, err error) {
	if info, err := os.Stat(file); err == nil && !info.Mode().IsRegular() {
		if info.IsDir() {
			return "", fmt.Errorf("%s: is a directory", file)
		}
		return writeTo(file, i) // a device or a pipe
	}
	out, err := os.CreateTemp(filepath.Dir(file), "."+filepath.Base(file)+"-*")
	if err != nil {
		return "", fmt.Errorf("%s: %w", file, errors.Unwrap(err))
	}
	defer func() {
		if err != nil {
			os.Remove(out.Name())
		}
	}()
	digest, err = i.Write(out)
	if err = errors.Join(err, out.Chmod(0o644), out.Close()); err != nil {
		return "", err
	}
	return digest, os.Rename(out.Name(), file)
}

func writeTo(file string, i image.Image) (digest string, err error) {
	out, err := os.OpenFile(file, os.O_WRONLY, fs.FileMode(0))
	if err != nil {
		return "", err
	}
	digest, err = i.Write(out)
	return digest, errors.Join(err, out.Close())
}

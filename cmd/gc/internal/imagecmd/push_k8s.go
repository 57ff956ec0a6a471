//go:build k8s

package imagecmd

import (
	"context"
	"errors"
	"io"

	"gascity.dev/gc/cmd/gc/internal/cli"
	"gascity.dev/gc/internal/registry"
)

func runPush(ctx context.Context, c *cli.Console, version, name string, o options) error {
	i, err := o.image(version, name)
	if err != nil {
		return err
	}
	r := resultOf(i)
	write := func(w io.Writer) error { _, err := i.Write(w); return err }
	r.Digest, err = registry.Push(ctx, name, write, registry.Options{PlainHTTP: o.plainHTTP, UserAgent: "gc/" + version})
	if errors.Is(err, registry.ErrDenied) {
		return cli.Fail(cli.ExitFailure, "docker login or podman login stores credentials for a registry", "%w", err)
	}
	if err != nil {
		return notProgram(err)
	}
	return r.print(c, o.json)
}

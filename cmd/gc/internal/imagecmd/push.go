package imagecmd

import (
	"github.com/spf13/cobra"

	"gascity.dev/gc/cmd/gc/internal/cli"
)

func newPush(c *cli.Console, version string) *cobra.Command {
	var o options
	cmd := &cobra.Command{
		Use:   "push REGISTRY/NAME:TAG",
		Short: "Send an image with gc to a registry",
		Args:  cli.Exactly(1),
		RunE:  func(cmd *cobra.Command, args []string) error { return runPush(cmd.Context(), c, version, args[0], o) },
	}
	cmd.Flags().BoolVar(&o.plainHTTP, "plain-http", false, "connect without TLS; a registry on this machine does not need it")
	o.flags(cmd.Flags())
	return cli.Describe(cmd, `Makes the same image as gc image build --tag REGISTRY/NAME:TAG, and sends it to its
registry. It requires no container tool. The credentials are those of docker login, in
~/.docker/config.json or in the directory DOCKER_CONFIG, with its credential helpers, or
of podman login. The command prints the name, the digest and the platforms of the image.
gc-k8s does the work, so it must be installed next to gc.`, `
		gc image push registry.example/team/gc:v1
		gc image push registry.example/team/gc:v1 --controller
		gc image push localhost:5000/gc:v1 --from dist/gc_v1_linux_amd64`, cli.Statuses{
		cli.ExitUnsupported: "gc-k8s is not installed",
	})
}

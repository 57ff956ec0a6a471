//go:build !k8s

package imagecmd

import (
	"context"

	"gascity.dev/gc/cmd/gc/internal/backend"
	"gascity.dev/gc/cmd/gc/internal/cli"
)

// runPush executes gc-k8s.
func runPush(context.Context, *cli.Console, string, string, options) error {
	return backend.BecomeK8s()
}

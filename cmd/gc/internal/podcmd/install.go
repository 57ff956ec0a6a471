package podcmd

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/spf13/cobra"

	"gascity.dev/gc/cmd/gc/internal/cli"
)

// NewInstall returns gc pod-install.
func NewInstall() *cobra.Command {
	cmd := &cobra.Command{
		Use:    Install + " DEST",
		Short:  "Copy this program to a path, for a container of any image",
		Args:   cli.Exactly(1),
		Hidden: true,
		RunE:   func(_ *cobra.Command, args []string) error { return install(args[0]) },
	}
	return cli.Describe(cmd, `Internal: the command of a pod's init container. It copies this program to DEST, and
gc-mcp beside it if it is beside this program.`, `
		gc pod-install /gc/gc`, cli.Statuses{})
}

// beside are programs that gc executes and finds in its own directory.
var beside = []string{"gc-mcp"}

func install(dest string) error {
	own, err := os.Executable()
	if err != nil {
		return err
	}
	if err := copyProgram(own, dest); err != nil {
		return err
	}
	for _, name := range beside {
		err := copyProgram(filepath.Join(filepath.Dir(own), name), filepath.Join(filepath.Dir(dest), name))
		if err != nil && !errors.Is(err, fs.ErrNotExist) {
			return err
		}
	}
	return nil
}

// copyProgram copies a program; dest is whole or as before.
func copyProgram(from, dest string) (err error) {
	in, err := os.Open(from)
	if err != nil {
		return err
	}
	defer in.Close()
	if info, err := os.Stat(dest); err == nil && info.IsDir() {
		return fmt.Errorf("%s: is a directory", dest)
	}
	out, err := os.CreateTemp(filepath.Dir(dest), "."+filepath.Base(dest)+"-*")
	if err != nil {
		return fmt.Errorf("%s: %w", dest, errors.Unwrap(err))
	}
	defer func() {
		if err != nil {
			os.Remove(out.Name())
		}
	}()
	_, err = io.Copy(out, in)
	err = errors.Join(err, out.Chmod(0o755), out.Close())
	if err != nil {
		return err
	}
	return os.Rename(out.Name(), dest)
}

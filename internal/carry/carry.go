// Package carry takes the state of a work directory to another machine: what is not
// committed, by a git bundle, or all files, by tar; and the files in which an agent's
// program keeps a conversation.
//
// It runs git, tar and sh on both sides and knows nothing of how they are reached. Nothing
// at the destination is changed before everything has arrived there, and files or commits
// that exist only there are never replaced: it fails instead. The source stays as it is.
// Nobody may write to either directory meanwhile. Only gc agent move calls it.
package carry

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strings"

	"gascity.dev/gc/internal/spawn"
)

// ErrConflict means that the destination has something that would be lost.
var ErrConflict = errors.New("the other work directory has changes of its own")

// Place is a directory on a machine.
type Place struct {
	// Run runs a command on the machine, as [spawn.Run] does on this one.
	Run func(ctx context.Context, c spawn.Command) (int, error)
	Env []string // of every command
	Dir string   // exists
}

// conflict is the exit status of a script for ErrConflict.
const conflict = 66

// maxOutput bounds the output of a script that an error repeats.
const maxOutput = 2 << 10

// Git takes the state of a git work tree with its branch and the history of that: the
// result has the same commit, branch and files; changes that were staged are not staged
// any more. Ignored files stay behind. The destination is a clone, or a directory without
// files. ErrConflict if it has changes, or commits on the branch that the source lacks.
func Git(ctx context.Context, from, to Place) error {
	branch, err := from.output(ctx, branchLine)
	if err != nil {
		return err
	}
	to.Env = append(to.Env[:len(to.Env):len(to.Env)], "GC_BRANCH="+branch)
	return pass(ctx, from, packGit, to, unpackGit)
}

// Tar takes all files. The destination has none: else ErrConflict. The directory .gc, which
// belongs to the gc of each machine, is left out.
func Tar(ctx context.Context, from, to Place) error {
	return pass(ctx, from, packTar, to, unpackTar)
}

// pass runs two scripts, with the output of one as the input of the other. The second one
// learns by the end of the data that it is complete: its last line is the word done.
func pass(ctx context.Context, from Place, pack string, to Place, unpack string) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	r, w := io.Pipe()
	packed := make(chan error, 1)
	go func() {
		err := from.script(ctx, pack, nil, w)
		w.CloseWithError(err)
		packed <- err
	}()
	err := to.script(ctx, unpack, r, nil)
	r.CloseWithError(io.ErrClosedPipe)
	if err != nil {
		cancel()
	}
	if here := <-packed; here != nil && (err == nil || errors.Is(err, errIncomplete)) {
		return here
	}
	return err
}

// errIncomplete is why a destination did nothing: the source failed.
var errIncomplete = errors.New("the data is incomplete")

// incomplete is the exit status of a script for errIncomplete.
const incomplete = 65

// errNothing is why a source has no data.
var errNothing = errors.New("there is nothing to take")

// nothing is the exit status of a script for errNothing.
const nothing = 67

// script runs a shell script in the directory.
func (p Place) script(ctx context.Context, text string, in io.Reader, out io.Writer) error {
	said := &tail{}
	code, err := p.Run(ctx, spawn.Command{Line: text, Dir: p.Dir, Env: p.Env, Stdin: in, Stdout: out, Stderr: said})
	why := strings.TrimSpace(string(*said))
	switch {
	case err != nil:
		return err
	case code == conflict:
		return fmt.Errorf("%w: %s: %s", ErrConflict, p.Dir, why)
	case code == incomplete:
		return errIncomplete
	case code == nothing:
		return errNothing
	case code != 0:
		return fmt.Errorf("%s: status %d: %s", p.Dir, code, why)
	}
	return nil
}

// output returns what a script prints, trimmed.
func (p Place) output(ctx context.Context, text string) (string, error) {
	var out strings.Builder
	err := p.script(ctx, text, nil, &out)
	return strings.TrimSpace(out.String()), err
}

// tail keeps the end of what is written.
type tail []byte

// Write implements io.Writer.
func (t *tail) Write(b []byte) (int, error) {
	*t = append(*t, b...)
	*t = (*t)[max(0, len(*t)-maxOutput):]
	return len(b), nil
}

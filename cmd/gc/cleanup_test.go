package main

import (
	"os"
	"path/filepath"
	goruntime "runtime"
	"testing"

	"github.com/rogpeppe/go-internal/testscript"
)

// failing runs a script that must fail.
type failing struct {
	testing.TB
	failed bool
}

func (f *failing) Parallel()      {}
func (f *failing) Verbose() bool  { return false }
func (f *failing) FailNow()       { f.failed = true; goruntime.Goexit() }
func (f *failing) Fatal(a ...any) { f.Log(a...); f.FailNow() }

func (f *failing) Run(_ string, script func(testscript.T)) {
	done := make(chan struct{})
	go func() {
		defer close(done)
		script(f)
	}()
	<-done
}

// TestFailedScriptLeavesNothing: a script that fails ends every server that it
// started, also that of another machine's stand-in.
func TestFailedScriptLeavesNothing(t *testing.T) {
	t.Parallel()
	file := filepath.Join(t.TempDir(), "fails.txtar")
	script := `gc session new near -- cat
env HOME=$WORK/farhome GC_MUX_SOCKET=$WORK/.mux/far
mkdir $HOME
gc session new far -- cat
no-such-command
`
	if err := os.WriteFile(file, []byte(script), 0o600); err != nil {
		t.Fatal(err)
	}
	var dir string
	f := &failing{TB: t}
	f.Run("", func(ft testscript.T) {
		testscript.RunT(ft, testscript.Params{Files: []string{file}, Setup: func(env *testscript.Env) error {
			dir = env.WorkDir
			return setupScript(env)
		}})
	})
	if !f.failed {
		t.Fatal("the script did not fail")
	}
	for _, p := range leftOvers(t, dir) {
		t.Errorf("left behind: process %d %s", p.PID, p.Comm)
	}
}

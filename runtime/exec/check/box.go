package check

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
)

var boxRules = []rule{
	{"exec", "runs a command line in the session's work dir and environment, with its own exit status; stop ends what it left running",
		"with proc.exec callers may run anything beside the agent", executes},
	{"provision", "creates a box: exec works, and stop ends what it left running",
		"with proc.provision callers may run their own multiplexer in the box: one that outlives stop keeps running on the host, unnoticed",
		provisions},
	{"relaunch", "replaces the program by another command and keeps the metadata",
		"a changed command ends the session: its box and metadata are lost", relaunches},
	{"copy-to", "copies a file below the work dir and nowhere else", "the agent does not find its files", copies},
	{"wait-idle", "returns when the prompt is open", "queued messages wait forever", func(r *run) error {
		h, err := r.tryStart(r.name(), config{"command": `printf 'ask> '; exec sleep 1000`, "ready_prompt_prefix": "ask> "})
		if err != nil {
			return err
		}
		_, err = r.does("wait-idle", h.name, "", "20")
		return err
	}},
	{"wait-idle", "exits with 124 on a timeout", "callers type while the agent is working", func(r *run) error {
		h, err := r.start(config{"command": `while :; do echo busy; sleep 0.1; done & ` + program})
		if err != nil {
			return err
		}
		a, err := r.call("wait-idle", h.name, "", "1")
		switch {
		case err != nil:
			return err
		case a.code == notImplemented:
			return errMissing
		case a.code == 0:
			return errors.New("a program that writes constantly counts as idle")
		}
		return nil
	}},
}

func copies(r *run) error {
	h, err := r.start(nil)
	if err != nil {
		return err
	}
	src := filepath.Join(r.dir, "copied")
	if err := os.WriteFile(src, []byte(odd), 0o600); err != nil {
		return err
	}
	if _, err := r.does("copy-to", h.name, "", src, "deep/copied"); err != nil {
		return err
	}
	got, err := os.ReadFile(filepath.Join(h.dir, "deep", "copied"))
	if err == nil && string(got) != odd {
		err = fmt.Errorf("%q became %q", odd, clip(string(got)))
	}
	// A box on another machine has its own files.
	if _, here := os.Stat(h.log); err != nil && here == nil {
		return err
	}
	a, err := r.call("copy-to", h.name, "", src, "../escaped")
	if err == nil && a.code == 0 {
		err = errors.New("copy-to accepts a path that leaves the work dir")
	}
	return err
}

func relaunches(r *run) error {
	if !r.has("relaunch") {
		return skip("relaunch is not declared")
	}
	h, err := r.start(config{"env": map[string]string{"GC_SESSION_ID": "1"}})
	if err != nil {
		return err
	}
	if _, err := r.does("set-meta", h.name, "kept", "gc.check"); err != nil {
		return err
	}
	data, err := encode(config{"work_dir": h.dir, "command": `echo "again $GC_SESSION_ID $GC_CHECK_NEW" >> "$GC_CHECK_LOG"; exec sleep 1000`,
		"env": map[string]string{"GC_CHECK_NEW": "added"}})
	if err != nil {
		return err
	}
	if _, err := r.does("relaunch", h.name, data); err != nil {
		return err
	}
	if err := h.says("again 1 added\n"); err != nil {
		return err
	}
	if err := h.runs(); err != nil {
		return err
	}
	return r.prints("kept", "get-meta", h.name, "", "gc.check")
}

func executes(r *run) error {
	if !r.has("proc.exec") {
		return skip("proc.exec is not declared")
	}
	h, err := r.start(nil)
	if err != nil {
		return err
	}
	a, err := r.call("exec", h.name, `pwd -P; printf '%s\n' "$GC_CHECK_ODD"; exit 2`)
	if err == nil && (a.code != 2 || a.text() != h.dir+"\n"+odd) {
		err = fmt.Errorf("exec: %v", a)
	}
	if err != nil {
		return err
	}
	return r.leaves(h)
}

// leaves checks that stop ends what exec left running.
func (r *run) leaves(h *host) error {
	// As a multiplexer does: it leaves its caller's session and process group.
	a, err := r.call("exec", h.name, `setsid sh -c 'n=0; while [ $n -lt 600 ]; do date +%N > beat; sleep 0.05; n=$((n + 1)); done' >/dev/null 2>&1 </dev/null & echo away`)
	if err != nil {
		return err
	}
	if a.code != 0 || strings.TrimSpace(a.out) != "away" {
		return fmt.Errorf("exec in the box: %v", a)
	}
	if err := r.eventually(func() error {
		if !h.beats() {
			return errors.New("a background process of exec does not run")
		}
		return nil
	}); err != nil {
		return err
	}
	if _, err := r.does("stop", h.name, ""); err != nil {
		return err
	}
	if h.beats() {
		return errors.New("a background process of exec keeps running after stop")
	}
	return nil
}

func provisions(r *run) error {
	if !r.has("proc.provision") {
		return skip("proc.provision is not declared")
	}
	h := &host{r: r, name: r.name(), dir: r.dir}
	data, err := encode(config{"work_dir": h.dir, "command": program})
	if err != nil {
		return err
	}
	r.started = append(r.started, session{r.city, h.name})
	if _, err := r.does("provision", h.name, data); err != nil {
		return err
	}
	if err := r.prints("false", "is-running", h.name, ""); err != nil {
		return err
	}
	return r.leaves(h)
}

package check

import (
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"
)

// slowAnswer is how long a query may take.
const slowAnswer = time.Second

var lifeRules = []rule{
	{"protocol", "prints a handshake, or is not implemented", "callers do not know what the script can do", handshake},
	{"protocol", "an unknown operation exits with 2",
		"any other status is an answer: operations added later fail instead of being skipped",
		func(r *run) error {
			a, err := r.call("no-such-operation", r.name(), "")
			if err == nil && a.code != notImplemented {
				err = fmt.Errorf("no-such-operation: %v", a)
			}
			return err
		}},
	{"is-running", "a name never started does not run", "callers refuse to start it",
		func(r *run) error { return r.prints("false", "is-running", r.name(), "") }},
	{"is-running", "answers in less than a second", "callers query every session several times per patrol", isFast},
	{"start", "runs the command in work_dir with env", "the agent gets another directory or other variables", startsProgram},
	{"start", "fails with \"already exists\" for a running name, which keeps running", "callers start a second agent or lose the first", startTwice},
	{"is-running", "a program that ended does not run", "callers never restart it", seesEnd},
	{"start", "starts a name again after a crash, with the same GC_SESSION_ID",
		"callers choose the id, and count from 1: after a crash the agent stays down", startsAfterCrash},
	{"stop", "ends the program and its children", "agents keep running unnoticed", stopsTree},
	{"stop", "succeeds without such a session", "callers report that their shutdown failed", func(r *run) error {
		_, err := r.does("stop", r.name(), "")
		return err
	}},
	{"stop", "ends no other session with the same GC_SESSION_ID", "callers choose the id: two cities both count from 1", sameID},
	{"interrupt", "reaches the program as SIGINT", "a drain does not interrupt", func(r *run) error {
		h, err := r.start(nil)
		if err != nil {
			return err
		}
		if _, err := r.does("interrupt", h.name, ""); err != nil {
			return err
		}
		return h.says("interrupted")
	}},
	{"interrupt", "succeeds without a session", gone, func(r *run) error { return r.succeedsAsGone("interrupt", "") }},
}

const gone = "callers mistake a session that just ended for a broken backend, or a lost message for a delivered one"

func handshake(r *run) error {
	a, err := r.call("protocol", "", "")
	if err != nil {
		return err
	}
	if a.code == notImplemented || a.code == 0 && a.text() == "" {
		return errMissing
	}
	if a.code != 0 {
		return fmt.Errorf("protocol: %v", a)
	}
	var h struct {
		Version      *int     `json:"version"`
		Capabilities []string `json:"capabilities"`
	}
	if err := json.Unmarshal([]byte(a.out), &h); err != nil || h.Version == nil {
		return fmt.Errorf("%q is not a handshake: {\"version\": 1, \"capabilities\": [...]}", clip(a.out))
	}
	r.spoken, r.caps = true, h.Capabilities
	return nil
}

func isFast(r *run) error {
	var took []time.Duration
	for range 5 {
		a, err := r.does("is-running", r.name(), "")
		if err != nil {
			return err
		}
		took = append(took, a.took)
	}
	slices.Sort(took)
	if median := took[len(took)/2]; median > slowAnswer {
		return fmt.Errorf("it took %v", median.Round(time.Millisecond))
	}
	return nil
}

func startsProgram(r *run) error {
	h, err := r.start(config{"env": map[string]string{"GC_SESSION_ID": "1"}})
	if err != nil {
		return err
	}
	for _, want := range []string{"dir=" + h.dir + "\n", "odd=" + odd + ".\n", "id=1.\n"} {
		if err := h.says(want); err != nil {
			return err
		}
	}
	return h.runs()
}

func startTwice(r *run) error {
	h, err := r.start(nil)
	if err != nil {
		return err
	}
	a, err := r.call("start", h.name, `{"command":"exec sleep 1000"}`)
	if err != nil {
		return err
	}
	if a.code == 0 || !strings.Contains(strings.ToLower(a.stderr), "already exists") {
		return fmt.Errorf("start of a running name: %v", a)
	}
	return h.runs()
}

func seesEnd(r *run) error {
	h, err := r.tryStart(r.name(), config{"command": "exit 7"})
	if err != nil {
		return err
	}
	return h.ends()
}

func startsAfterCrash(r *run) error {
	id := map[string]string{"GC_SESSION_ID": "1"}
	name := r.name()
	h, err := r.tryStart(name, config{"command": "exit 7", "env": id})
	if err != nil {
		return err
	}
	if err := h.ends(); err != nil {
		return err
	}
	if h, err = r.startAs(name, config{"env": id}); err != nil {
		return err
	}
	return h.runs()
}

func stopsTree(r *run) error {
	// The child writes as long as it lives.
	h, err := r.start(config{"command": `(while :; do date +%N > beat; sleep 0.05; done) & ` + program})
	if err != nil {
		return err
	}
	if _, err := r.does("stop", h.name, ""); err != nil {
		return err
	}
	if err := r.prints("false", "is-running", h.name, ""); err != nil {
		return err
	}
	if h.beats() {
		return errors.New("a child of the program keeps running after stop")
	}
	return nil
}

func sameID(r *run) error {
	id := map[string]string{"GC_SESSION_ID": "1"}
	one, err := r.start(config{"env": id})
	if err != nil {
		return err
	}
	two, err := r.start(config{"env": id})
	if err != nil {
		return err
	}
	if _, err := r.does("stop", one.name, ""); err != nil {
		return err
	}
	if err := two.runs(); err != nil {
		return fmt.Errorf("after the stop of %s: %w", one.name, err)
	}
	return nil
}

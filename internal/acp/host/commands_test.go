package host_test

import (
	"errors"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"gascity.dev/gc/internal/acp/control"
)

// allows waits for a question and answers it.
func (r *running) allows() control.Question {
	r.t.Helper()
	st := r.until("asked", func(s control.State) bool { return s.Pending != nil })
	if err := r.Respond(r.t.Context(), control.Answer{RequestID: st.Pending.RequestID, Option: "Allow"}); err != nil {
		r.t.Fatal(err)
	}
	return *st.Pending
}

// Commands run only where that is offered and allowed.
func TestCommands(t *testing.T) {
	r := start(t, setup{launch: control.Launch{Terminal: true, Allow: []string{"execute:echo *", "execute:exec sleep *"}, Deny: []string{"execute:git push*"}}})
	r.ready()
	r.send("1", "RUN 100 true; echo hello")
	if q := r.allows(); q.Metadata["tool"] != "execute" || q.Metadata["command"] != "true; echo hello" {
		t.Errorf("%+v", q)
	}
	r.idle(1)
	r.shows(`wait_for_exit {"exitCode":0}`)
	r.shows(`hello\n","truncated":false,"exitStatus":{"exitCode":0}}`)
	r.shows("release {}")
	r.shows("no such command")
	r.shows("⎿ hello") // the tool call that names the terminal

	r.send("2", "RUN 4 echo 0123456789")
	r.idle(2)
	r.shows(`output {"output":"789\n","truncated":true,`)
	r.send("3", "RUN 9 exec sleep 1000")
	r.idle(3)
	r.shows(`wait_for_exit {"exitCode":null,"signal":"SIGTERM"}`)
	r.send("4", "RUN 9 A='b c' git push")
	r.idle(4)
	r.shows("not allowed")

	off := start(t, setup{launch: control.Launch{Permission: "allow"}})
	off.ready()
	off.send("1", "RUN 9 echo hi")
	off.idle(1)
	off.shows("method not found: terminal/create")
}

// No command outlives the host.
func TestCommandsEndWithTheHost(t *testing.T) {
	r := start(t, setup{launch: control.Launch{Terminal: true, Permission: "allow"}})
	r.ready()
	r.send("1", "LEAVE echo $$ >pid.new; mv pid.new pid; trap '' TERM; while :; do sleep 1000; done")
	r.idle(1)
	file := filepath.Join(filepath.Dir(r.socket), "pid")
	for deadline := time.Now().Add(20 * time.Second); ; time.Sleep(5 * time.Millisecond) {
		if _, err := os.Stat(file); err == nil {
			break
		} else if time.Now().After(deadline) {
			t.Fatal("the command does not run")
		}
	}
	if err := r.End(t.Context()); err != nil && !errors.Is(err, control.ErrLost) {
		t.Error(err)
	}
	<-r.ended
	b, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	if pid, _ := strconv.Atoi(strings.TrimSpace(string(b))); pid == 0 || syscall.Kill(pid, 0) == nil {
		t.Errorf("the command %s outlives the host", b)
	}
}

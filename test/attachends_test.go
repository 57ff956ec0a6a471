//go:build e2e

package e2e

import (
	"fmt"
	"path/filepath"
	"syscall"
	"testing"

	"gascity.dev/gc/internal/proctree"
)

// TestAttachStopped: a client stopped during full output costs the server no
// memory and the program no time; it is repainted when it continues.
func TestAttachStopped(t *testing.T) {
	b := newBox(t)
	const megabytes = 60
	gate := filepath.Join(b.dir, "gate")
	b.gc("session", "new", name, "--", fmt.Sprintf(
		"echo ready; until [ -e %s ]; do sleep 0.01; done; yes 0123456789012345678901234567890123456789 | head -c %d000000; echo; echo all written; exec cat", gate, megabytes))
	b.waits("text=^ready")
	p := b.sit(cols, rows, "session", "attach", name)
	p.sees(`^ready`)
	p.signal(syscall.SIGSTOP)
	eventually(t, func() string { return "the client is not stopped" }, func() bool {
		now, err := proctree.Get(p.cmd.Process.Pid)
		return err == nil && now.Stopped()
	})
	before := b.status().Server.MemoryBytes
	b.file("gate", "")
	b.waits("text=^all written")
	if grown := b.status().Server.MemoryBytes - before; grown > 24<<20 {
		t.Errorf("the server has %d bytes more", grown)
	}
	p.mu.Lock()
	seen := len(p.raw)
	p.mu.Unlock()
	p.signal(syscall.SIGCONT)
	p.sees(`^all written`)
	eventually(t, func() string { return "the person sees\n" + p.screen() + "\nnot\n" + b.screen() }, func() bool { return p.screen() == b.screen() })
	p.mu.Lock()
	late := len(p.raw) - seen
	p.mu.Unlock()
	if late > 8<<20 {
		t.Errorf("%d bytes came late, of %d MB", late, megabytes)
	}
	p.types("still here\r")
	p.sees(`^still here`)
	p.types("\x02d")
	p.done()
	p.restored()
}

// TestAttachEndedBySignals: whatever ends the client, the session continues;
// unless it is SIGKILL, the terminal is restored.
func TestAttachEndedBySignals(t *testing.T) {
	for sig, code := range map[syscall.Signal]int{
		syscall.SIGHUP: 128 + 1, syscall.SIGINT: 128 + 2, syscall.SIGTERM: 128 + 15, syscall.SIGKILL: -1,
	} {
		t.Run(sig.String(), func(t *testing.T) {
			b := newBox(t)
			b.gc("session", "new", name, "--", `printf '\e[?1049h\e[?1000h\e[?2004h\e[?25lall on\n'; exec cat`)
			b.waits("text=all on")
			p := b.sit(cols, rows, "session", "attach", name)
			p.sees(`all on`)
			p.signal(sig)
			if got := p.done(); got != code {
				t.Errorf("exit status %d, want %d", got, code)
			}
			if sig != syscall.SIGKILL { // nothing can be restored then
				p.restored()
			}
			eventually(t, func() string { return "the client is still attached" }, func() bool { return b.session(name).Attached == 0 })
			again := b.sit(cols, rows, "session", "attach", name)
			again.sees(`all on`)
			again.types("here\r")
			again.sees(`^here`)
			again.types("\x02d")
			again.done()
			again.restored()
		})
	}
}

package exec_test

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"gascity.dev/gc/runtime"
)

// If a script can run commands in its box, setup and live commands run there.
func TestSetupRunsInTheBox(t *testing.T) {
	b := newBad(t, `case $1 in
protocol) echo '{"version":1,"capabilities":["proc.exec"]}';;
is-running) [ -e up ] && echo true || echo false;;
start) touch up;;
exec) cat >> boxed; grep -q fails boxed && { echo no good >&2; exit 3; };;
stop) rm -f up;;
*) exit 2;;
esac
exit 0`)
	host := filepath.Join(t.TempDir(), "host")
	var steps []runtime.Step
	p := b.reporting(t, &steps)
	cfg := runtime.Config{WorkDir: b.dir, SessionSetup: []string{"touch " + host}, SessionSetupScript: "./the-setup", SessionLive: []string{"touch " + host + "; : live"}}
	if err := p.Start(t.Context(), "a", cfg); err != nil {
		t.Fatal(err)
	}
	cfg.SessionLive = []string{": fails"}
	steps = nil
	if err := p.RunLive(t.Context(), "a", cfg); err != nil {
		t.Fatal(err)
	}
	boxed, err := os.ReadFile(filepath.Join(b.dir, "boxed"))
	if err != nil {
		t.Fatal(err)
	}
	for _, line := range []string{"touch " + host, "./the-setup", ": live", ": fails", "GC_SESSION='a'"} {
		if !strings.Contains(string(boxed), line) {
			t.Errorf("%q did not reach the box:\n%s", line, boxed)
		}
	}
	if _, err := os.Stat(host); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("a command of the box ran here: %v", err)
	}
	if len(steps) != 1 || !steps[0].Warning || !strings.Contains(steps[0].Err.Error(), "no good") {
		t.Errorf("a live command that fails in the box: %+v", steps)
	}
}

// A changed command is a relaunch if the script has one, and ErrRelaunchUnsupported
// otherwise.
func TestRelaunchByScript(t *testing.T) {
	b := newBad(t, `case $1 in
protocol) [ -e can ] && echo '{"version":1,"capabilities":["relaunch"]}' || echo '{"version":1}';;
is-running) [ "$2" = a ] && echo true || echo false;;
relaunch) cat > config;;
*) exit 2;;
esac
exit 0`)
	cfg := runtime.Config{Command: "the-next"}
	if err := b.Relaunch(t.Context(), "a", cfg); !errors.Is(err, runtime.ErrRelaunchUnsupported) || b.Capabilities().Relaunch {
		t.Errorf("without the capability: %v", err)
	}
	if err := os.WriteFile(filepath.Join(b.dir, "can"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	p := b.open(t, b.path) // the handshake is made once
	if err := p.Relaunch(t.Context(), "b", cfg); !errors.Is(err, runtime.ErrSessionNotFound) {
		t.Errorf("without a session: %v", err)
	}
	if err := p.Relaunch(t.Context(), "a", cfg); err != nil || !p.Capabilities().Relaunch {
		t.Fatal(err)
	}
	if config, err := os.ReadFile(filepath.Join(b.dir, "config")); err != nil || !strings.Contains(string(config), `"command":"the-next"`) {
		t.Errorf("%s, %v", config, err)
	}
}

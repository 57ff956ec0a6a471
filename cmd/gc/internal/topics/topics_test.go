package topics

import (
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"gascity.dev/gc/internal/config"
	cityapi "gascity.dev/gc/internal/controller/api"
	"gascity.dev/gc/runtime"
)

func text(t *testing.T, topic string, args ...string) string {
	t.Helper()
	for _, tp := range All() {
		if tp.Name == topic {
			s, err := tp.Text(args)
			if err != nil {
				t.Fatal(err)
			}
			return s
		}
	}
	t.Fatalf("no topic %s", topic)
	return ""
}

// Every word of gc status is explained.
func TestStates(t *testing.T) {
	got := text(t, "states")
	words := []string{
		runtime.ActivityStarting, runtime.ActivityIdle, runtime.ActivityWorking, runtime.ActivityBlocked, runtime.ActivityDone,
		runtime.ActivityError, runtime.ActivityStuck, runtime.ActivityExited, runtime.ActivityUnknown,
	}
	for _, s := range []cityapi.State{
		cityapi.StateStopped, cityapi.StateStarting, cityapi.StateRunning, cityapi.StateDraining, cityapi.StateExited,
		cityapi.StateCrashed, cityapi.StateQuarantined, cityapi.StateSuspended, cityapi.StateUnknown,
	} {
		words = append(words, string(s))
	}
	for _, w := range words {
		if !strings.Contains(got, "\n  "+w+" ") {
			t.Errorf("%s is not explained", w)
		}
	}
}

func TestProviders(t *testing.T) {
	got := text(t, "providers")
	for _, name := range config.SessionProviders() {
		if !strings.Contains(got, "\n  "+name+" ") {
			t.Errorf("the session provider %s is not explained", name)
		}
	}
	for _, name := range config.PresetNames() {
		if !slices.Contains(strings.Fields(got), name) {
			t.Errorf("the preset %s is missing", name)
		}
	}
}

// internal are variables by which parts of gc talk to each other, keys of metadata, and
// those of tests.
var internal = []string{
	"GC_CHECK_", "GC_TEST_", "GC_KEY", "GC_OUTBOX", "GC_CITY_ID", "GC_STATUS_NONCE", "GC_SHOWN_QUESTION", "GC_SESSION_OP_", "GC_RESTART_REQUESTED",
	"GC_PROVISION_HASH", "GC_POD_WORKDIR", "GC_MUX_MARK", "GC_MCP_", "GC_LIVE_HASH", "GC_LAUNCH_HASH", "GC_CONFIG_HASH", "GC_DRAIN",
	"GC_CONTROL_SOCKET", "GC_CONTROLLER_READY_FD", "GC_EXEC_READ_ONLY", "GC_EXEC_DETACH_KEYS",
}

// Every variable that the code names is explained, or is listed above.
func TestVariables(t *testing.T) {
	got := text(t, "env")
	literal := regexp.MustCompile(`"(GC_[A-Z0-9_]+)"`)
	seen := 0
	for _, dir := range []string{"cmd", "internal", "mux", "runtime"} {
		err := filepath.WalkDir(filepath.Join("../../../..", dir), func(path string, d fs.DirEntry, err error) error {
			if err != nil || !strings.HasSuffix(path, ".go") || strings.HasSuffix(path, "_test.go") || strings.Contains(path, "testenv") {
				return err
			}
			b, err := os.ReadFile(path)
			for _, m := range literal.FindAllStringSubmatch(string(b), -1) {
				seen++
				hidden := slices.ContainsFunc(internal, func(p string) bool { return strings.HasPrefix(m[1], p) })
				if !hidden && !regexp.MustCompile(`\b`+m[1]+`\b`).MatchString(got) {
					t.Errorf("%s: %s is not in gc help env: add it to env.txt, or to the internal ones of this test", path, m[1])
				}
			}
			return err
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	if seen == 0 {
		t.Error("no variable was found")
	}
}

func TestCityTOML(t *testing.T) {
	if got := text(t, CityTOML, "agents"); !strings.Contains(got, "  idle_timeout (duration") || !strings.Contains(got, "  stuck_after (duration") {
		t.Errorf("agents: %s", got)
	}
	if got := text(t, CityTOML, "[agents.pool]"); !strings.Contains(got, "  namepool (list of strings)") {
		t.Errorf("agents.pool: %s", got)
	}
	if _, err := keys([]string{"agent_default"}); err == nil {
		t.Error("a table that does not exist has keys")
	}
}

func TestLinesFit(t *testing.T) {
	for _, topic := range All() {
		for line := range strings.SplitSeq(text(t, topic.Name), "\n") {
			if n := len([]rune(line)); n > 90 {
				t.Errorf("%s: a line has %d columns: %s", topic.Name, n, line)
			}
		}
	}
}

package outside

import (
	"os"
	"path/filepath"
	"testing"

	"gascity.dev/gc/internal/agent"
	"gascity.dev/gc/internal/config"
	"gascity.dev/gc/internal/controller/api"
	"gascity.dev/gc/runtime"
	"gascity.dev/gc/runtime/runtimefake"
)

// Without a controller the status is what the provider knows. A city that was
// never started has no sessions, and another city's session is not shown.
func TestStatus(t *testing.T) {
	dir := t.TempDir()
	city, err := config.Parse(filepath.Join(dir, config.FileName), []byte(`
[workspace]
name = "town"
[[agents]]
name = "up"
start_command = "x"
[[agents]]
name = "foreign"
start_command = "x"
[[agents]]
name = "off"
start_command = "x"
suspended = true
[[agents]]
name = "p"
start_command = "x"
pool = {min = 0, max = -1}
`))
	if err != nil {
		t.Fatal(err)
	}
	fake := runtimefake.New()
	for _, name := range []string{"gc-town-up", "gc-town-foreign", "gc-town-p-7"} {
		if err := fake.Start(t.Context(), name, runtime.Config{}); err != nil {
			t.Fatal(err)
		}
	}
	if err := fake.SetMeta(t.Context(), "gc-town-foreign", agent.MetaCityPath, "/another/city"); err != nil {
		t.Fatal(err)
	}
	states := func() (out []string) {
		s, err := Status(t.Context(), city, fake, "fake", agent.BuildOptions{})
		if err != nil {
			t.Fatal(err)
		}
		if s.City != "town" || s.SessionProvider != "fake" {
			t.Errorf("status of %q by %q", s.City, s.SessionProvider)
		}
		for _, ag := range s.Agents {
			out = append(out, ag.Name+" "+string(ag.State)+" "+ag.Session)
		}
		return out
	}
	check := func(want ...string) {
		t.Helper()
		got := states()
		if len(got) != len(want) {
			t.Fatalf("got %q, want %q", got, want)
		}
		for i := range want {
			if got[i] != want[i] {
				t.Errorf("got %q, want %q", got[i], want[i])
			}
		}
	}
	check("up stopped ", "foreign stopped ", "off suspended ")
	if err := os.MkdirAll(api.StateDir(dir), 0o700); err != nil {
		t.Fatal(err)
	}
	check("up running gc-town-up", "foreign stopped ", "off suspended gc-town-off", "p-7 running gc-town-p-7")
	fake.Fail("IsRunning", "gc-town-up", runtime.ErrBackendUnreachable)
	check("up unknown gc-town-up", "foreign stopped ", "off suspended gc-town-off", "p-7 running gc-town-p-7")
}

package outside

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"gascity.dev/gc/internal/agent"
	"gascity.dev/gc/internal/config"
	"gascity.dev/gc/internal/controller/api"
	"gascity.dev/gc/runtime"
	"gascity.dev/gc/runtime/runtimefake"
)

// newCity makes a city with a config, and returns its directory.
func newCity(t *testing.T, toml string) string {
	t.Helper()
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, config.FileName), []byte("[workspace]\nname = \"city\"\n"+toml), 0o600); err != nil {
		t.Fatal(err)
	}
	return dir
}

func TestDoctor(t *testing.T) {
	dir := newCity(t, `
[[rigs]]
name = "gone"
path = "nowhere"
[[agents]]
name = "a"
start_command = "surely-no-such-program --x"
[[agents]]
name = "b"
provider = "shell"
work_dir = "missing"
[[agents]]
name = "c"
start_command = "exec sleep 1"
`)
	fake := runtimefake.New()
	if err := fake.Start(t.Context(), "left", runtime.Config{}); err != nil {
		t.Fatal(err)
	}
	if err := fake.SetMeta(t.Context(), "left", agent.MetaCityPath, dir); err != nil {
		t.Fatal(err)
	}
	if err := os.Mkdir(api.StateDir(dir), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(api.DBPath(dir), []byte("no database"), 0o600); err != nil {
		t.Fatal(err)
	}
	got := Diagnose(t.Context(), dir, fake, agent.BuildOptions{Environ: []string{"PATH=/bin:/usr/bin", "HOME=/h"}})
	var text []string
	for _, f := range got {
		if f.Level != LevelOK {
			text = append(text, string(f.Level)+" "+f.About+": "+f.Text)
			if f.Hint == "" {
				t.Errorf("no hint: %+v", f)
			}
		}
	}
	all := strings.Join(text, "\n")
	for _, want := range []string{
		"problem rig gone: ", "problem agent a: its command surely-no-such-program was not found",
		"problem agent b: work dir ", "problem state: ", "warning session left: it runs without a controller",
	} {
		if !strings.Contains(all, want) {
			t.Errorf("%q is missing in:\n%s", want, all)
		}
	}
	if len(text) != 5 {
		t.Errorf("findings:\n%s", all)
	}
	if b, _ := os.ReadFile(api.DBPath(dir)); string(b) != "no database" {
		t.Error("doctor changed the database")
	}
}

// A database that is in use must not be moved away.
func TestDoctorOfAHeldDatabase(t *testing.T) {
	dir := newCity(t, "")
	if err := os.Mkdir(api.StateDir(dir), 0o700); err != nil {
		t.Fatal(err)
	}
	b, err := api.OpenStore(dir)
	if err != nil {
		t.Fatal(err)
	}
	defer b.Close()
	for _, f := range Diagnose(t.Context(), dir, nil, agent.BuildOptions{Environ: []string{"HOME=/h"}}) {
		if f.About == "state" && f.Level == LevelFail && strings.Contains(f.Text, "locked") && strings.Contains(f.Hint, "fuser") {
			return
		}
	}
	t.Error("nothing is said of it")
}

func TestDoctorOfABrokenConfig(t *testing.T) {
	dir := newCity(t, "[daemon]\nmax_restart = 1\n[[agents]]\nnme = \"x\"\n")
	var problems int
	for _, f := range Diagnose(t.Context(), dir, nil, agent.BuildOptions{Environ: []string{"HOME=/h"}}) {
		if f.Level == LevelFail && f.About == "config" {
			problems++
		}
	}
	if problems != 3 {
		t.Errorf("%d problems of the config, want each of the three", problems)
	}
}

// A controller that died differs from one that does not listen.
func TestDoctorOfTheControllersLock(t *testing.T) {
	dir := newCity(t, "[[agents]]\nname = \"a\"\nstart_command = \"exec cat\"\n")
	about := func() string {
		for _, f := range Diagnose(t.Context(), dir, nil, agent.BuildOptions{Environ: []string{"PATH=/bin:/usr/bin", "HOME=/h"}}) {
			if f.About == "controller" {
				return string(f.Level) + " " + f.Text
			}
		}
		return ""
	}
	if got := about(); got != "ok none is running" {
		t.Errorf("never started: %s", got)
	}
	lock, err := api.TakeLock(dir)
	if err != nil {
		t.Fatal(err)
	}
	if got := about(); !strings.HasPrefix(got, "problem pid ") || !strings.Contains(got, "does not listen") {
		t.Errorf("the lock is held: %s", got)
	}
	if err := lock.Close(); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(api.SocketPath(dir), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if got := about(); got != "warning the last one died: its socket is still there" {
		t.Errorf("a socket is left: %s", got)
	}
}

package controller

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"gascity.dev/gc/internal/config"
	"gascity.dev/gc/internal/controller/api"
	"gascity.dev/gc/runtime/runtimefake"
)

// childEnv makes the test binary a background controller with a fake backend.
const childEnv = "GC_TEST_CONTROLLER_CITY"

func childMain(ctx context.Context) int {
	err := Child(ctx, func() (Options, error) {
		c, err := config.Load(os.Getenv(childEnv))
		return Options{City: c, Provider: runtimefake.New()}, err
	})
	if err != nil {
		return 1
	}
	return 0
}

func spawnCity(t *testing.T, toml string) (string, func() (api.Status, error)) {
	t.Helper()
	dir, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(dir, config.FileName), []byte(toml), 0o600); err != nil {
		t.Fatal(err)
	}
	return dir, func() (api.Status, error) {
		return Spawn(t.Context(), SpawnOptions{City: dir, Bin: os.Args[0], Env: append(os.Environ(), childEnv+"="+dir)})
	}
}

func TestSpawnedControllerAnswersAndStops(t *testing.T) {
	dir, spawn := spawnCity(t, "[workspace]\nname = \"c\"\n[daemon]\nshutdown_timeout = \"50ms\"\n[[agents]]\nname = \"a\"\n")
	st, err := spawn()
	if err != nil {
		t.Fatalf("%v; log: %s", err, lastLog(dir, 20))
	}
	if len(st.Agents) != 1 || st.Agents[0].State != api.StateRunning || st.Controller.PID == os.Getpid() {
		t.Errorf("status after the start: %+v", st)
	}
	c, err := api.Dial(dir)
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	live, err := c.Status(t.Context())
	if err != nil || live.Controller.PID != st.Controller.PID {
		t.Errorf("status %+v, %v", live, err)
	}
	if _, err := spawn(); !errors.Is(err, api.ErrControllerRunning) || !strings.Contains(err.Error(), "pid") {
		t.Errorf("a second controller: %v", err)
	}
	if err := c.Restart(t.Context(), "nobody"); !errors.Is(err, api.ErrUnknownAgent) || api.Hint(err) == "" {
		t.Errorf("restart of an unknown agent: %v", err)
	}
	if err := c.Restart(t.Context(), "a"); err != nil {
		t.Errorf("restart: %v", err)
	}
	if err := c.Stop(t.Context(), api.StopRequest{}); err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(api.SocketPath(dir)); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("the socket is left: %v", err)
	}
	if _, err := api.Dial(dir); !errors.Is(err, api.ErrNoController) {
		t.Errorf("dial after the stop: %v", err)
	}
	if b, err := os.ReadFile(api.LogPath(dir)); err != nil || !strings.Contains(string(b), "first reconcile done") {
		t.Errorf("log %q, %v", b, err)
	}
}

func TestSpawnReportsTheChildsError(t *testing.T) {
	_, spawn := spawnCity(t, "[workspace]\nnme = \"c\"\n")
	_, err := spawn()
	if err == nil || !strings.Contains(err.Error(), `unknown key "nme"`) || !strings.Contains(api.Hint(err), "name") {
		t.Errorf("error %v, hint %q", err, api.Hint(err))
	}
}

func TestSpawnInAFolderWithoutWritePermission(t *testing.T) {
	if os.Geteuid() == 0 {
		dir, spawn := spawnCity(t, "[workspace]\nname = \"c\"\n")
		if err := os.WriteFile(api.StateDir(dir), nil, 0o600); err != nil { // root may write anywhere else
			t.Fatal(err)
		}
		if _, err := spawn(); !errors.Is(err, api.ErrStateDir) || api.Hint(err) == "" || strings.Contains(err.Error(), "\n") {
			t.Errorf("error %v", err)
		}
		return
	}
	dir, spawn := spawnCity(t, "[workspace]\nname = \"c\"\n")
	if err := os.Chmod(dir, 0o500); err != nil {
		t.Fatal(err)
	}
	defer os.Chmod(dir, 0o700)
	if _, err := spawn(); !errors.Is(err, api.ErrStateDir) || api.Hint(err) == "" || strings.Contains(err.Error(), "\n") {
		t.Errorf("error %v", err)
	}
}

// lastLog returns the last lines of the city's controller log.
func lastLog(city string, lines int) string {
	b, err := os.ReadFile(api.LogPath(city))
	if err != nil {
		return ""
	}
	all := strings.Split(strings.TrimRight(string(b), "\n"), "\n")
	return strings.Join(all[max(0, len(all)-lines):], "\n")
}

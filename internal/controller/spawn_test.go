package controller

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"gascity.dev/gc/internal/config"
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

func spawnCity(t *testing.T, toml string) (string, func() (Status, error)) {
	t.Helper()
	dir, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(dir, config.FileName), []byte(toml), 0o600); err != nil {
		t.Fatal(err)
	}
	return dir, func() (Status, error) {
		return Spawn(t.Context(), SpawnOptions{City: dir, Bin: os.Args[0], Env: append(os.Environ(), childEnv+"="+dir)})
	}
}

func TestSpawnedControllerAnswersAndStops(t *testing.T) {
	dir, spawn := spawnCity(t, "[workspace]\nname = \"c\"\n[daemon]\nshutdown_timeout = \"50ms\"\n[[agents]]\nname = \"a\"\n")
	st, err := spawn()
	if err != nil {
		t.Fatalf("%v; log: %s", err, LastLog(dir, 20))
	}
	if len(st.Agents) != 1 || st.Agents[0].State != StateRunning || st.Controller.PID == os.Getpid() {
		t.Errorf("status after the start: %+v", st)
	}
	c, err := Dial(dir)
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	live, err := c.Status(t.Context())
	if err != nil || live.Controller.PID != st.Controller.PID {
		t.Errorf("status %+v, %v", live, err)
	}
	if _, err := spawn(); !errors.Is(err, ErrControllerRunning) || !strings.Contains(err.Error(), "pid") {
		t.Errorf("a second controller: %v", err)
	}
	if err := c.Restart(t.Context(), "nobody"); !errors.Is(err, ErrUnknownAgent) || Hint(err) == "" {
		t.Errorf("restart of an unknown agent: %v", err)
	}
	if err := c.Restart(t.Context(), "a"); err != nil {
		t.Errorf("restart: %v", err)
	}
	if err := c.Stop(t.Context(), StopRequest{}); err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(socketPath(dir)); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("the socket is left: %v", err)
	}
	if _, err := Dial(dir); !errors.Is(err, ErrNoController) {
		t.Errorf("dial after the stop: %v", err)
	}
	if b, err := os.ReadFile(LogPath(dir)); err != nil || !strings.Contains(string(b), "first reconcile done") {
		t.Errorf("log %q, %v", b, err)
	}
}

func TestSpawnReportsTheChildsError(t *testing.T) {
	_, spawn := spawnCity(t, "[workspace]\nnme = \"c\"\n")
	_, err := spawn()
	if err == nil || !strings.Contains(err.Error(), `unknown key "nme"`) || !strings.Contains(Hint(err), "name") {
		t.Errorf("error %v, hint %q", err, Hint(err))
	}
}

func TestSpawnInAFolderWithoutWritePermission(t *testing.T) {
	if os.Geteuid() == 0 {
		dir, spawn := spawnCity(t, "[workspace]\nname = \"c\"\n")
		if err := os.WriteFile(StateDir(dir), nil, 0o600); err != nil { // root may write anywhere but here
			t.Fatal(err)
		}
		if _, err := spawn(); !errors.Is(err, ErrStateDir) || Hint(err) == "" || strings.Contains(err.Error(), "\n") {
			t.Errorf("error %v", err)
		}
		return
	}
	dir, spawn := spawnCity(t, "[workspace]\nname = \"c\"\n")
	if err := os.Chmod(dir, 0o500); err != nil {
		t.Fatal(err)
	}
	defer os.Chmod(dir, 0o700)
	if _, err := spawn(); !errors.Is(err, ErrStateDir) || Hint(err) == "" || strings.Contains(err.Error(), "\n") {
		t.Errorf("error %v", err)
	}
}

func TestSocketOnALongPath(t *testing.T) {
	dir := filepath.Join(t.TempDir(), strings.Repeat("long/", 40))
	if err := os.MkdirAll(dir, 0o700); err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(dir, "controller.sock")
	ln, err := listenUnix(path)
	if err != nil {
		t.Fatal(err)
	}
	st, err := os.Stat(path)
	if err != nil || st.Mode().Perm() != 0o600 {
		t.Errorf("socket %v, %v", st, err)
	}
	go func() {
		if c, err := ln.Accept(); err == nil {
			c.Write([]byte("x"))
			c.Close()
		}
	}()
	c, err := dialUnix(t.Context(), path)
	if err != nil {
		t.Fatal(err)
	}
	if n, err := c.Read(make([]byte, 1)); n != 1 || err != nil {
		t.Errorf("read %d, %v", n, err)
	}
	c.Close()
	ln.Close()
	if _, err := os.Stat(path); !errors.Is(err, os.ErrNotExist) {
		t.Error("the socket is left")
	}
}

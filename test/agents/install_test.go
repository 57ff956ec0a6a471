//go:build agents

package agents

import (
	"crypto/sha256"
	"embed"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"time"
)

//go:embed npm/package.json npm/package-lock.json
var pinned embed.FS

// complete is the last file written to an installation.
const complete = ".complete"

// install returns the directory with the agents' node_modules: the cached one
// for this lock file, or a new one from npm. No package scripts run.
func install() (string, error) {
	lock, err := pinned.ReadFile("npm/package-lock.json")
	if err != nil {
		return "", err
	}
	cache, err := os.UserCacheDir() // XDG_CACHE_HOME, else ~/.cache
	if err != nil {
		return "", err
	}
	dir := filepath.Join(cache, "gc-agents", fmt.Sprintf("%x", sha256.Sum256(lock))[:16])
	if _, err := os.Stat(filepath.Join(dir, complete)); err == nil {
		return dir, nil
	}
	began := time.Now()
	if err := os.MkdirAll(filepath.Dir(dir), 0o755); err != nil {
		return "", err
	}
	work, err := os.MkdirTemp(filepath.Dir(dir), "new-")
	if err != nil {
		return "", err
	}
	defer func() { _ = os.RemoveAll(work) }() // nothing is left after the rename
	if err := npm(work); err != nil {
		return "", err
	}
	if err := placeAgents(filepath.Join(work, "node_modules")); err != nil {
		return "", err
	}
	if err := os.WriteFile(filepath.Join(work, complete), nil, 0o644); err != nil {
		return "", err
	}
	if err := os.Chmod(work, 0o755); err != nil {
		return "", err
	}
	fmt.Printf("agents installed in %v\n", time.Since(began).Round(time.Second))
	if err := os.Rename(work, dir); err != nil && !errors.Is(err, fs.ErrExist) {
		return "", err
	}
	return dir, nil
}

// npm installs the pinned packages into dir. It uses `npm install`, not `npm
// ci`, which requires binaries of other platforms that registry mirrors lack.
func npm(dir string) error {
	for _, name := range []string{"package.json", "package-lock.json"} {
		data, err := pinned.ReadFile("npm/" + name)
		if err != nil {
			return err
		}
		if err := os.WriteFile(filepath.Join(dir, name), data, 0o644); err != nil {
			return err
		}
	}
	cmd := exec.Command("npm", "install", "--no-save", "--ignore-scripts", "--no-audit", "--no-fund", "--loglevel=error")
	cmd.Dir = dir
	if out, err := cmd.CombinedOutput(); err != nil {
		return fmt.Errorf("npm install: %w\n%s", err, out)
	}
	return versionsMatch(dir)
}

// versionsMatch checks that the versions in package.json were installed.
func versionsMatch(dir string) error {
	var want struct{ Dependencies map[string]string }
	if err := readJSON(filepath.Join(dir, "package.json"), &want); err != nil {
		return err
	}
	for name, version := range want.Dependencies {
		var have struct{ Version string }
		if err := readJSON(filepath.Join(dir, "node_modules", name, "package.json"), &have); err != nil {
			return err
		}
		if have.Version != version {
			return fmt.Errorf("%s is %s, not %s", name, have.Version, version)
		}
	}
	return nil
}

func readJSON(path string, v any) error {
	data, err := os.ReadFile(path)
	if err != nil {
		return err
	}
	if err := json.Unmarshal(data, v); err != nil {
		return fmt.Errorf("%s: %w", path, err)
	}
	return nil
}

// placeAgents replaces the install scripts of claude and opencode: their
// command is a placeholder until the platform's binary takes its place.
func placeAgents(modules string) error {
	for binary, command := range map[string]string{
		"@anthropic-ai/claude-code-linux-x64/claude": "@anthropic-ai/claude-code/bin/claude.exe",
		"opencode-linux-x64/bin/opencode":            "opencode-ai/bin/opencode.exe",
	} {
		to := filepath.Join(modules, command)
		if err := os.Remove(to); err != nil {
			return err
		}
		if err := os.Link(filepath.Join(modules, binary), to); err != nil {
			return err
		}
		if err := os.Chmod(to, 0o755); err != nil {
			return err
		}
	}
	return nil
}

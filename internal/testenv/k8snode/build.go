//go:build linux

package k8snode

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
)

// programs are the binaries built from tools/k8s-node.
type programs struct {
	node  string // etcd, the control plane, the kubelet and kubectl
	pause string // holds a pod's namespaces
}

// cacheDir is where the binaries, the lock and the running node's state are.
func cacheDir() (string, error) {
	dir, err := os.UserCacheDir()
	if err != nil {
		return "", err
	}
	return filepath.Join(dir, "gc-k8s"), nil
}

// build returns the binaries, compiling them if their sources have changed. The
// first build takes about 15 minutes of CPU.
func build(ctx context.Context, cache string) (programs, error) {
	gomod, err := output(ctx, "", "go", "env", "GOMOD")
	if err != nil {
		return programs{}, err
	}
	source := filepath.Join(filepath.Dir(gomod), "tools", "k8s-node")
	key, err := hashFiles(source, "go.mod", "go.sum", "main.go", "pause/main.go")
	if err != nil {
		return programs{}, err
	}
	dir := filepath.Join(cache, key)
	built := programs{node: filepath.Join(dir, "k8s-node"), pause: filepath.Join(dir, "pause")}
	if _, err := os.Stat(built.node); err == nil {
		return built, nil
	}
	flags, err := versionFlags(filepath.Join(source, "go.mod"))
	if err != nil {
		return programs{}, err
	}
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return programs{}, err
	}
	if _, err := output(ctx, source, "go", "build", "-ldflags", "-s -w", "-o", built.pause, "./pause"); err != nil {
		return programs{}, err
	}
	// Renamed at the end: a file of this name is a finished one.
	unfinished := built.node + ".new"
	if _, err := output(ctx, source, "go", "build", "-ldflags", "-s -w "+flags, "-o", unfinished, "."); err != nil {
		return programs{}, err
	}
	return built, os.Rename(unfinished, built.node)
}

func hashFiles(dir string, names ...string) (string, error) {
	sum := sha256.New()
	for _, name := range names {
		data, err := os.ReadFile(filepath.Join(dir, name))
		if err != nil {
			return "", err
		}
		fmt.Fprintf(sum, "%s %d\n", name, len(data))
		sum.Write(data)
	}
	return hex.EncodeToString(sum.Sum(nil))[:16], nil
}

var kubernetesVersion = regexp.MustCompile(`(?m)^\s*k8s\.io/kubernetes (v(\d+)\.(\d+)\.\S+)`)

// versionFlags returns the linker flags that tell the programs their version:
// they refuse to work with one that claims to be v0.0.0.
func versionFlags(gomod string) (string, error) {
	data, err := os.ReadFile(gomod)
	if err != nil {
		return "", err
	}
	m := kubernetesVersion.FindSubmatch(data)
	if m == nil {
		return "", fmt.Errorf("%s: no requirement of k8s.io/kubernetes", gomod)
	}
	const in = "-X k8s.io/component-base/version."
	return fmt.Sprintf("%sgitVersion=%s %sgitMajor=%s %sgitMinor=%s", in, m[1], in, m[2], in, m[3]), nil
}

// output runs a command without cgo and returns its standard output, trimmed.
func output(ctx context.Context, dir, name string, args ...string) (string, error) {
	cmd := exec.CommandContext(ctx, name, args...)
	cmd.Dir = dir
	cmd.Env = append(os.Environ(), "CGO_ENABLED=0")
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	out, err := cmd.Output()
	if err != nil {
		err = fmt.Errorf("%s %s: %w", name, strings.Join(args, " "), err)
		if stderr.Len() > 0 {
			err = errors.Join(err, errors.New(strings.TrimSpace(stderr.String())))
		}
	}
	return strings.TrimSpace(string(out)), err
}

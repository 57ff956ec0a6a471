// Package self finds the program gc: that of this process, except in gc-k8s, which is gc
// with a client of Kubernetes. There it is the gc beside it.
//
// What starts keepers, servers, parents of processes and hosts of agents starts this
// program, and sessions find it as GC_BIN, so gc-k8s is never one of them. It starts
// nothing itself.
package self

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
)

// product is the name of the program, unless it was renamed.
const product = "gc"

// podsSuffix ends the name of the program with a client of Kubernetes.
const podsSuffix = "-k8s"

// Program returns the path of gc.
func Program() (string, error) {
	path, err := os.Executable()
	if err != nil || IsGC {
		return path, err
	}
	return beside(path, strings.TrimSuffix(filepath.Base(path), podsSuffix), product)
}

// Called returns the name by which a person knows this program: arg0, or that of gc if this
// is gc-k8s, which nobody calls.
func Called(arg0 string) string {
	if IsGC {
		return arg0
	}
	return strings.TrimSuffix(arg0, podsSuffix)
}

// Image returns what to execute as gc: if that is this program, the same one, even after
// the file was replaced.
func Image() (string, error) {
	if IsGC {
		return ownImage()
	}
	return Program()
}

// WithPods returns the path of gc-k8s. It may have been renamed together with gc.
func WithPods() (string, error) {
	path, err := os.Executable()
	if err != nil || !IsGC {
		return path, err
	}
	return beside(path, filepath.Base(path)+podsSuffix, product+podsSuffix)
}

// Beside returns the path of a program that gc executes, such as gc-mcp for the suffix
// "-mcp": in the directory of gc, else on PATH. It may have been renamed together with gc.
func Beside(suffix string) (string, error) {
	path, err := Program()
	if err != nil {
		return "", err
	}
	return beside(path, filepath.Base(path)+suffix, product+suffix)
}

// beside looks for a program in the directory of self, then on PATH.
func beside(self string, names ...string) (string, error) {
	names = slices.Compact(names)
	dir := filepath.Dir(self)
	if real, err := filepath.EvalSymlinks(self); err == nil {
		dir = filepath.Dir(real)
	}
	for _, name := range names {
		path := filepath.Join(dir, name)
		if st, err := os.Stat(path); err == nil && st.Mode().IsRegular() && path != self {
			return path, nil
		}
	}
	for _, name := range names {
		if path, err := exec.LookPath(name); err == nil && path != self {
			return path, nil
		}
	}
	return "", fmt.Errorf("cannot find %s in %s or on PATH", names[0], dir)
}

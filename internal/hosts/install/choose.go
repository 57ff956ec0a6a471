package install

import (
	"cmp"
	"fmt"
	"os"
	"path/filepath"
	"strings"
)

// MissingError reports that this machine has no program for another's platform.
type MissingError struct {
	Platform string
	Dir      string   // where it was looked for
	Names    []string // under these names; none if gc does not run on that platform
}

func (e *MissingError) Error() string {
	if len(e.Names) == 0 {
		return "gc does not run on " + e.Platform
	}
	return fmt.Sprintf("no gc program for %s in %s: want %s", e.Platform, e.Dir, strings.Join(e.Names, " or "))
}

// Hint is the next step.
func (e *MissingError) Hint() string {
	if len(e.Names) == 0 {
		return ""
	}
	return "make dist builds one for every platform; put it there, or give its path with --from FILE"
}

// Choose returns the program for a machine: self if it has the platform of this
// program, else gc-OS-ARCH, gc_OS_ARCH or gc_VERSION_OS_ARCH beside it.
func Choose(m Machine, self, goos, goarch, version string) (string, error) {
	if m.OS == goos && m.Arch == goarch {
		return self, nil
	}
	if m.OS == "" || m.Arch == "" {
		return "", &MissingError{Platform: cmp.Or(m.Uname, "a machine of unknown platform")}
	}
	if real, err := filepath.EvalSymlinks(self); err == nil {
		self = real
	}
	e := &MissingError{
		Platform: m.OS + "/" + m.Arch, Dir: filepath.Dir(self),
		Names: []string{"gc-" + m.OS + "-" + m.Arch, "gc_" + m.OS + "_" + m.Arch, "gc_" + version + "_" + m.OS + "_" + m.Arch},
	}
	for _, name := range e.Names {
		file := filepath.Join(e.Dir, name)
		if st, err := os.Stat(file); err == nil && st.Mode().IsRegular() {
			return file, nil
		}
	}
	return "", e
}

// Beside returns the program that belongs to a gc, such as gc-mcp for the suffix "-mcp", by
// its name: gc-mcp beside gc, gc-mcp_VERSION_OS_ARCH beside gc_VERSION_OS_ARCH. It returns ""
// if there is none.
func Beside(program, suffix string) string {
	if real, err := filepath.EvalSymlinks(program); err == nil {
		program = real
	}
	dir, base := filepath.Split(program)
	rest, ok := strings.CutPrefix(base, "gc")
	if !ok || strings.HasPrefix(rest, suffix) {
		return ""
	}
	file := filepath.Join(dir, "gc"+suffix+rest)
	if st, err := os.Stat(file); err != nil || !st.Mode().IsRegular() {
		return ""
	}
	return file
}

//go:build suites

package suites

import (
	"os/exec"
	"strings"
	"testing"
)

// fetched returns the directory of a suite in the cache, which fetch.sh fills. A suite
// that is missing fails the test.
func fetched(t *testing.T, name string) string {
	t.Helper()
	cmd := exec.Command("./fetch.sh", name)
	var errs strings.Builder
	cmd.Stderr = &errs
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("fetch.sh %s: %v\n%s", name, err, errs.String())
	}
	return strings.TrimSpace(string(out))
}

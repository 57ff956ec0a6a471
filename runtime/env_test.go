package runtime_test

import (
	"slices"
	"testing"

	"gascity.dev/gc/runtime"
)

func TestEnvironment(t *testing.T) {
	got := runtime.Environment(
		[]string{"HOME=/h", "LC_TIME=C", "LC_=x", "SECRET=s", "TERM=dumb", "TZ=UTC", "PATH=/bin", "https_proxy=p", "broken", "USER="},
		map[string]string{"A": "base", "B": "base"},
		map[string]string{"A": "agent", "TZ": "", "NEW": "x=y", "GONE": ""},
	)
	want := []string{"A=agent", "B=base", "HOME=/h", "LC_=x", "LC_TIME=C", "NEW=x=y", "PATH=/bin", "USER=", "https_proxy=p"}
	if !slices.Equal(got, want) {
		t.Fatalf("%q", got)
	}
}

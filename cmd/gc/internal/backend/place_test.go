package backend

import (
	"strings"
	"testing"

	"gascity.dev/gc/internal/agent"
	"gascity.dev/gc/internal/config"
)

// places returns between which providers an agent would move.
func places(t *testing.T, session, to string) (string, string, error) {
	t.Helper()
	t.Setenv("GC_SESSION", "")
	city, err := config.Parse("city.toml", []byte("[workspace]\nname = \"t\"\n[[agents]]\nname = \"a\"\nstart_command = \"cat\"\nacp_command = \"cat\"\nsession = \""+session+"\"\n"))
	if err != nil {
		t.Fatal(err)
	}
	specs, err := agent.Build(city, agent.BuildOptions{})
	if err != nil {
		t.Fatal(err)
	}
	return (&Set{}).Places(specs[0], to)
}

// A pod has a work directory of its own: nothing is taken into it, or left behind unseen.
func TestNoMoveOfPods(t *testing.T) {
	for _, c := range [][2]string{{"k8s", "native"}, {"native", "k8s"}, {"ssh://build", "k8s"}} {
		if _, _, err := places(t, c[0], c[1]); err == nil || !strings.Contains(err.Error(), "the work of a cannot be moved into a pod") {
			t.Errorf("%s to %s: %v", c[0], c[1], err)
		}
	}
}

// An agent over ACP that moves to another machine, or back, still speaks ACP.
func TestPlacesOverACP(t *testing.T) {
	for _, c := range []struct{ session, to, want string }{
		{"acp", "ssh://me@build", "acp+ssh://me@build"},
		{"acp+ssh://me@build", "native", "acp"},
		{"acp+ssh://me@build", "ssh://other", "acp+ssh://other"},
		{"acp", "acp+ssh://build", "acp+ssh://build"},
		{"native", "ssh://build", "ssh://build"},
		{"ssh://build", "native", "native"},
	} {
		from, to, err := places(t, c.session, c.to)
		if err != nil || from != c.session || to != c.want {
			t.Errorf("%s to %s: %s to %s, %v", c.session, c.to, from, to, err)
		}
	}
}

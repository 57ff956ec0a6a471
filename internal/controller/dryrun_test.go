package controller

import (
	"errors"
	"os"
	"testing"

	"github.com/google/go-cmp/cmp"

	"gascity.dev/gc/internal/agent"
	"gascity.dev/gc/internal/controller/api"
	"gascity.dev/gc/runtime"
)

func TestDryRunPlansAndDoesNothing(t *testing.T) {
	r := newRig(t, oneAgent+"depends_on = [\"b\"]\n[[agents]]\nname = \"b\"\nstart_command = \"b\"\nlifecycle = \"one_shot\"\n")
	o := r.options()
	if err := r.fake.Start(t.Context(), "left", runtime.Config{}); err != nil {
		t.Fatal(err)
	}
	if err := r.fake.SetMeta(t.Context(), "left", agent.MetaCityPath, o.City.Dir); err != nil {
		t.Fatal(err)
	}
	r.fake.ForgetCalls()
	acts, err := DryRun(t.Context(), o)
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, a := range acts {
		got = append(got, string(a.Kind)+" "+a.Session)
	}
	if diff := cmp.Diff([]string{"drain left", "start gc-city-b", "start gc-city-a"}, got); diff != "" {
		t.Error(diff)
	}
	for _, c := range r.fake.Calls() {
		if c.Method != "ListRunning" && c.Method != "GetMeta" && c.Method != "LastExit" {
			t.Errorf("a dry run called %s", c.Method)
		}
	}
	if _, err := os.Stat(api.StateDir(r.dir)); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("a dry run made the state folder: %v", err)
	}
	r.fake.Fail("ListRunning", "", runtime.ErrBackendUnreachable)
	if _, err := DryRun(t.Context(), o); !errors.Is(err, runtime.ErrBackendUnreachable) {
		t.Errorf("error %v", err)
	}
}

package server

import (
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"gascity.dev/gc/mux/api"
	"gascity.dev/gc/mux/client"
)

// TestPeekManyAgreesWithPeek compares the two for sessions in every state, by name and
// by id, changed and unchanged.
func TestPeekManyAgreesWithPeek(t *testing.T) {
	t.Parallel()
	c := startServer(t)
	rest := create(t, c, "rest", "echo ready; exec cat")
	create(t, c, "busy", "echo ready; read x; echo more; exec cat")
	create(t, c, "over", "echo ready; read x; exit 3")
	gone := create(t, c, "again", "echo ready; exec cat")
	for _, name := range []string{"rest", "busy", "over", "again"} {
		await(t, c, name, "^ready")
	}
	asked := []api.PeekRequest{{Name: "rest"}, {Name: rest.ID}, {Name: "busy"}, {Name: "over"}, {Name: "again"}, {Name: gone.ID}, {Name: "none"}}
	for i := range asked {
		asked[i].Screen = true
		if r, err := c.Peek(t.Context(), asked[i]); err == nil {
			asked[i].IfRevision = r.Revision
		}
	}
	if err := c.Keys(t.Context(), "busy", []string{"Enter"}, false); err != nil {
		t.Fatal(err)
	}
	await(t, c, "busy", "^more")
	if err := c.Keys(t.Context(), "over", []string{"Enter"}, false); err != nil {
		t.Fatal(err)
	}
	if r, err := c.Wait(t.Context(), "over", api.WaitRequest{Conditions: []api.Condition{{Exit: true}}, Timeout: time.Minute}); err != nil || r.Exit == nil {
		t.Fatalf("%+v, %v", r, err)
	}
	if err := c.Kill(t.Context(), "again", 0); err != nil {
		t.Fatal(err)
	}
	create(t, c, "again", "echo ready; exec cat")
	await(t, c, "again", "^ready")
	many, err := c.PeekMany(t.Context(), asked)
	if err != nil {
		t.Fatal(err)
	}
	for i, r := range asked {
		one, err := c.Peek(t.Context(), r)
		if err != nil {
			if many[i].Error == nil || many[i].Name != r.Name {
				t.Errorf("%s: %+v, and alone %v", r.Name, many[i], err)
			}
			continue
		}
		if one.Exit != nil && many[i].Exit != nil && *one.Exit == *many[i].Exit {
			one.Exit, many[i].Exit = nil, nil
		}
		if one != many[i] {
			t.Errorf("%s:\n%+v, alone\n%+v", r.Name, many[i], one)
		}
	}
	if r := many[0]; !r.Unchanged || r.ID != rest.ID || r.Name != "rest" || r.Revision != asked[0].IfRevision {
		t.Errorf("at rest: %+v", r)
	}
}

// TestPeekManyRequests: which lists are accepted and which are refused.
func TestPeekManyRequests(t *testing.T) {
	t.Parallel()
	c := startServer(t)
	create(t, c, "rest", "echo ready; exec cat")
	await(t, c, "rest", "^ready")
	first, err := c.Peek(t.Context(), api.PeekRequest{Name: "rest"})
	if err != nil {
		t.Fatal(err)
	}
	same, err := c.Peek(t.Context(), api.PeekRequest{Name: "rest", IfRevision: first.Revision})
	if err != nil || !same.Unchanged {
		t.Fatalf("%+v, %v", same, err)
	}
	one := fmt.Sprintf(`{"name":"rest","ifRevision":%d}`, first.Revision)
	for request, want := range map[string]int{
		``: 0, `{}`: 0,
		`{"requests":[` + one + `, ` + one + ` ]}`:                         2,
		`{"later":[],"requests":[` + one + `]}`:                            1,
		`{"short":true,"requests":[` + one + `,` + one + `]}`:              2, // of an older client
		`{"requests":[` + strings.Repeat(one+",", maxPeeks-1) + one + `]}`: maxPeeks,
	} {
		var out api.PeekReply
		if err := post(t, c, "/v1/peek", request, &out); err != nil || out.Results == nil || len(out.Results) != want {
			t.Errorf("%.80s: %+v, %v", request, out, err)
		}
		for _, r := range out.Results {
			if r != same {
				t.Fatalf("%.80s: %+v, want %+v", request, r, same)
			}
		}
	}
	for request, want := range map[string]error{
		`[`: api.ErrRequest, `{"requests":[{"name":7}]}`: api.ErrRequest,
		`{"requests":[` + strings.Repeat(one+",", maxPeeks) + one + `]}`: api.ErrTooLarge,
	} {
		if err := post(t, c, "/v1/peek", request, nil); !errors.Is(err, want) {
			t.Errorf("%.40s: %v", request, err)
		}
	}
}

// post sends a body and decodes the reply into out, unless that is nil.
func post(t *testing.T, c *client.Client, path, body string, out any) error {
	t.Helper()
	resp, err := c.Do(t.Context(), "POST", path, strings.NewReader(body))
	if err != nil {
		return err
	}
	defer resp.Body.Close()
	if out == nil {
		return nil
	}
	return json.NewDecoder(resp.Body).Decode(out)
}

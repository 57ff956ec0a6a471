package mux

import (
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"
)

// TestPeekManySaysWhatPeekSays: of sessions in every state, asked for by name and
// by id, changed and unchanged.
func TestPeekManySaysWhatPeekSays(t *testing.T) {
	t.Parallel()
	c := startServer(t)
	rest := create(t, c, "rest", "echo ready; exec cat")
	create(t, c, "busy", "echo ready; read x; echo more; exec cat")
	create(t, c, "over", "echo ready; read x; exit 3")
	gone := create(t, c, "again", "echo ready; exec cat")
	for _, name := range []string{"rest", "busy", "over", "again"} {
		await(t, c, name, "^ready")
	}
	asked := []PeekRequest{{Name: "rest"}, {Name: rest.ID}, {Name: "busy"}, {Name: "over"}, {Name: "again"}, {Name: gone.ID}, {Name: "none"}}
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
	if r, err := c.Wait(t.Context(), "over", WaitRequest{Conditions: []Condition{{Exit: true}}, Timeout: time.Minute}); err != nil || r.Exit == nil {
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

// TestPeekManyIsShort: who asks for it gets no more than the ids of what is
// unchanged, in whatever shape it asks.
func TestPeekManyIsShort(t *testing.T) {
	t.Parallel()
	c := startServer(t)
	s := create(t, c, "rest", "echo ready; exec cat")
	await(t, c, "rest", "^ready")
	first, err := c.Peek(t.Context(), PeekRequest{Name: "rest"})
	if err != nil {
		t.Fatal(err)
	}
	long, err := c.Peek(t.Context(), PeekRequest{Name: "rest", IfRevision: first.Revision})
	if err != nil {
		t.Fatal(err)
	}
	one := fmt.Sprintf(`{"name":"rest","ifRevision":%d}`, first.Revision)
	both, shortly := replyOf(t, []PeekResult{long, long}), fmt.Sprintf(`{"results":[%q,%q]}`, s.ID, s.ID)
	for request, want := range map[string]string{
		`{"short":true,"requests":[` + one + `,` + one + `]}`:              shortly,
		`{"requests":[` + one + `,` + one + `],"short":true}`:              shortly,
		`{"short":true,"later":[],"requests":[` + one + `, ` + one + ` ]}`: shortly,
		`{"requests":[` + one + `,` + one + `]}`:                           both,
		`{"short":false,"requests":[` + one + `,` + one + `]}`:             both,
		`{"short":true}`: `{"results":[]}`,
		`{}`:             `{"results":[]}`,
	} {
		if b, err := c.answer(t.Context(), "/v1/peek", rawJSON(request)); err != nil || string(b) != want {
			t.Errorf("%s: %s, %v", request, b, err)
		}
	}
	for request, want := range map[string]error{
		``: ErrRequest, `[`: ErrRequest, `{"requests":[{"name":7}]}`: ErrRequest,
		`{"requests":[` + strings.Repeat(one+",", maxPeeks) + one + `]}`: ErrTooLarge,
	} {
		if b, err := c.answer(t.Context(), "/v1/peek", rawJSON(request)); !errors.Is(err, want) {
			t.Errorf("%.40s: %s, %v", request, b, err)
		}
	}
}

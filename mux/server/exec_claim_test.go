package server

import (
	"errors"
	"strings"
	"testing"

	"gascity.dev/gc/internal/process"
	"gascity.dev/gc/mux/api"
)

// TestExecClaim: a process that hosts an owner elsewhere claims its messages
// exclusively, keeps them across a kill of the server, and reports their
// outcome.
func TestExecClaim(t *testing.T) {
	t.Parallel()
	c := startServer(t)
	ctx := t.Context()
	id := background(t, c, "echo the output")
	awaitCommand(t, c, id, "")
	away := func() []api.Delivery {
		t.Helper()
		list, err := c.DeliveriesAway(ctx)
		if err != nil {
			t.Fatal(err)
		}
		return list
	}
	claim := func() api.Claim {
		t.Helper()
		var got api.Claim
		err := retry(ctx, func() (err error) { got, err = c.ClaimDeliveries(ctx, "owner", "city"); return err })
		if err != nil {
			t.Fatal(err)
		}
		return got
	}
	if list := away(); len(list) != 1 || list[0].State != process.Pending || list[0].Owner != "owner" {
		t.Fatalf("away: %+v", list)
	}
	first := claim()
	if first.Batch == "" || len(first.Events) != 1 || !strings.Contains(first.Text, "the output") || !strings.Contains(first.Text, process.Tag(id+"/exit")) {
		t.Fatalf("claim: %+v", first)
	}
	if again := claim(); again.Batch != "" {
		t.Errorf("claimed twice: %+v", again)
	}
	killServer(t, c)
	if again := claim(); again.Batch != "" {
		t.Errorf("claimed twice over a kill: %+v", again)
	}
	// It is not typed into the owner's own session either: it may have been typed.
	s := startOwner(t, c, "no")
	if list, err := c.Deliveries(ctx, "owner", string(process.Injecting)); err != nil || len(list) != 1 || list[0].By != "city" {
		t.Fatalf("the claim was lost: %+v, %v", list, err)
	}
	if len(away()) != 0 {
		t.Error("a connected owner counts as away")
	}
	if err := c.SettleDeliveries(ctx, first.Batch, "typed", ""); !errors.Is(err, api.ErrRequest) {
		t.Errorf("an invalid state: %v", err)
	}
	if err := c.SettleDeliveries(ctx, first.Batch, process.Pending, "blocked"); err != nil {
		t.Fatal(err)
	}
	awaitDeliveries(t, c, process.Delivered, id) // by the server: the owner has a session here
	if err := c.SettleDeliveries(ctx, first.Batch, process.Dead, "late"); err != nil {
		t.Fatal(err)
	}
	awaitDeliveries(t, c, process.Delivered, id)
	if n := said(t, c, []string{s.ID}, id); n != 1 {
		t.Errorf("said %d times", n)
	}
	if got := claim(); got.Batch != "" {
		t.Errorf("a claim for an owner that is here: %+v", got)
	}
}

// TestExecClaimDelivered: what the claimer delivered is not delivered again.
func TestExecClaimDelivered(t *testing.T) {
	t.Parallel()
	c := startServer(t)
	var ids []string
	for range process.MaxBatch + 2 {
		ids = append(ids, background(t, c, "true"))
	}
	for _, id := range ids {
		awaitCommand(t, c, id, "")
	}
	total := 0
	for _, want := range []int{process.MaxBatch, 2, 0} {
		got, err := c.ClaimDeliveries(t.Context(), "owner", "city")
		if err != nil || len(got.Events) != want {
			t.Fatalf("claim: %+v, %v, want %d", got, err, want)
		}
		total += strings.Count(got.Text, "[gc:evt ")
		if got.Batch == "" {
			continue
		}
		if err := c.SettleDeliveries(t.Context(), got.Batch, process.Delivered, ""); err != nil {
			t.Fatal(err)
		}
	}
	awaitDeliveries(t, c, process.Delivered, ids...)
	if total != len(ids) {
		t.Errorf("%d tags for %d commands", total, len(ids))
	}
	if list, err := c.DeliveriesAway(t.Context()); err != nil || len(list) != 0 {
		t.Errorf("away: %+v, %v", list, err)
	}
}

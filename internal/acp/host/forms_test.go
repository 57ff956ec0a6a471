package host_test

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"gascity.dev/gc/internal/acp/control"
)

// A form with one field is a question: it is answered with a value or with text, refused,
// or cancelled.
func TestForms(t *testing.T) {
	t.Parallel()
	r := start(t, setup{})
	r.ready()
	const colours = `"requestedSchema":{"properties":{"colour":{"type":"string","oneOf":[{"const":"#f00","title":"Red"},{"const":"#0f0","title":"Decline"}]},"note":{"type":"string"}},"required":["colour"]}`
	const number = `"requestedSchema":{"properties":{"n":{"type":"integer"}}}`
	turns := 0
	for _, c := range []struct {
		schema  string
		options []string
		text    string // Metadata
		wrong   control.Answer
		answer  control.Answer // none: interrupt
		result  string
	}{
		{colours, []string{"Red", "Decline", "Decline (2)"}, "", control.Answer{Option: "#f00"}, control.Answer{Option: "Red"}, `{"action":"accept","content":{"colour":"#f00"}}`},
		{colours, []string{"Red", "Decline", "Decline (2)"}, "", control.Answer{Text: "Red"}, control.Answer{Option: "Decline (2)"}, `{"action":"decline"}`},
		{number, []string{"Decline"}, "true", control.Answer{Text: "many"}, control.Answer{Text: "12"}, `{"action":"accept","content":{"n":12}}`},
		{number, []string{"Decline"}, "true", control.Answer{Option: "12"}, control.Answer{Option: "Decline"}, `{"action":"decline"}`},
		{number, []string{"Decline"}, "true", control.Answer{Option: "12"}, control.Answer{}, `{"action":"cancel"}`},
	} {
		r.send(fmt.Sprint("m", turns), `REQUEST elicitation/create {"sessionId":"s1","mode":"form","message":"which?",`+c.schema+`}`)
		q := r.until("asks", func(s control.State) bool { return s.Pending != nil }).Pending
		if q.Kind != "question" || q.Prompt != "which?" || !slices.Equal(q.Options, c.options) || q.Metadata["text"] != c.text {
			t.Errorf("%+v", q)
		}
		var refusal *control.Error
		if err := r.Respond(t.Context(), c.wrong); !errors.As(err, &refusal) || refusal.Code != control.CodeStale {
			t.Errorf("%+v: %v", c.wrong, err)
		}
		err := error(nil)
		if c.answer == (control.Answer{}) {
			err = r.Interrupt(t.Context())
		} else {
			err = r.Respond(t.Context(), c.answer)
		}
		if err != nil {
			t.Fatal(err)
		}
		turns++
		r.idle(turns)
		if lines := strings.Join(r.entries(), "\n"); !strings.Contains(lines, c.result) {
			t.Errorf("%+v: no %s in\n%s", c.answer, c.result, lines)
		}
	}
}

package attentioncmd

import (
	"bytes"
	"context"
	"strings"
	"testing"

	"gascity.dev/gc/cmd/gc/internal/cli"
	cityapi "gascity.dev/gc/internal/controller/api"
)

// scenes are what a city shows, one after the other.
type scenes [][]cityapi.Attention

func (s *scenes) Attention(context.Context) ([]cityapi.Attention, error) {
	now := (*s)[0]
	*s = (*s)[1:]
	return now, nil
}

func (s *scenes) Watch(_ context.Context, changed func() error) error {
	for len(*s) > 0 {
		if err := changed(); err != nil {
			return err
		}
	}
	return nil
}

func TestWatch(t *testing.T) {
	one := cityapi.Attention{ID: "1", Kind: "question", Agent: "a", Text: "rm\x1b[31m?", Hint: "gc respond a", Options: []string{"Yes", "No"}}
	two := cityapi.Attention{ID: "2", Kind: "stuck", Agent: "b", Text: "x", Hint: "gc peek b"}
	all := scenes{{one}, {one, two}, {two}, {}, {one}}
	var out bytes.Buffer
	cmd := New(&cli.Console{Streams: cli.Streams{Out: &out, Err: &out}}, &all)
	cmd.SetArgs([]string{"--watch"})
	if err := cmd.ExecuteContext(t.Context()); err != nil {
		t.Fatal(err)
	}
	var agents []string
	for line := range strings.Lines(out.String()) {
		agents = append(agents, strings.Split(line, "\t")[1])
	}
	if got := strings.Join(agents, " "); got != "a b a" {
		t.Errorf("%q:\n%s", got, out.String())
	}
	if strings.Contains(out.String(), "\x1b") || !strings.Contains(out.String(), "(Yes | No)") {
		t.Errorf("%q", out.String())
	}
}

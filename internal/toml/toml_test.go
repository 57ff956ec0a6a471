package toml

import (
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

type shape struct {
	Name    string            `toml:"name,title"`
	Count   *int              `toml:"count"`
	Wait    time.Duration     `toml:"wait"`
	Labels  map[string]string `toml:"labels"`
	Parts   []entry           `toml:"parts"`
	Percent percent           `toml:"percent"`
	Where
}

type entry struct {
	ID int `toml:"id"`
	Where
}

type percent float64

func (p *percent) UnmarshalTOML(v Value) (string, error) {
	if v.Kind() != Float || v.Float() > 100 {
		return "write 0.0 to 100.0", fmt.Errorf("%v is not a percentage", v.Float())
	}
	*p = percent(v.Float())
	return "", nil
}

func decode(text string) (shape, error) {
	s := shape{Wait: time.Minute}
	out := NewReport("/x/shape.toml")
	doc := Parse([]byte(text), out)
	doc.Rename("part", "parts", out)
	doc.Decode(&s, out)
	return s, out.Err()
}

func TestDecode(t *testing.T) {
	s, err := decode("title = \"a\"\ncount = 0\nlabels.x = \"y\"\npercent = 12.5\n[[parts]]\nid = 1\n[[part]]\nid = 2\n")
	if err != nil {
		t.Fatal(err)
	}
	if s.Name != "a" || s.Count == nil || *s.Count != 0 || s.Wait != time.Minute || s.Labels["x"] != "y" || s.Percent != 12.5 {
		t.Errorf("decoded %+v", s)
	}
	if len(s.Parts) != 2 || s.Parts[0].ID != 1 || s.Parts[1].ID != 2 {
		t.Errorf("tables of both spellings: %+v", s.Parts)
	}
	if got := s.Place("name"); got != (Pos{1, 1}) || s.Has("wait") || s.Place("wait") != s.At {
		t.Errorf("name is at %v, wait is set %v and at %v", got, s.Has("wait"), s.Place("wait"))
	}
	if got := s.Parts[1].Place("id"); got != (Pos{8, 1}) {
		t.Errorf("the last id is at %v", got)
	}
}

// Every problem is reported at once, in file order.
func TestEveryProblem(t *testing.T) {
	_, err := decode("name = 3\nnmae = \"x\"\nwait = \"5\"\nname = \"b\"\npercent = 101.0\n[[parts]]\nid = \"1\"\n")
	var problems *Problems
	if !errors.As(err, &problems) {
		t.Fatal(err)
	}
	var got []string
	for _, p := range problems.List {
		got = append(got, p.String()+"; "+p.Hint)
	}
	want := []string{
		"shape.toml:1:1: name must be a string, not an integer; put the value in quotes",
		`shape.toml:2:1: unknown table or key "nmae"; did you mean "name"?`,
		`shape.toml:3:1: wait: "5" is not a duration; write a number with a unit: "500ms", "30s", "5m", "1h"`,
		`shape.toml:4:1: "name" is set twice, first on line 1; `,
		"shape.toml:5:1: percent: 101 is not a percentage; write 0.0 to 100.0",
		"shape.toml:7:1: [[parts]].id must be an integer, not a string; ",
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}

func TestBadSyntaxTruncates(t *testing.T) {
	out := NewReport("f.toml")
	Parse([]byte("name = \"a\"\n[x\n"), out)
	if !out.Truncated() || len(out.List()) != 1 || out.List()[0].Line != 2 {
		t.Errorf("truncated %v, problems %v", out.Truncated(), out.List())
	}
}

package mux

import (
	"encoding/json"
	"reflect"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"gascity.dev/gc/vt"
)

func anyRequest(t *rapid.T) PeekRequest {
	r := PeekRequest{
		Name: rapid.String().Draw(t, "name"), Lines: rapid.Int().Draw(t, "lines"), Screen: rapid.Bool().Draw(t, "screen"),
		Format: rapid.SampledFrom([]string{"", "text", "json"}).Draw(t, "format"), Join: rapid.Bool().Draw(t, "join"),
		IfRevision: rapid.Uint64().Draw(t, "revision"),
	}
	switch rapid.IntRange(0, 4).Draw(t, "past") {
	case 0:
		r.At = time.Unix(1_800_000_000, 0).UTC()
	case 1:
		r.Elapsed = ptr(5 * time.Second)
	case 2:
		r.AtOutput = ptr(uint64(7))
	}
	return r
}

func anyResult(t *rapid.T) PeekResult {
	r := PeekResult{
		ID: rapid.String().Draw(t, "id"), Name: rapid.String().Draw(t, "name"), State: rapid.SampledFrom([]string{"", "running"}).Draw(t, "state"),
		Revision: rapid.Uint64().Draw(t, "revision"), Unchanged: rapid.Bool().Draw(t, "unchanged"), Text: rapid.String().Draw(t, "text"),
	}
	switch rapid.IntRange(0, 5).Draw(t, "more") {
	case 0:
		r.Exit = &Exit{Code: 3, Time: time.Unix(1_800_000_000, 0).UTC()}
	case 1:
		r.Error = &RemoteError{Code: "not_found", Message: "no \"x\""}
	case 2:
		r.Screen = &vt.Screen{Cols: 3}
	case 3:
		r.ScreenLost = true
	}
	return r
}

// valid is what encoding/json makes of a value: what the wire can carry.
func valid[T any](t *rapid.T, in T) (out T) {
	b, err := json.Marshal(in)
	if err == nil {
		err = json.Unmarshal(b, &out)
	}
	if err != nil {
		t.Fatal(err)
	}
	return out
}

// What is written here reads as the same there, and the other way round.
func TestPeekWireIsJSON(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		reqs, res := rapid.SliceOfN(rapid.Custom(anyRequest), 0, 4).Draw(t, "requests"), rapid.SliceOfN(rapid.Custom(anyResult), 0, 4).Draw(t, "results")
		req, err := appendRequests(nil, reqs)
		if err != nil {
			t.Fatal(err)
		}
		check(t, "requests", reqs, "{"+string(req)+"}", func(b []byte) ([]PeekRequest, error) {
			if got, ok := readRequests(string(b)); ok {
				return got, nil
			}
			var again map[string][]PeekRequest
			err := json.Unmarshal(b, &again)
			return again["requests"], err
		})
		check(t, "results", res, replyOf(t, res), func(b []byte) ([]PeekResult, error) {
			got, _, err := decodeResults(b, nil)
			return got, err
		})
	})
}

// replyOf is the reply with the results.
func replyOf(t interface{ Fatal(...any) }, rs []PeekResult) string {
	b := []byte(`{"results":[`)
	for i := range rs {
		if i > 0 {
			b = append(b, ',')
		}
		var err error
		if b, err = appendPeekResult(b, &rs[i]); err != nil {
			t.Fatal(err)
		}
	}
	return string(b) + "]}"
}

// readRequests reads requests that are in the common shape.
func readRequests(text string) (rs []PeekRequest, ok bool) {
	r := &reading{s: text}
	r.each("requests", func() { rs = append(rs, r.peekRequest()) })
	return rs, r.done()
}

func check[T any](t *rapid.T, name string, list []T, written string, read func([]byte) ([]T, error)) {
	want := valid(t, map[string][]T{name: list})[name]
	var by map[string][]T
	if err := json.Unmarshal([]byte(written), &by); err != nil || !reflect.DeepEqual(by[name], want) {
		t.Fatalf("encoding/json reads %+v of %s, want %+v (%v)", by[name], written, want, err)
	}
	std, err := json.MarshalIndent(map[string][]T{name: list}, " ", "\t")
	if err != nil {
		t.Fatal(err)
	}
	for _, text := range []string{written, string(std)} {
		if got, err := read([]byte(text)); err != nil || len(got)+len(want) > 0 && !reflect.DeepEqual(got, want) {
			t.Fatalf("%s reads as %+v, want %+v (%v)", text, got, want, err)
		}
	}
}

// The common shapes are read without encoding/json: else this file is in vain.
func TestPeekWireIsQuick(t *testing.T) {
	rs := []PeekResult{
		{ID: "i", Name: "a", State: "running", Revision: 7, Unchanged: true},
		{ID: "i", Name: "b", State: "running", Revision: 8, Text: "two\nlines with \"quotes\" and \\ and ä 漢"},
	}
	r := &reading{s: replyOf(t, rs)}
	var got []PeekResult
	if r.each("results", func() { got = append(got, r.peekResult()) }); !r.done() || !reflect.DeepEqual(got, rs) {
		t.Fatalf("%s: stopped at %.20q", r.s, r.s[r.i:])
	}
	qs := []PeekRequest{{Name: "a", Screen: true, IfRevision: 3}, {Name: "b", Lines: 20, Join: true, Format: "text"}}
	b, err := appendRequests([]byte(`{"short":true,"keep":true,`), qs)
	if err != nil {
		t.Fatal(err)
	}
	if got, ok := readRequests(string(b) + "}"); !ok || !reflect.DeepEqual(got, qs) {
		t.Fatalf("%s: read as %+v", b, got)
	}
	r = &reading{s: `{"watch":"t"}`}
	if r.each("requests", nil); !r.done() || r.watch != "t" {
		t.Errorf("a token is read as %+v", r)
	}
}

// A result may be an id, whatever shape the others have.
func TestPeekWireShort(t *testing.T) {
	same := PeekResult{ID: "i", State: StateRunning, Unchanged: true}
	for text, want := range map[string][]PeekResult{
		`{"results":["i","i"]}`: {same, same},
		"{\"results\": [ \"i\" ,\n{\"name\":\"\\u0061\",\"revision\":1} ] }": {same, {Name: "a", Revision: 1}},
		`{"results":[{"name":"a","exit":{"code":3}},"i"],"later":[{}]}`:      {{Name: "a", Exit: &Exit{Code: 3}}, same},
	} {
		if got, _, err := decodeResults([]byte(text), nil); err != nil || !reflect.DeepEqual(got, want) {
			t.Errorf("%s reads as %+v, %v", text, got, err)
		}
	}
	for _, text := range []string{`{"results":["i"],"watch":"t"}`, `{"later":1,"results":["i"],"watch":"t"}`} {
		if got, watch, err := decodeResults([]byte(text), nil); err != nil || len(got) != 1 || watch != "t" {
			t.Errorf("%s reads as %+v, %q, %v", text, got, watch, err)
		}
	}
	for _, text := range []string{
		`{"results":["i`, `{"results":["i"]`, `{"results":["i"],}`, `{"results":[7]}`, `{"results":["\u0061"]}`, `{"":["i"]}x`, `{"":]}`, `{"results":["i"],"watch":7}`,
	} {
		if got, _, err := decodeResults([]byte(text), nil); err == nil {
			t.Errorf("%s reads as %+v", text, got)
		}
	}
}

// Strings are written and read eight bytes at a time: every character is the
// same at every place of a word.
func TestPeekWireEveryCharacter(t *testing.T) {
	for c := range rune(0x180) {
		for n := range 17 {
			text := strings.Repeat("x", n) + string(c) + strings.Repeat("y", 16-n)
			b := appendString(nil, text)
			var want string
			if err := json.Unmarshal(b, &want); err != nil || want != text {
				t.Fatalf("%q is written as %s (%v)", text, b, err)
			}
			r := &reading{s: string(b)}
			if got := r.text(); !r.bad && got != text || r.bad != (c < ' ' && c != '\n' && c != '\t') {
				t.Fatalf("%s reads as %q, %t", b, got, r.bad)
			}
			raw := `"` + text + `"` // as it must not be written
			r = &reading{s: raw}
			if got := r.text(); r.done() != (json.Unmarshal([]byte(raw), &want) == nil) || r.done() && got != text {
				t.Fatalf("%q reads as %q, %t", raw, got, r.done())
			}
		}
	}
}

func FuzzPeekWire(f *testing.F) {
	for _, s := range []string{
		`{"requests":[{"name":"a","screen":true,"ifRevision":3}]}`, `{"short":true,"requests":[{"name":"a"}]}`, `{"requests":[{"":]}`, `{"requests":[]}`, `{"requests":null}`, `{}`, `[]`, ``,
		`{"requests":[{"name":"\ud83d\ude00","lines":-3}],"later":1}`, `{"requests":[{"Name":"a"}]}`, `{"requests":[{"lines":01}]}`,
		"{\"requests\":[{\"name\":\"a\nb\"}]}", `{"requests":[{"name":"a"},]}`, strings.Repeat("[", 100),
	} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, text string) {
		var want struct {
			Requests []PeekRequest `json:"requests"`
		}
		wantErr := json.Unmarshal([]byte(text), &want)
		got, ok := readRequests(text)
		if !ok {
			return
		}
		if wantErr != nil || len(got) != len(want.Requests) || len(got) > 0 && !reflect.DeepEqual(got, want.Requests) {
			t.Fatalf("%q reads as %+v, encoding/json says %+v, %v", text, got, want.Requests, wantErr)
		}
	})
}

func ptr[T any](v T) *T { return &v }

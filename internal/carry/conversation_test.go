package carry

import (
	"errors"
	"path/filepath"
	"strings"
	"testing"
)

// kept is where a program keeps the conversation 1-a, by working directory.
var kept = Conversation{Dir: "${STATE:-$HOME/.prog}/projects/{dir}", Files: "{id}*", ID: "1-a"}

// converses is a place where the conversation has those files; its directory is resolved.
func converses(t *testing.T, files map[string]string) (p, state Place) {
	t.Helper()
	p = here(t, nil)
	dir, err := filepath.EvalSymlinks(p.Dir)
	if err != nil {
		t.Fatal(err)
	}
	name := strings.Map(func(r rune) rune {
		if r >= '0' && r <= '9' || r >= 'A' && r <= 'Z' || r >= 'a' && r <= 'z' {
			return r
		}
		return '-'
	}, dir)
	state = Place{Dir: filepath.Join(p.Env[1][len("HOME="):], ".prog/projects", name), Env: p.Env}
	for file, text := range files {
		state.write(t, file, text)
	}
	return p, state
}

const all = `find . -type f | sort | xargs -r grep -H ""`

func TestConversation(t *testing.T) {
	from, source := converses(t, map[string]string{"1-a.jsonl": "one\ntwo\n", "1-a/result": "long\n", "2-b.jsonl": "other\n"})
	to, there := converses(t, map[string]string{"1-a.jsonl": "one\n", "3-c.jsonl": "mine\n"})
	if err := kept.Take(t.Context(), from, to); err != nil {
		t.Fatal(err)
	}
	if got, want := there.sh(t, all), "./1-a.jsonl:one\n./1-a.jsonl:two\n./1-a/result:long\n./3-c.jsonl:mine"; got != want {
		t.Errorf("there:\n%s\nwant\n%s", got, want)
	}
	there.write(t, "1-a.jsonl", "one\ntwo\nthree\n")
	if err := kept.Take(t.Context(), to, from); err != nil {
		t.Errorf("back: %v", err)
	}
	if got := source.sh(t, "cat 1-a.jsonl 2-b.jsonl"); got != "one\ntwo\nthree\nother" {
		t.Errorf("back: %q", got)
	}
}

func TestConversationSetElsewhere(t *testing.T) {
	from, _ := converses(t, map[string]string{"1-a.jsonl": "one\n"})
	to := here(t, nil)
	state := t.TempDir()
	to.Env = append(to.Env, "STATE="+state)
	if err := kept.Take(t.Context(), from, to); err != nil {
		t.Fatal(err)
	}
	if got := (Place{Dir: state, Env: to.Env}).sh(t, "cat projects/*/1-a.jsonl"); got != "one" {
		t.Errorf("%q", got)
	}
}

// TestOtherConversation: a conversation that went on there is not replaced.
func TestOtherConversation(t *testing.T) {
	from, _ := converses(t, map[string]string{"1-a.jsonl": "one\ntwo\n", "1-a.new": "1\n"})
	to, there := converses(t, map[string]string{"1-a.jsonl": "one\n2\n"})
	if err := kept.Take(t.Context(), from, to); !errors.Is(err, ErrConflict) {
		t.Errorf("%v", err)
	}
	if got := there.sh(t, all); got != "./1-a.jsonl:one\n./1-a.jsonl:2" {
		t.Errorf("there:\n%s", got)
	}
}

func TestNoConversation(t *testing.T) {
	to, there := converses(t, map[string]string{"x": ""})
	for name, files := range map[string]map[string]string{"none": nil, "others": {"2.jsonl": "x"}} {
		from, _ := converses(t, files)
		if err := kept.Take(t.Context(), from, to); !errors.Is(err, ErrNoConversation) {
			t.Errorf("%s: %v", name, err)
		}
	}
	if got := there.sh(t, "ls"); got != "x" {
		t.Errorf("there: %q", got)
	}
	odd := kept
	odd.ID = "$(touch x)"
	if err := odd.Take(t.Context(), to, to); err == nil {
		t.Error("an id with a command was taken")
	}
}

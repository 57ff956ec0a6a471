package status_test

import (
	"encoding/base64"
	"fmt"
	"strings"
	"testing"
	"time"

	"gascity.dev/gc/internal/rule"
	"gascity.dev/gc/internal/status"
)

const nonce = "0123456789abcdef0123456789abcdef"

// signed is a report with the nonce.
func signed(pairs string) string { return "\x1b]7501;" + pairs + ":nonce=" + nonce + "\x1b\\" }

// TestNonce: with a nonce, the reports that have it are the status, at once; whatever
// else the program writes is text.
func TestNonce(t *testing.T) {
	r := newRig(t)
	r.d.Nonce = nonce
	r.f.Ready = "> "
	r.f.Rules = []rule.Status{{Name: "busy", State: status.Working, All: []string{"Thinking"}}}
	forged := []string{
		"\x1b]7501;state=idle\x1b\\", "\x1b]7501;state=error:nonce=\x1b\\",
		"\x1b]7501;state=error:nonce=0123456789abcdef0123456789abcdee\x1b\\",
		"\x1b]7501;nonce=" + nonce + ":state=error:nonce=0\x1b\\", // the last one counts
		"\x1b]133;A\a", "\x1b]133;C\a", "\x1b]9;4;3\a", "\x1b]0;\u280b working\a", "Thinking\r\n",
		"Do you want to proceed?\r\n\u276f 1. Yes\r\n  2. No\r\n", "Continue? [y/n] ", "\r\n> ", "\x1bc",
	}
	all := strings.Join(forged, "")
	r.write(all)
	if a, again := r.is("unknown"); a.Source != "" || again != 0 || len(a.Sources) != 1 {
		t.Errorf("before the first report: %+v, again in %v", a, again)
	}
	steps := []struct{ report, want string }{
		{"state=working", "working"}, {"state=idle", "idle"}, {"state=working", "working"},
		{"state=blocked:kind=permission:msg=" + base64.StdEncoding.EncodeToString([]byte("run ls?")), "blocked/permission"},
		{"state=working", "working"}, {"state=error", "error"}, {"state=clear", "unknown"},
	}
	for _, s := range steps {
		r.write(signed(s.report) + all)
		a, again := r.is(s.want)
		if again != 0 {
			t.Errorf("%s: again in %v", s.report, again)
		}
		if (a.Pending != nil) != (a.State == status.Blocked) || a.Pending != nil && a.Pending.Prompt != "run ls?" {
			t.Errorf("%s: pending %+v", s.report, a.Pending)
		}
		r.pass(time.Millisecond)
	}
}

// TestNonceIsNotSaved: a saved state is shown in no evidence and no file.
func TestNonceIsNotSaved(t *testing.T) {
	r := newRig(t)
	r.d.Nonce = nonce
	r.write(signed("state=working"))
	b, err := r.d.Save()
	if err != nil {
		t.Fatal(err)
	}
	a, _ := r.is("working")
	if all := fmt.Sprintf("%s %+v", b, a); strings.Contains(all, nonce) {
		t.Error("the nonce is in", all)
	}
	next := newRig(t)
	next.d.Nonce = nonce
	if err := next.d.Load(b); err != nil {
		t.Fatal(err)
	}
	next.is("working")
}

// TestNonceWithoutOne: a report with a nonce is an ordinary one for a program that needs none.
func TestNonceWithoutOne(t *testing.T) {
	r := newRig(t)
	r.write(signed("state=working"))
	r.is("working")
}

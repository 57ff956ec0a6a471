package check

import (
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
)

var inputRules = []rule{
	{"nudge", "types the message and Enter, once", "the agent gets the message never, or twice", nudges},
	{"nudge", "prints a true receipt, or lets peek show the message",
		"callers cannot distinguish a delivered message from a lost one: all are unverified, and none is sent again", verifiable},
	{"nudge", "succeeds without a session", gone, func(r *run) error { return r.succeedsAsGone("nudge", "nobody is there") }},
	{"send-keys", "presses the keys and no Enter", "dialogs are answered wrongly", keys},
	{"send-keys", "succeeds without a session", gone, func(r *run) error { return r.succeedsAsGone("send-keys", "", "Enter") }},
}

// message is text that faulty quoting or encoding breaks.
const message = `say "hello" to $USER, it's é`

func nudges(r *run) error {
	h, err := r.start(nil)
	if err != nil {
		return err
	}
	if _, err := r.does("nudge", h.name, message); err != nil {
		return err
	}
	if err := h.says("got: " + message + "\n"); err != nil {
		return err
	}
	if _, err := r.does("nudge", h.name, "second"); err != nil {
		return err
	}
	if err := h.says("got: second\n"); err != nil {
		return err
	}
	said, err := h.said()
	if n := strings.Count(said, "got: "); err == nil && n != 2 {
		err = fmt.Errorf("two messages arrived as %d lines: %q", n, clip(said))
	}
	return err
}

// states are the states of a receipt.
var states = []string{"submitted", "drafted", "blocked", "refused", "dead", "unverified"}

func verifiable(r *run) error {
	h, err := r.start(nil)
	if err != nil {
		return err
	}
	a, err := r.does("nudge", h.name, "seen")
	if err != nil {
		return err
	}
	var receipt struct {
		State string `json:"state"`
	}
	if json.Unmarshal([]byte(a.out), &receipt) == nil && slices.Contains(states, receipt.State) {
		if receipt.State == "submitted" {
			return h.says("got: seen\n")
		}
		return fmt.Errorf("the receipt for a program that waits for input is %q", receipt.State)
	}
	return r.eventually(func() error {
		a, err := r.does("peek", h.name, "", "0")
		switch {
		case errors.Is(err, errMissing):
			return errors.New("no receipt, and no peek")
		case err == nil && !strings.Contains(a.out, "seen"):
			err = fmt.Errorf("no receipt, and peek shows %q", clip(a.out))
		}
		return err
	})
}

func keys(r *run) error {
	h, err := r.start(nil)
	if err != nil {
		return err
	}
	for _, press := range [][]string{{"a"}, {"b", "c"}, {"Enter"}} {
		if _, err := r.does("send-keys", h.name, "", press...); err != nil {
			return err
		}
	}
	return h.says("got: abc\n")
}

package check

import (
	"errors"
	"fmt"
)

var metaRules = []rule{
	{"set-meta", "keeps any bytes until stop", "callers do not recognise their own session", metadata},
	{"get-meta", "with exact-meta, prints newlines at the end of a value", "values change", func(r *run) error {
		if !r.has("exact-meta") {
			return skip("exact-meta is not declared")
		}
		h, err := r.start(nil)
		if err != nil {
			return err
		}
		if _, err := r.does("set-meta", h.name, "value\n\n", "gc.check"); err != nil {
			return err
		}
		a, err := r.does("get-meta", h.name, "", "gc.check")
		if err == nil && a.out != "value\n\n" {
			err = fmt.Errorf("\"value\\n\\n\" became %q", clip(a.out))
		}
		return err
	}},
	{"set-meta", "fails with \"session not found\" without a session", "callers assume that it is kept",
		func(r *run) error { return r.failsAsGone("set-meta", "v", "k") }},
	{"get-meta", "prints nothing for an unset key or without a session", "callers act on a value that was never set", func(r *run) error {
		return r.prints("", "get-meta", r.name(), "", "k")
	}},
}

func metadata(r *run) error {
	h, err := r.start(nil)
	if err != nil {
		return err
	}
	if err := r.prints("", "get-meta", h.name, "", "never.set"); err != nil {
		return err
	}
	value := odd + "\nsecond line\té"
	if _, err := r.does("set-meta", h.name, value, "gc.check"); err != nil {
		return err
	}
	if err := r.prints(value, "get-meta", h.name, "", "gc.check"); err != nil {
		return err
	}
	if _, err := r.does("remove-meta", h.name, "", "gc.check"); err != nil && !errors.Is(err, errMissing) {
		return err
	} else if err == nil {
		if err := r.prints("", "get-meta", h.name, "", "gc.check"); err != nil {
			return err
		}
	}
	if _, err := r.does("set-meta", h.name, "old", "gc.check"); err != nil {
		return err
	}
	if _, err := r.does("stop", h.name, ""); err != nil {
		return err
	}
	if h, err = r.startAs(h.name, nil); err != nil {
		return err
	}
	if err := r.prints("", "get-meta", h.name, "", "gc.check"); err != nil {
		return fmt.Errorf("after stop and start: %w", err)
	}
	return nil
}

package check

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"
)

// beats reports whether a process still writes the file beat in the work dir.
func (h *host) beats() bool {
	read := func() string {
		data, _ := os.ReadFile(filepath.Join(h.dir, "beat")) // a missing file does not beat
		return string(data)
	}
	// Twenty times the interval between beats.
	before, limit := read(), time.Now().Add(time.Second)
	for time.Now().Before(limit) {
		if now := read(); now != before && now != "" {
			return true
		}
		time.Sleep(20 * time.Millisecond)
	}
	return false
}

var listRules = []rule{
	{"list-running", "lists the running sessions with the prefix and nothing else",
		"callers assume that a session missing from the list has ended, and restart the agent; a script that cannot list exits with 2", lists},
	{"list-running", "prints nothing for an unused prefix", "callers stop sessions of others", func(r *run) error {
		return r.prints("", "list-running", r.name()+"-nobody-", "")
	}},
	{"list-running", "does not list other cities' sessions (GC_CITY_PATH)",
		"callers end the listed agents of others", listsOwn},
	{"stop", "does not end sessions of another city (GC_CITY_PATH)",
		"two cities may use the same name: stopping one session ends the other", stopsOwn},
}

func (r *run) list(prefix string) ([]string, error) {
	a, err := r.does("list-running", prefix, "")
	return strings.Fields(a.out), err
}

func lists(r *run) error {
	if _, err := r.list("gc-check-"); err != nil {
		return err
	}
	one, err := r.start(nil)
	if err != nil {
		return err
	}
	two, err := r.start(nil)
	if err != nil {
		return err
	}
	for prefix, want := range map[string][]string{one.name: {one.name}, "gc-check-": {one.name, two.name}} {
		names, err := r.list(prefix)
		if err != nil {
			return err
		}
		slices.Sort(names)
		slices.Sort(want)
		if prefix != "gc-check-" { // the other name may begin with it
			names = slices.DeleteFunc(names, func(n string) bool { return n == two.name })
		}
		if !slices.Equal(names, want) {
			return fmt.Errorf("list-running %s printed %q while %q run", prefix, names, want)
		}
	}
	if _, err := r.does("stop", one.name, ""); err != nil {
		return err
	}
	names, err := r.list("gc-check-")
	if err == nil && slices.Contains(names, one.name) {
		err = fmt.Errorf("list-running lists %s after its stop", one.name)
	}
	return err
}

// elsewhere calls the script for another city.
func (r *run) elsewhere(f func() error) error {
	city := r.city
	defer func() { r.city = city }()
	r.city = filepath.Join(r.dir, "other")
	return f()
}

func listsOwn(r *run) error {
	if _, err := r.list("gc-check-"); err != nil {
		return err
	}
	h, err := r.start(nil)
	if err != nil {
		return err
	}
	return r.elsewhere(func() error {
		names, err := r.list("gc-check-")
		if err == nil && len(names) > 0 {
			err = fmt.Errorf("it lists %q, which GC_CITY_PATH=%s started", names, filepath.Dir(r.city)+"/city")
		}
		if err != nil {
			return err
		}
		return r.prints("false", "is-running", h.name, "")
	})
}

func stopsOwn(r *run) error {
	h, err := r.start(nil)
	if err != nil {
		return err
	}
	if err := r.elsewhere(func() error {
		_, err := r.does("stop", h.name, "")
		return err
	}); err != nil {
		return err
	}
	if err := h.runs(); err != nil {
		return fmt.Errorf("after a stop by another city: %w", err)
	}
	return nil
}

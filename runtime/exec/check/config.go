package check

import (
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"unicode"
)

var configRules = []rule{
	{"start", "does what the start config says, or names it on standard error",
		"callers other than gc leave these to the script, and assume that they are done", wholeConfig},
	{"start", "fails when a pre_start command fails", "the agent runs without its preparations", failingPreStart},
	{"run-live", "runs session_live again and reports failures", "live commands are not run again", func(r *run) error {
		h, err := r.start(nil)
		if err != nil {
			return err
		}
		file := filepath.Join(h.dir, "live")
		data, err := encode(config{"work_dir": h.dir, "session_live": []string{"echo again > " + file, "echo no good; exit 4"}})
		if err != nil {
			return err
		}
		a, err := r.does("run-live", h.name, data)
		if err != nil || names(a.stderr, "session_live") && !strings.Contains(a.stderr, "no good") {
			return err
		}
		if _, err := os.Stat(file); err != nil {
			return errors.New("the command did not run")
		}
		if !strings.Contains(a.stderr, "no good") {
			return fmt.Errorf("a failed command is not named on standard error: %v", a)
		}
		return nil
	}},
}

// fields uses every field of a start config; each writes a line to the file order in
// the work dir, or a file.
func (r *run) fields() (config, error) {
	overlay, single := filepath.Join(r.dir, "overlay"), filepath.Join(r.dir, "single")
	pack := filepath.Join(r.dir, "pack")
	for path, text := range map[string]string{filepath.Join(overlay, "overlay.txt"): "o", filepath.Join(pack, "pack.txt"): "p", single: "s"} {
		if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
			return nil, err
		}
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			return nil, err
		}
	}
	script := filepath.Join(r.dir, "setup.sh")
	if err := os.WriteFile(script, []byte("#!/bin/sh\necho session_setup_script >> \"$GC_CHECK_DIR/order\"\n"), 0o700); err != nil {
		return nil, err
	}
	return config{
		"pack_overlay_dirs": []string{pack}, "overlay_dir": overlay,
		"copy_files":    []map[string]string{{"src": single, "rel_dst": "deep/single.txt"}},
		"session_setup": []string{`echo session_setup >> "$GC_CHECK_DIR/order"`}, "session_setup_script": script,
		"session_live": []string{`echo session_live >> "$GC_CHECK_DIR/order"`},
		"pre_start":    []string{`echo pre_start >> "$GC_CHECK_DIR/order"`},
	}, nil
}

// proof names the file that shows the effect of a field; "" for the file order.
var proof = map[string]string{
	"pack_overlay_dirs": "pack.txt", "overlay_dir": "overlay.txt", "copy_files": "deep/single.txt",
	"pre_start": "", "session_setup": "", "session_setup_script": "", "session_live": "",
}

// wholeConfig starts with every field and a nudge.
func wholeConfig(r *run) error {
	c, err := r.fields()
	if err != nil {
		return err
	}
	dir := filepath.Join(r.dir, "whole")
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return err
	}
	// Commands of the session run with its variables, or in its work dir.
	r.env = append(r.env, "GC_CHECK_DIR="+dir)
	defer func() { r.env = r.env[:len(r.env)-1] }()
	c["work_dir"], c["nudge"] = dir, "typed by start"
	c["env"] = map[string]string{"GC_CHECK_DIR": dir, "GC_CHECK_LOG": filepath.Join(dir, "log")}
	name := r.name()
	h, err := r.tryStart(name, c)
	if err != nil {
		return err
	}
	h.dir, h.log = dir, filepath.Join(dir, "log")
	told := r.said
	if err := h.says("ready"); err != nil {
		return err
	}
	var dropped []string
	_ = r.eventually(func() error { // whatever is still missing then was dropped
		dropped = slices.DeleteFunc(append(slices.Sorted(maps.Keys(proof)), "nudge"), func(field string) bool {
			return names(told, field) || h.carriedOut(field)
		})
		if len(dropped) > 0 {
			return errors.New("incomplete")
		}
		return nil
	})
	if len(dropped) > 0 {
		return fmt.Errorf("dropped silently: %s", strings.Join(dropped, ", "))
	}
	order, err := os.ReadFile(filepath.Join(dir, "order"))
	if err == nil && strings.Contains(string(order), "pre_start") && !strings.HasPrefix(string(order), "pre_start\n") {
		return fmt.Errorf("pre_start did not run first: %q", order)
	}
	return nil
}

// names reports whether the script's output names a field.
func names(said, field string) bool {
	return slices.Contains(strings.FieldsFunc(said, func(r rune) bool {
		return r != '_' && !unicode.IsLetter(r)
	}), field)
}

// carriedOut reports whether a field had its effect.
func (h *host) carriedOut(field string) bool {
	if field == "nudge" {
		said, err := h.said()
		return err == nil && strings.Contains(said, "got: typed by start\n")
	}
	if proof[field] != "" {
		_, err := os.Stat(filepath.Join(h.dir, proof[field]))
		return err == nil
	}
	order, err := os.ReadFile(filepath.Join(h.dir, "order"))
	return err == nil && slices.Contains(strings.Fields(string(order)), field)
}

func failingPreStart(r *run) error {
	name := r.name()
	_, err := r.tryStart(name, config{"pre_start": []string{"echo no such thing; exit 5"}})
	var s skip
	if errors.As(err, &s) {
		return err
	}
	if err != nil {
		return r.prints("false", "is-running", name, "")
	}
	if names(r.said, "pre_start") {
		return skip("pre_start is refused on standard error")
	}
	return errors.New("start succeeded although its pre_start command exited with 5")
}

package proctree

import (
	"fmt"
	"strings"
	"testing"
)

// rest is a stat line after the name, from proc_pid_stat(5): state, ppid, pgrp,
// session, tty, tpgid … threads (20th), start (22nd).
func rest(state byte, threads int, start uint64) string {
	return fmt.Sprintf("%c 7 8 9 34816 -1 4194560 1 2 3 4 5 6 7 8 20 0 %d 0 %d 1000 200 18446744073709551615 1 1", state, threads, start)
}

func TestParseStat(t *testing.T) {
	names := []string{"sh", "", "a b", "tmux: server", "(sd-pam)", ")", "a) R 1 2 (b", "x\ny", "\xff"}
	for _, name := range names {
		p, ok := parseStat([]byte("42 (" + name + ") " + rest('S', 3, 987654321) + "\n"))
		want := Proc{PID: 42, PPID: 7, PGID: 8, SID: 9, State: 'S', TTY: 34816, TPGID: -1, Threads: 3, Start: 987654321, Comm: name}
		if !ok || p != want {
			t.Errorf("%q: got %+v %v", name, p, ok)
		}
	}
}

func TestParseStatRefuses(t *testing.T) {
	good := "42 (sh) " + rest('S', 1, 5)
	for _, line := range []string{
		"", "42", "42 (sh", "(sh) " + rest('S', 1, 5), "x (sh) " + rest('S', 1, 5),
		strings.Replace(good, " 7 ", " x ", 1), strings.Replace(good, " 5 1000", " -5 1000", 1),
		strings.Replace(good, "S", "SS", 1), good[:30],
	} {
		if p, ok := parseStat([]byte(line)); ok {
			t.Errorf("%q gave %+v", line, p)
		}
	}
}

func FuzzParseStat(f *testing.F) {
	f.Add([]byte("42 (a) b) " + rest('Z', 0, 5)))
	f.Fuzz(func(t *testing.T, line []byte) {
		p, ok := parseStat(line)
		if ok && !strings.Contains(string(line), "("+p.Comm+")") {
			t.Errorf("%q gave %+v", line, p)
		}
	})
}

func TestZombieNeedsAllThreadsGone(t *testing.T) {
	cases := []struct {
		state   byte
		threads int
		zombie  bool
	}{
		{'R', 1, false}, {'S', 5, false}, {'T', 1, false}, {'D', 1, false}, {'Z', 1, true}, {'Z', 0, true}, {'X', 0, true},
		{'Z', 4, false}, // the first thread called pthread_exit
	}
	for _, c := range cases {
		if got := (Proc{State: c.state, Threads: c.threads}).Zombie(); got != c.zombie {
			t.Errorf("%c with %d threads: %v", c.state, c.threads, got)
		}
	}
}

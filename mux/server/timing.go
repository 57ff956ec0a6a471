package server

import (
	"fmt"
	"os"
	"time"
)

// timing holds the server's periods.
type timing struct {
	idle     time.Duration // without a session, until the server ends itself
	keep     time.Duration // of an exited session
	keepMost int           // of exited sessions
}

var defaultTiming = timing{idle: 10 * time.Minute, keep: time.Hour, keepMost: 200}

// readTiming reads timing from a file in the state directory that only tests make.
func readTiming(dir string) timing {
	t := defaultTiming
	b, err := os.ReadFile(dir + "/timing")
	if err != nil {
		return t
	}
	var idle, keep time.Duration
	var most int
	if n, _ := fmt.Sscan(string(b), (*durationFlag)(&idle), (*durationFlag)(&keep), &most); n == 3 {
		t = timing{idle, keep, most}
	}
	return t
}

// durationFlag scans a duration such as "150ms".
type durationFlag time.Duration

// Scan reads one word.
func (d *durationFlag) Scan(st fmt.ScanState, _ rune) error {
	word, err := st.Token(true, nil)
	if err != nil {
		return err
	}
	v, err := time.ParseDuration(string(word))
	*d = durationFlag(v)
	return err
}

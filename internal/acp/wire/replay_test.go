package wire

import (
	"bufio"
	"bytes"
	"encoding/json"
	"os"
	"path/filepath"
	"testing"
)

// entry is one line of a transcript.
type entry struct {
	Dir  string          `json:"dir"` // a2c, c2a, junk or err
	Msg  json.RawMessage `json:"msg"`
	Text string          `json:"text"`
}

func transcript(t *testing.T, file string) []entry {
	t.Helper()
	b, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	var all []entry
	lines := bufio.NewScanner(bytes.NewReader(b))
	lines.Buffer(nil, len(b))
	for lines.Scan() {
		var e entry
		if err := json.Unmarshal(lines.Bytes(), &e); err != nil {
			t.Fatal(err)
		}
		all = append(all, e)
	}
	return all
}

// sent is a message of a transcript.
type sent struct {
	ID     json.RawMessage
	Method string
	Params json.RawMessage
	Result json.RawMessage
	Error  *Error
}

// Whatever real agents wrote arrives, in order; other lines are junk.
func TestTranscripts(t *testing.T) {
	files, err := filepath.Glob("../testdata/transcripts/*.jsonl")
	if err != nil || len(files) < 10 {
		t.Fatalf("transcripts: %q, %v", files, err)
	}
	for _, file := range files {
		t.Run(filepath.Base(file), func(t *testing.T) {
			p := connect(t, Options{})
			open := map[string]bool{}
			junk, messages := 0, 0
			for _, e := range transcript(t, file) {
				var m sent
				if e.Msg != nil {
					if err := json.Unmarshal(e.Msg, &m); err != nil {
						t.Fatal(err)
					}
				}
				switch {
				case e.Dir == "c2a" && m.Method != "" && m.ID != nil:
					p.conn.mu.Lock()
					p.conn.calls = callID(m.ID) - 1 // some ids are not in the transcript
					p.conn.mu.Unlock()
					p.call(m.Method, m.Params)
					p.heard()
					open[string(m.ID)] = true
				case e.Dir == "junk" && e.Msg != nil:
					p.say(string(e.Msg))
					junk++
				case e.Dir == "junk":
					p.say(e.Text)
					junk++
				case e.Dir == "a2c":
					p.say(string(e.Msg) + "\r")
					if m.Method == "" && !open[string(m.ID)] {
						continue // a second answer
					}
					messages++
					check(t, p.next(), m)
					if m.Method == "" {
						delete(open, string(m.ID))
					}
				}
			}
			p.say(`{"jsonrpc":"2.0","method":"end"}`)
			if m := p.next(); m.Method != "end" {
				t.Errorf("got %+v, want no more messages", m)
			}
			if p.conn.Junk() != int64(junk) {
				t.Errorf("%d lines were junk, want %d", p.conn.Junk(), junk)
			}
			if messages == 0 {
				t.Error("no messages")
			}
		})
	}
}

func check(t *testing.T, got Message, want sent) {
	t.Helper()
	same := got.Method == want.Method && bytes.Equal(got.Params, want.Params) && bytes.Equal(got.Result, want.Result)
	if want.Method != "" {
		same = same && bytes.Equal(got.ID, want.ID) && (got.Kind == Request) == (want.ID != nil)
	} else {
		same = same && got.Kind == Response && got.Call == callID(want.ID) && (got.Err == nil) == (want.Error == nil)
	}
	if !same {
		t.Errorf("got %+v, want %+v", got, want)
	}
}

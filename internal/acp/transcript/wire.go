package transcript

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"sync"
	"time"
)

// Wire keeps every message that is exchanged with an agent, in the files
// "wire.jsonl" and "wire.1.jsonl", without the variables and headers of MCP servers. It is for finding faults of agents, and holds every
// secret in the messages. Safe for concurrent use.
type Wire struct {
	mu    sync.Mutex
	files *files
}

const (
	wireCurrent  = "wire.jsonl"
	wirePrevious = "wire.1.jsonl"
)

// ReadWire calls f with the lines of the directory, in order: JSON objects with t, dir
// ("a2c" is from the agent, "c2a" to it) and msg. found is false if nothing was kept. A
// line must not be kept after f returns.
func ReadWire(dir string, f func(line []byte) error) (found bool, err error) {
	for _, name := range []string{wirePrevious, wireCurrent} {
		file, err := os.Open(filepath.Join(dir, name))
		if errors.Is(err, fs.ErrNotExist) {
			continue
		}
		if err != nil {
			return found, err
		}
		found = true
		err = eachLine(file, f)
		file.Close()
		if err != nil {
			return found, err
		}
	}
	return found, nil
}

// eachLine calls f with the whole lines of r, without their ends.
func eachLine(r io.Reader, f func(line []byte) error) error {
	for b := bufio.NewReader(r); ; {
		line, err := b.ReadBytes('\n')
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err == nil {
			err = f(line[:len(line)-1])
		}
		if err != nil {
			return err
		}
	}
}

// NewWire opens the files of the directory.
func NewWire(dir string) (*Wire, error) {
	f, err := openFiles(dir, wireCurrent, wirePrevious)
	if err != nil {
		return nil, err
	}
	return &Wire{files: f}, nil
}

// Add appends a message, which must be JSON. It does not keep it. A message that
// cannot be written is left out.
func (w *Wire) Add(fromAgent bool, msg []byte) {
	dir := "c2a"
	if fromAgent {
		dir = "a2c"
	} else {
		msg = withoutSecrets(msg)
	}
	b, err := json.Marshal(struct {
		Time time.Time       `json:"t"`
		Dir  string          `json:"dir"`
		Msg  json.RawMessage `json:"msg"`
	}{time.Now(), dir, msg})
	if err != nil {
		return
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	_ = w.files.add(b)
}

// withoutSecrets masks the variables and headers of MCP servers in a message to the
// agent.
func withoutSecrets(msg []byte) []byte {
	if !bytes.Contains(msg, []byte(`"mcpServers"`)) {
		return msg
	}
	var all, params map[string]json.RawMessage
	var servers []map[string]json.RawMessage
	if json.Unmarshal(msg, &all) != nil || json.Unmarshal(all["params"], &params) != nil || json.Unmarshal(params["mcpServers"], &servers) != nil {
		return msg // a text that mentions them
	}
	for _, s := range servers {
		for _, key := range []string{"env", "headers"} {
			var values []map[string]any
			if json.Unmarshal(s[key], &values) != nil {
				continue
			}
			for _, v := range values {
				v["value"] = "********"
			}
			s[key], _ = json.Marshal(values) // of strings: it cannot fail
		}
	}
	params["mcpServers"], _ = json.Marshal(servers)
	all["params"], _ = json.Marshal(params)
	out, err := json.Marshal(all)
	if err != nil {
		return nil
	}
	return out
}

// Close closes the file.
func (w *Wire) Close() error {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.files.close()
}

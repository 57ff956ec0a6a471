package transcript

import (
	"encoding/json"
	"sync"
	"time"
)

// Wire keeps every message that is exchanged with an agent, in the files
// "wire.jsonl" and "wire.1.jsonl". It is for finding faults of agents, and holds every
// secret in the messages. Safe for concurrent use.
type Wire struct {
	mu    sync.Mutex
	files *files
}

// NewWire opens the files of the directory.
func NewWire(dir string) (*Wire, error) {
	f, err := openFiles(dir, "wire.jsonl", "wire.1.jsonl")
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

// Close closes the file.
func (w *Wire) Close() error {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.files.close()
}

package control

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"time"
)

// Launch is what a host runs, and how. It reaches the host in a file, because it may
// hold secrets: mode 0600, read once and removed.
type Launch struct {
	Version string `json:"version"` // gc's
	Session string `json:"session"` // its name
	Command string `json:"command"` // of the agent: a shell command line
	WorkDir string `json:"work_dir"`
	Dir     string `json:"dir"` // where transcript and queue are kept

	Auth       string   `json:"auth,omitempty"`
	Mode       string   `json:"mode,omitempty"`
	Model      string   `json:"model,omitempty"`
	Permission string   `json:"permission,omitempty"`
	Allow      []string `json:"allow,omitempty"`
	Deny       []string `json:"deny,omitempty"`

	ResumeID   string      `json:"resume_id,omitempty"`
	Prompt     string      `json:"prompt,omitempty"`
	MCPServers []MCPServer `json:"mcp_servers,omitempty"`
	EndAfter   int         `json:"end_after,omitempty"` // turns, after which the agent is ended if no message waits; 0: never

	FS       bool `json:"fs,omitempty"`
	Terminal bool `json:"terminal,omitempty"`
	Record   bool `json:"record,omitempty"`

	HandshakeTimeout time.Duration `json:"handshake_timeout,omitempty"` // 0: 60 s
	AskTimeout       time.Duration `json:"ask_timeout,omitempty"`       // 0: never
}

// MCPServer is a server of the Model Context Protocol for the agent.
type MCPServer struct {
	Name    string            `json:"name"`
	Type    string            `json:"type,omitempty"` // stdio, http or sse
	Command string            `json:"command,omitempty"`
	Args    []string          `json:"args,omitempty"`
	Env     map[string]string `json:"env,omitempty"`
	URL     string            `json:"url,omitempty"`
	Headers map[string]string `json:"headers,omitempty"`
}

// WriteLaunch writes the file and returns its path. Whoever starts the host removes
// the file if that does not happen.
func WriteLaunch(l Launch) (path string, err error) {
	f, err := os.CreateTemp("", "gc-acp-*.json") // with mode 0600
	if err != nil {
		return "", err
	}
	defer func() {
		if err = errors.Join(err, f.Close()); err != nil {
			os.Remove(f.Name())
		}
	}()
	return f.Name(), json.NewEncoder(f).Encode(l)
}

// TakeLaunch reads the file and removes it.
func TakeLaunch(path string) (Launch, error) {
	var l Launch
	f, err := os.Open(path)
	if err != nil {
		return l, err
	}
	defer f.Close()
	if err := os.Remove(path); err != nil {
		return l, err
	}
	if err := json.NewDecoder(io.LimitReader(f, 16<<20)).Decode(&l); err != nil {
		return l, fmt.Errorf("%s: %w", path, err)
	}
	return l, nil
}

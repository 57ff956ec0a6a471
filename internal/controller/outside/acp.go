package outside

import (
	"bytes"
	"context"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"time"

	"gascity.dev/gc/internal/agent"
	"gascity.dev/gc/internal/config"
)

// overACP checks what only matters to an agent that is hosted over ACP.
func (d *doctor) overACP(s *agent.Spec) {
	about := "agent " + s.Name()
	if path, missing := program(s); path != "" && !missing {
		d.node(about, path, s)
	}
	if s.Resolved.ACP.Permission == config.ACPAllow {
		return // asking would change little
	}
	if yes, why := s.Resolved.Asks(s.Resolved.ACP.Mode); !yes {
		hint := "its policy decides only what it asks"
		if s.Resolved.AskingMode != "" {
			hint += "; mode in [agents.acp] sets the mode"
		}
		d.Warn(about, hint, "it may act without asking: %s", why)
	}
}

// oldestNode is the version that the npm packages of ACP agents require. With an
// older one npm installs old releases without saying so.
const oldestNode = 22

// node checks the version of node for a program that is a node script.
func (d *doctor) node(about, path string, s *agent.Spec) {
	if !isNodeScript(path) {
		return
	}
	node := find("node", s.Config.BaseEnv["PATH"], s.Config.Env["PATH"], s.Config.WorkDir)
	if node == "" {
		d.Fail(about, "install Node.js, or change PATH", "its program %s requires node, which was not found", path)
		return
	}
	version, major := nodeVersion(node)
	if major > 0 && major < oldestNode {
		d.Warn(about, "install Node.js "+strconv.Itoa(oldestNode)+" or newer, then install the program again: npm installs old releases for an old node",
			"its program %s runs on %s %s; the current releases of such agents require %d", path, node, version, oldestNode)
	}
}

// isNodeScript reports whether the file's first line names node.
func isNodeScript(path string) bool {
	f, err := os.Open(path)
	if err != nil {
		return false
	}
	defer f.Close()
	head := make([]byte, 128)
	n, _ := f.Read(head)
	line, _, _ := bytes.Cut(head[:n], []byte("\n"))
	return bytes.HasPrefix(line, []byte("#!")) && bytes.Contains(line, []byte("node"))
}

// nodeVersion returns the version of a node and its first number, 0 if unknown.
func nodeVersion(node string) (version string, major int) {
	ctx, cancel := context.WithTimeout(context.Background(), 5*time.Second)
	defer cancel()
	out, err := exec.CommandContext(ctx, node, "--version").Output()
	if err != nil {
		return "", 0
	}
	version = strings.TrimSpace(string(out))
	first, _, _ := strings.Cut(strings.TrimPrefix(version, "v"), ".")
	major, _ = strconv.Atoi(first)
	return version, major
}

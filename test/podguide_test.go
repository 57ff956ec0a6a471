//go:build e2e && k8s && linux

package e2e

import (
	"io"
	"log"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-containerregistry/pkg/registry"

	"gascity.dev/gc/internal/shell"
	"gascity.dev/gc/internal/testenv/k8snode"
)

// block returns the first block of a language in a document.
func block(t *testing.T, doc, language string) string {
	t.Helper()
	_, rest, ok := strings.Cut(doc, "```"+language+"\n")
	text, _, end := strings.Cut(rest, "```")
	if !ok || !end {
		t.Fatalf("no block of %s", language)
	}
	return text
}

// script writes a program that runs one line of shell.
func script(t *testing.T, path, line string) {
	t.Helper()
	if err := os.WriteFile(path, []byte("#!/bin/sh\n"+line+"\n"), 0o755); err != nil {
		t.Fatal(err)
	}
}

// guide: the five commands of the guide's first run do what it says, word for word, but for
// the name of the registry and of the namespace.
func (c *cluster) guide(t *testing.T) {
	server := httptest.NewServer(registry.New(registry.Logger(log.New(io.Discard, "", 0))))
	t.Cleanup(server.Close)
	data, err := os.ReadFile("../docs/kubernetes.md")
	if err != nil {
		t.Fatal(err)
	}
	doc := strings.NewReplacer("registry.example/", strings.TrimPrefix(server.URL, "http://")+"/", "agents\n", "guide\n", `"agents"`, `"guide"`).Replace(string(data))

	node, err := k8snode.Busybox(c.ctx, "docker.io/library/node:22")
	if err != nil {
		t.Fatal(err)
	}
	bin := t.TempDir()
	script(t, filepath.Join(bin, "bash"), "exec /bin/sh \"$@\"")
	node.Files["bin/bash"] = filepath.Join(bin, "bash")
	delete(node.Links, "bin/bash")
	if err := c.node.Import(c.ctx, node); err != nil {
		t.Fatal(err)
	}
	city := newCity(t, "")
	city.put("city.toml", block(t, doc, "toml"))
	line := "exec"
	for _, word := range c.node.Kubectl(c.ctx).Args {
		line += " " + shell.Quote(word)
	}
	script(t, filepath.Join(bin, "kubectl"), line+` "$@"`)
	city.env = append(city.env, "KUBECONFIG="+c.node.Kubeconfig, "PATH="+filepath.Dir(gcBin)+":"+bin+":"+os.Getenv("PATH"))
	commands := strings.Split(strings.TrimSpace(block(t, doc, "sh example")), "\n")
	if len(commands) != 5 {
		t.Errorf("%d commands: %q", len(commands), commands)
	}
	var last string
	for _, command := range commands {
		cmd := exec.Command("sh", "-c", command)
		cmd.Dir, cmd.Env = city.path, city.env
		out, err := cmd.CombinedOutput()
		t.Logf("$ %s\n%s", command, out)
		if err != nil {
			t.Fatalf("%s: %v", command, err)
		}
		last = string(out)
	}
	if !strings.Contains(last, "coder") || !strings.Contains(last, "running") || !strings.Contains(last, "k8s:gc-") {
		t.Errorf("%s", last)
	}
}

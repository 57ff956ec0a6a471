//go:build e2e

package e2e

import (
	"encoding/json"
	"fmt"
	"os"
	"strings"
	"testing"

	cityapi "gascity.dev/gc/internal/controller/api"
	"gascity.dev/gc/internal/testenv/sshd"
)

// TestServersOnAnotherMachine: the MCP servers of an agent on another machine are in a file
// there that only its user can read, and in no command line; a change of them starts it
// with a new file.
func TestServersOnAnotherMachine(t *testing.T) {
	const token = "token-of-the-database"
	far := sshd.Start(t, sshd.Options{GC: gcBin})
	far.Write(".local/bin/fake", `#!/bin/sh
cp "${1#--mcp-config=}" ~/given && stat -c %a "${1#--mcp-config=}" >~/mode && ps -e -o args >~/args && echo "$1" >~/option.new && mv ~/option.new ~/option
exec sleep 1000
`, 0o755)
	c := newCity(t, "")
	config := func(servers string) string {
		return hostDaemon + "[providers.fake]\ncommand = \"fake\"\nmcp_style = \"file\"\n" +
			"[[mcp_servers]]\nname = \"db\"\ncommand = \"db-mcp\"\nenv = {TOKEN = \"$DB_TOKEN\"}\n" +
			"[[agents]]\nname = \"a\"\nprovider = \"fake\"\nsession = \"" + far.URL() + "\"\nwork_dir = \"" + far.Home + "/work\"\nmcp_servers = " + servers + "\n"
	}
	c.write(config(`["gc", "db"]`))
	c.env = append(c.env, "GC_SSH="+far.SSH(), "DB_TOKEN="+token)
	c.gc("start", c.path)
	c.becomes(map[string]cityapi.State{"a": run})
	option := func() string {
		b, _ := os.ReadFile(far.Path("option")) // nothing yet
		return strings.TrimSpace(string(b))
	}
	eventually(t, func() string { return "the agent has no servers" }, func() bool { return option() != "" })

	file := far.Home + "/work/.gc/mcp/gc-live-a.json"
	if got := option(); got != "--mcp-config="+file {
		t.Errorf("option %s", got)
	}
	if mode := far.Run("cat mode; stat -c %U " + file); mode != "600\n"+far.User+"\n" {
		t.Errorf("mode and owner %s", mode)
	}
	var given struct {
		Servers map[string]struct {
			Command string
			Args    []string
			Env     map[string]string
		} `json:"mcpServers"`
	}
	read := func() {
		t.Helper()
		given.Servers = nil
		if err := json.Unmarshal([]byte(far.Run("cat given")), &given); err != nil {
			t.Fatal(err)
		}
	}
	read()
	if db := given.Servers["db"]; db.Command != "db-mcp" || db.Env["TOKEN"] != token {
		t.Errorf("%+v", db)
	}
	own := given.Servers["gc"]
	if own.Env["GC_AGENT"] != "a" || !strings.HasPrefix(own.Env["GC_OUTBOX"], c.path) || own.Env["GC_BIN"] != "" || own.Env["GC_MUX_SOCKET"] != "" || own.Env["XDG_STATE_HOME"] != "" {
		t.Errorf("%+v", own)
	}
	if got := fmt.Sprint(own.Command, own.Args); got != `/bin/sh[-c exec "${GC_BIN:-gc}" mcp]` {
		t.Errorf("%s", got)
	}
	if args := far.Run("cat args"); strings.Contains(args, token) {
		t.Errorf("the token is in a command line: %s", args)
	}

	far.Run("rm option")
	c.write(config(`["gc"]`))
	eventually(t, func() string { return "it was not started with other servers" }, func() bool { return option() != "" })
	if read(); len(given.Servers) != 1 {
		t.Errorf("%+v", given.Servers)
	}
	c.becomes(map[string]cityapi.State{"a": run})
}

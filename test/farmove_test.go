//go:build e2e

package e2e

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	cityapi "gascity.dev/gc/internal/controller/api"
	"gascity.dev/gc/internal/testenv/sshd"
)

// TestAgentMoves: the first agent of a city to do so goes to another machine with its
// uncommitted work, and back with what was done there. If its work would be lost there, it
// stays.
func TestAgentMoves(t *testing.T) {
	far := sshd.Start(t, sshd.Options{GC: gcBin})
	there := filepath.Join(far.Home, "proj")
	c := newCity(t, "")
	toml := hostDaemon + "[[agents]]\nname = \"mover\"\nwork_dir = \"proj\"\n" +
		"start_command = \"echo in $PWD as $(id -un); exec sleep 1000\"\n" +
		"[[agents]]\nname = \"other\"\nstart_command = \"exec sleep 1000\"\n"
	c.write(toml)
	c.env = append(c.env, "GC_SSH="+far.SSH())
	work := filepath.Join(c.path, "proj")
	if err := os.Mkdir(work, 0o755); err != nil {
		t.Fatal(err)
	}
	const commit = " && git -c user.name=a -c user.email=a@x commit -q"
	c.sh(work, "git init -q -b topic . && echo 1 >kept && git add ."+commit+"m one && echo 2 >>kept && echo 3 >new")
	both := map[string]cityapi.State{"mover": run, "other": run}
	move := func(args ...string) result {
		return c.run(append([]string{"--city", c.path, "agent", "move", "mover"}, args...)...)
	}
	c.gc("start", c.path)
	c.becomes(both)

	far.Run("mkdir proj && echo mine >proj/kept")
	r := move("--session", far.URL(), "--work-dir", there, "--carry", "git")
	if r.code != 1 || !strings.Contains(r.err, "the agent was not moved") || !strings.Contains(r.err, "has files") {
		t.Errorf("to a directory with files: %s", r)
	}
	if text := c.read(filepath.Join(c.path, "city.toml")); !strings.HasSuffix(text, toml) {
		t.Errorf("city.toml is now\n%s", text)
	}
	c.becomes(both)

	far.Run("rm -r proj")
	if r := move("--session", far.URL(), "--work-dir", there, "--carry", "git"); r.code != 0 {
		t.Fatalf("%s", r)
	}
	c.becomes(both)
	c.gc("--city", c.path, "wait", "mover", "--timeout", "20s", "--until", "text=^in "+there+" as "+far.User)
	if a := c.agents()["mover"]; a.Host != far.URL() {
		t.Errorf("it is on %q", a.Host)
	}
	if got := far.Run("cd proj && git status --porcelain && git log --format=%s && git branch --show-current && cat kept new"); got != " M kept\n?? new\none\ntopic\n1\n2\n3\n" {
		t.Errorf("over there:\n%s", got)
	}

	far.Run("cd proj && git add ." + commit + "m two && echo 4 >>new")
	c.sh(work, "git checkout -q . && rm new")
	if r := move("--session", "native", "--work-dir", "proj", "--carry", "git"); r.code != 0 {
		t.Fatalf("back: %s", r)
	}
	c.becomes(both)
	if got := c.sh(work, "git status --porcelain && git log --format=%s && cat kept new"); got != " M new\ntwo\none\n1\n2\n3\n4\n" {
		t.Errorf("back:\n%s", got)
	}
	if a := c.agents()["mover"]; a.Host != "" || a.Restarts != 0 {
		t.Errorf("back: %+v", a)
	}
}

// talker is a program that keeps conversations as claude does: in files named after its
// working directory. It prints what the conversation had before.
const talker = `#!/bin/sh
dir=$HOME/.talker/$(pwd -P | sed 's/[^A-Za-z0-9]/-/g')
mkdir -p "$dir"
if [ "$1" = --resume ] && [ ! -e "$dir/$2.log" ]; then
	echo "no conversation $2" >&2
	exit 1
fi
[ "$1" = --resume ] || echo begun here >"$dir/$2.log"
echo "$1: $(cat "$dir/$2.log")"
echo "as $(id -un)" >>"$dir/$2.log"
exec sleep 1000
`

// TestConversationMoves: an agent resumes on another machine what it said on this one, and
// back again.
func TestConversationMoves(t *testing.T) {
	far := sshd.Start(t, sshd.Options{GC: gcBin})
	c := newCity(t, "")
	c.write(hostDaemon + "[providers.talker]\ncommand = \"sh talker\"\nresume_flag = \"--resume\"\nsession_id_flag = \"--new\"\n" +
		"conversation_dir = \"$HOME/.talker/{dir}\"\nconversation_files = \"{id}.log\"\n" +
		"[[agents]]\nname = \"mover\"\nprovider = \"talker\"\nwork_dir = \"proj\"\nprompt_mode = \"none\"\n" +
		"[[agents]]\nname = \"there\"\nsession = \"" + far.URL() + "\"\nstart_command = \"exec sleep 1000\"\n")
	c.env = append(c.env, "GC_SSH="+far.SSH())
	work := filepath.Join(c.path, "proj")
	if err := os.Mkdir(work, 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(work, "talker"), []byte(talker), 0o755); err != nil {
		t.Fatal(err)
	}
	here := strings.TrimSpace(c.sh(work, "id -un"))
	both := map[string]cityapi.State{"mover": run, "there": run}
	c.gc("start", c.path)
	c.becomes(both)
	said := func(text string) {
		t.Helper()
		c.becomes(both)
		c.gc("--city", c.path, "wait", "mover", "--timeout", "20s", "--until", "text="+text)
	}
	said("^--new: begun here")
	id := c.agents()["mover"].Conversation
	if id == "" {
		t.Fatal("the status has no conversation")
	}
	move := func(args ...string) {
		t.Helper()
		if r := c.run(append([]string{"--city", c.path, "agent", "move", "mover"}, args...)...); r.code != 0 || strings.Contains(r.err, "a new conversation") {
			t.Fatalf("%s", r)
		}
	}
	move("--session", far.URL(), "--work-dir", filepath.Join(far.Home, "proj"), "--carry", "files")
	said("^--resume: begun here")
	said("^as " + here)
	move("--session", "native", "--work-dir", "proj")
	said("^--resume: begun here")
	said("^as " + far.User)
	if a := c.agents()["mover"]; a.Conversation != id || a.Restarts != 0 {
		t.Errorf("back: %+v", a)
	}
}

// sh returns the output of shell text in a directory of this machine.
func (c *liveCity) sh(dir, text string) string {
	c.t.Helper()
	cmd := exec.Command("/bin/sh", "-c", text)
	cmd.Dir = dir
	out, err := cmd.CombinedOutput()
	if err != nil {
		c.t.Fatalf("%s: %v\n%s", text, err, out)
	}
	return string(out)
}

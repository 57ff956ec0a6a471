package agent

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"gascity.dev/gc/internal/config"
	"gascity.dev/gc/internal/shell"
	"gascity.dev/gc/runtime"
	"gascity.dev/gc/runtime/runtimefake"
)

func specs(t *testing.T, dir, toml string) []*Spec {
	t.Helper()
	c, err := config.Parse(filepath.Join(dir, config.FileName), []byte("[workspace]\nname = \"city\"\n"+toml))
	if err != nil {
		t.Fatal(err)
	}
	list, err := Build(c, BuildOptions{Environ: []string{"HOME=/h", "TOKEN=secret"}, Bin: "/bin/gc"})
	if err != nil {
		t.Fatal(err)
	}
	return list
}

var instance = Instance{ID: "id", Epoch: 3, Token: "token", At: time.Date(2026, 3, 1, 15, 4, 5, 0, time.UTC)}

// TestRecordMax: the recordings of all sessions that can run at once stay within max_kept.
func TestRecordMax(t *testing.T) {
	for _, c := range []struct {
		kept config.Bytes
		max  []int // of each agent's pool; 0: no pool
		want int64
	}{
		{0, []int{0}, 0},
		{100 << 20, []int{0, 0, 3}, 20 << 20},
		{1280 << 20, []int{-1}, 20 << 20},
		{1 << 20, []int{0, 0}, 1 << 20},
		{10 << 20, nil, 10 << 20},
	} {
		city := &config.City{}
		city.Daemon.MaxKept = c.kept
		for _, n := range c.max {
			a := config.Agent{}
			if n != 0 {
				a.Pool = &config.Pool{Max: n}
			}
			city.Agents = append(city.Agents, a)
		}
		if got := recordMax(city); got != c.want {
			t.Errorf("%d bytes, pools %v: %d, want %d", c.kept, c.max, got, c.want)
		}
	}
}

func TestCommandsAndTemplates(t *testing.T) {
	dir := t.TempDir()
	list := specs(t, dir, `
[[rigs]]
name = "web"
path = "web dir"
[[agents]]
name = "a"
dir = "web"
start_command = "run {{.AgentBase}} {{.Session}}"
args = ["--root={{.RigRoot}}", "it's"]
session_setup = ["echo {{.Agent}} {{.CityName}}"]
session_live = ["echo {{.WorkDir}}"]
pre_start = ["mkdir -p {{.CityRoot}}/x"]
nudge = "hello {{.Rig}}"
[[agents]]
name = "sh"
args = ["-l"]
`)
	cfg := list[0].Config
	web := filepath.Join(dir, "web dir")
	if want := "run a gc-city-web--a '--root=" + web + `' 'it'\''s'`; cfg.Command != want {
		t.Errorf("command %s\nwant    %s", cfg.Command, want)
	}
	got := []string{cfg.SessionSetup[0], cfg.SessionLive[0], cfg.PreStart[0], cfg.Nudge}
	if diff := cmp.Diff([]string{"echo web/a city", "echo " + web, "mkdir -p " + dir + "/x", "hello web"}, got); diff != "" {
		t.Error(diff)
	}
	if list[1].Config.Command != `"${SHELL:-/bin/sh}" -l` {
		t.Errorf("shell with args: %s", list[1].Config.Command)
	}
}

func TestEnvironmentAndHashes(t *testing.T) {
	dir := t.TempDir()
	text := "[[agents]]\nname = \"a\"\nstart_command = \"x\"\nenv = {A = \"1\", TERM = \"\"}\n"
	s := specs(t, dir, text)[0]
	cfg, err := s.StartConfig(instance)
	if err != nil {
		t.Fatal(err)
	}
	want := map[string]string{
		"A": "1", "TERM": "", "GC_SESSION_NAME": "gc-city-a", "GC_AGENT": "a", "GC_CITY": dir, "GC_CITY_PATH": dir, "GC_CITY_NAME": "city",
		"GC_DIR": dir, "GC_TEMPLATE": "a", "GC_BIN": "/bin/gc", "GC_SESSION_ID": "id", "GC_RUNTIME_EPOCH": "3", "GC_INSTANCE_TOKEN": "token",
	}
	if diff := cmp.Diff(want, cfg.Env); diff != "" {
		t.Errorf("env:\n%s", diff)
	}
	if diff := cmp.Diff(map[string]string{"HOME": "/h"}, cfg.BaseEnv); diff != "" {
		t.Errorf("inherited:\n%s", diff)
	}
	if s.Config.Env["GC_SESSION_ID"] != "" {
		t.Error("StartConfig changed the spec")
	}
	same := specs(t, dir, text+"nudge = \"hi\"\nready_delay_ms = 5\n")[0]
	if diff := cmp.Diff(s.Hashes, same.Hashes); diff != "" {
		t.Errorf("hints are in a hash:\n%s", diff)
	}
	other := specs(t, dir, strings.Replace(text, `"1"`, `"2"`, 1))[0]
	if other.Hashes.Core == s.Hashes.Core || other.Hashes.Launch != s.Hashes.Launch {
		t.Errorf("hashes of another env: %+v and %+v", s.Hashes, other.Hashes)
	}
}

func TestPrompts(t *testing.T) {
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "p.md"), []byte("Work on {{.Agent}}.\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	tests := []struct{ name, keys, flag, prompt string }{
		{"plain program", `start_command = "x"`, "", ""},
		{"none", `provider = "shell"` + "\nprompt_template = \"do it\"", "", ""},
		{"preset without text has the beacon", `provider = "claude"`, "", "[city] a . 2026-03-01T15:04:05"},
		{"without hooks", `provider = "amp"`, "", "[city] a . 2026-03-01T15:04:05\n\nRun `gc prime $GC_AGENT` to initialize your context."},
		{"file", `provider = "claude"` + "\nprompt_template = \"p.md\"", "", "[city] a . 2026-03-01T15:04:05\n\nWork on a."},
		{"inline", `provider = "claude"` + "\nprompt_template = \"it's {{.CityName}}\"", "", "[city] a . 2026-03-01T15:04:05\n\nit's city"},
		{"flag", `provider = "opencode"` + "\nprompt_template = \"do it\"", "--prompt", "[city] a . 2026-03-01T15:04:05\n\nRun `gc prime $GC_AGENT` to initialize your context.\n\ndo it"},
		{"text for a plain program", `start_command = "x"` + "\nprompt_template = \"do it\"", "", "[city] a . 2026-03-01T15:04:05\n\nRun `gc prime $GC_AGENT` to initialize your context.\n\ndo it"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			cfg, err := specs(t, dir, "[[agents]]\nname = \"a\"\n"+tt.keys)[0].StartConfig(instance)
			if err != nil {
				t.Fatal(err)
			}
			want := ""
			if tt.prompt != "" {
				want = shell.Quote(tt.prompt)
			}
			if cfg.PromptSuffix != want || cfg.PromptFlag != tt.flag {
				t.Errorf("suffix %s flag %q\nwant   %s", cfg.PromptSuffix, cfg.PromptFlag, want)
			}
		})
	}
}

func TestStartErrorsHaveHints(t *testing.T) {
	dir := t.TempDir()
	for keys, want := range map[string]string{
		`work_dir = "nowhere"`: "work dir " + filepath.Join(dir, "nowhere") + " does not exist",
		`provider = "claude"` + "\nprompt_template = \"nowhere.md\"": "prompt file " + filepath.Join(dir, "nowhere.md") + " does not exist",
	} {
		_, err := specs(t, dir, "[[agents]]\nname = \"a\"\n"+keys)[0].StartConfig(instance)
		var se *StartError
		if !errors.As(err, &se) || se.Msg != want || se.Hint() == "" {
			t.Errorf("%s: %v", keys, err)
		}
	}
	if _, err := specs(t, dir, "[[agents]]\nname = \"a\"\nwork_dir = \"later\"\npre_start = [\"mkdir later\"]\n")[0].StartConfig(instance); err != nil {
		t.Errorf("pre_start may make the folder: %v", err)
	}
}

func TestTwoAgentsWithOneSessionName(t *testing.T) {
	c, err := config.Parse("/c/city.toml", []byte("[workspace]\nname = \"c\"\nsession_template = \"{{.City}}\"\n[[agents]]\nname = \"a\"\n[[agents]]\nname = \"b\"\n"))
	if err != nil {
		t.Fatal(err)
	}
	_, err = Build(c, BuildOptions{})
	var p *config.Problems
	if !errors.As(err, &p) || p.List[0].Line != 6 || !strings.Contains(err.Error(), `"a" and "b"`) {
		t.Errorf("error %v", err)
	}
}

func TestPoolMembers(t *testing.T) {
	pool := specs(t, t.TempDir(), "[[rigs]]\nname = \"r\"\npath = \".\"\n[[agents]]\nname = \"w\"\ndir = \"r\"\nstart_command = \"x {{.Agent}}\"\n[agents.pool]\nmax = 5\nnamepool = [\"ann\", \"bob\"]\n")[0]
	if diff := cmp.Diff([]string{"ann", "bob", "w-3"}, MemberNames(pool, 3)); diff != "" {
		t.Error(diff)
	}
	m, err := Member(pool, "bob", BuildOptions{})
	if err != nil {
		t.Fatal(err)
	}
	if m.Name() != "r/bob" || m.Session != "gc-city-r--bob" || m.Config.Command != "x r/bob" || m.Config.Env["GC_TEMPLATE"] != "r/w" || m.Resolved.Pool != nil {
		t.Errorf("member %+v", m)
	}
}

// The config hash is written last: a session that has it has the other keys,
// too.
func TestMark(t *testing.T) {
	fake := runtimefake.New()
	s := specs(t, t.TempDir(), "[[agents]]\nname = \"a\"\nstart_command = \"x\"\n")[0]
	cfg, err := s.StartConfig(instance)
	if err != nil {
		t.Fatal(err)
	}
	if err := fake.Start(t.Context(), s.Session, cfg); err != nil {
		t.Fatal(err)
	}
	fake.Fail("SetMeta", "", runtime.ErrBackendUnreachable)
	if err := s.Mark(t.Context(), fake, instance); !errors.Is(err, runtime.ErrBackendUnreachable) {
		t.Errorf("error %v", err)
	}
	if hash := fake.MetaOf(s.Session)[MetaConfigHash]; hash != "" {
		t.Errorf("config hash %s beside keys that were not written", hash)
	}
	fake.Fail("SetMeta", "", nil)
	if err := s.Mark(t.Context(), fake, instance); err != nil {
		t.Fatal(err)
	}
	meta := fake.MetaOf(s.Session)
	if meta[MetaAgent] != "a" || meta[MetaToken] != "token" || meta[MetaEpoch] != "3" || meta[MetaConfigHash] != s.Hashes.Core {
		t.Errorf("metadata %v", meta)
	}
}

func TestDialogsOfTheCity(t *testing.T) {
	list := specs(t, t.TempDir(), `
[[dialogs]]
name = "licence"
detect = ["Accept the licence?"]
options = ["Yes", "No"]
wanted = "Yes"
[[dialogs]]
name = "limit"
detect = ["Limit reached"]
when = "report"
[[agents]]
name = "a"
start_command = "x"
`)[0].Config.Dialogs
	if len(list) != 2 || list[0].When != "startup" || list[1].When != "report" {
		t.Fatalf("dialogs %+v", list)
	}
	for i := range list {
		if err := list[i].Check(); err != nil {
			t.Error(err)
		}
	}
}

// TestWorkDirOnAnotherMachine: a path of the config is one there; without it the agent gets
// its home directory there, not the city's path here.
func TestWorkDirOnAnotherMachine(t *testing.T) {
	dir := t.TempDir()
	const agent = "[[agents]]\nname = \"a\"\nsession = \"ssh://h\"\n"
	for toml, want := range map[string]string{
		agent:                             "",
		agent + "work_dir = \"/srv/a\"\n": "/srv/a",
		"[[agents]]\nname = \"a\"\n":      dir,
	} {
		if s := specs(t, dir, toml)[0]; s.Config.WorkDir != want {
			t.Errorf("%swork dir %q, want %q", toml, s.Config.WorkDir, want)
		}
	}
}

// An agent in a pod works in the pod's volume, inherits nothing, and what its pod is made
// of counts as a change of the box, not of the program.
func TestAgentInAPod(t *testing.T) {
	dir := t.TempDir()
	build := func(image, extra string) []*Spec {
		return specs(t, dir, `
[session]
provider = "hybrid"
remote_match = ["*-far-*"]
[session.k8s]
image = "`+image+`"
`+extra+`
[[rigs]]
name = "web"
path = "web"
[[agents]]
name = "far-a"
dir = "web"
start_command = "x"
[[agents]]
name = "far-b"
work_dir = "sub"
start_command = "x"
[[agents]]
name = "near"
start_command = "x"
`)
	}
	list := build("node:22", "")
	for i, want := range []string{"/workspace", "/workspace/sub", dir} {
		s := list[i]
		if s.Config.WorkDir != want || s.InPod() != (i < 2) || (len(s.Config.BaseEnv) > 0) == s.InPod() {
			t.Errorf("%s: work dir %s, in a pod %v, inherits %q", s.Name(), s.Config.WorkDir, s.InPod(), s.Config.BaseEnv)
		}
	}
	if _, err := list[0].StartConfig(instance); err != nil {
		t.Errorf("a directory of this machine is not needed: %v", err)
	}
	other := build("node:24", "")
	if a, b := list[0].Hashes, other[0].Hashes; a.Provision == b.Provision || a.Launch != b.Launch || a.Core == b.Core {
		t.Errorf("another image: %+v, %+v", a, b)
	}
	if list[2].Hashes != other[2].Hashes {
		t.Error("another image changes an agent that is in no pod")
	}
	if moved := build("node:22", "node_loss = \"replace\"\nnamespace = \"n\""); moved[0].Hashes != list[0].Hashes {
		t.Error("what is not of the pod changes its hashes")
	}
	var hinted *StartError
	if _, err := build("", "")[0].StartConfig(instance); !errors.As(err, &hinted) || !strings.Contains(hinted.Msg, "a pod needs an image") {
		t.Errorf("without an image: %v", err)
	}
}

package proctree

import (
	"slices"
	"testing"
)

func TestScript(t *testing.T) {
	cases := []struct {
		argv   []string
		script string
		module bool
	}{
		{[]string{"node", "/usr/bin/claude", "--flag"}, "/usr/bin/claude", false},
		{[]string{"node", "--max-old-space-size=4096", "cli.js"}, "cli.js", false},
		{[]string{"node", "--require", "hook.js", "-r", "b.js", "-rc.js", "app.js"}, "app.js", false},
		{[]string{"node", "--import=x", "--", "app.js"}, "app.js", false},
		{[]string{"node", "-e", "code", "x"}, "", false},
		{[]string{"node", "-pe", "code"}, "", false},
		{[]string{"node", "inspect", "app.js"}, "app.js", false},
		{[]string{"node", "inspect", "inspect"}, "inspect", false},
		{[]string{"node", "-"}, "", false},
		{[]string{"node"}, "", false},
		{[]string{"nodejs", "a"}, "a", false},
		{[]string{"python3.11", "-u", "-X", "dev", "-Wignore", "tool.py"}, "tool.py", false},
		{[]string{"python", "-m", "aider", "x"}, "aider", true},
		{[]string{"python", "-um", "pkg.mod"}, "pkg.mod", true},
		{[]string{"python", "-umpkg"}, "pkg", true},
		{[]string{"python", "-m"}, "", true},
		{[]string{"python3", "-c", "code", "x"}, "", false},
		{[]string{"python3", "-Bc", "code"}, "", false},
		{[]string{"python3", "--check-hash-based-pycs", "never", "a.py"}, "a.py", false},
		{[]string{"Python", "a.py"}, "a.py", false},
		{[]string{"sh", "run.sh", "-c"}, "run.sh", false},
		{[]string{"sh", "-c", "run.sh"}, "", false},
		{[]string{"bash", "-lc", "run"}, "", false},
		{[]string{"bash", "-eo", "pipefail", "run"}, "run", false},
		{[]string{"bash", "-o", "errexit", "+o", "vi", "-x", "run"}, "run", false},
		{[]string{"bash", "--rcfile", "rc", "--norc", "run"}, "run", false},
		{[]string{"bash", "-s", "arg"}, "", false},
		{[]string{"bash", "-i"}, "", false},
		{[]string{"bash", "--", "-odd"}, "-odd", false},
		{[]string{"bun", "run", "dev"}, "dev", false},
		{[]string{"bun", "--cwd", "/x", "run", "run"}, "run", false},
		{[]string{"bun", "x.ts"}, "x.ts", false},
		{[]string{"bun", "test"}, "", false},
		{[]string{"deno", "run", "-A", "--config", "c", "m.ts"}, "m.ts", false},
		{[]string{"deno", "eval", "code"}, "", false},
		{[]string{"ruby", "-I", "lib", "-rjson", "-W0", "s.rb"}, "s.rb", false},
		{[]string{"ruby", "-ne", "code"}, "", false},
		{[]string{"perl", "-w", "-Ilib", "-MData::Dumper", "s.pl"}, "s.pl", false},
		{[]string{"perl", "-0777", "-pi.bak", "s.pl"}, "s.pl", false},
		{[]string{"perl", "-0777ne", "code"}, "", false},
		{[]string{"perl", "-pi", "-e", "code"}, "", false},
	}
	for _, c := range cases {
		lang := interpreter(c.argv[0])
		if lang == nil {
			t.Errorf("%s is not known", c.argv[0])
			continue
		}
		if script, module := lang.script(c.argv[1:]); script != c.script || module != c.module {
			t.Errorf("%q: got %q %v", c.argv, script, module)
		}
	}
}

func TestNotInterpreters(t *testing.T) {
	for _, name := range []string{"claude", "vim", "shx", "3", "", "-", "pythonic", "env"} {
		if interpreter(name) != nil {
			t.Errorf("%q", name)
		}
	}
}

func TestArgvNames(t *testing.T) {
	cases := []struct {
		exe  string
		argv []string
		want []string
	}{
		{"/usr/bin/vim.basic", []string{"vim", "file"}, []string{"vim"}},
		{"/usr/bin/bash", []string{"-bash"}, []string{"bash"}},
		{"/bin/bash", []string{"-/bin/bash"}, []string{"bash"}},
		{"/usr/bin/node", []string{"claude"}, []string{"claude"}},
		{"/usr/bin/node", []string{"/usr/bin/node", "/opt/x/cli.js"}, []string{"node", "cli.js", "cli"}},
		{"/usr/bin/python3.11", []string{"python3", "-m", "tool.sub"}, []string{"python3", "tool.sub"}},
		{"", []string{"sh", "/x/agent"}, []string{"sh", "agent"}},
		{"/usr/bin/bash", []string{"/x/odd", "/y/real.v2"}, []string{"odd", "real.v2"}},
	}
	for _, c := range cases {
		if got := argvNames(c.exe, c.argv); !slices.Equal(got, c.want) {
			t.Errorf("%q %q: got %q", c.exe, c.argv, got)
		}
	}
}

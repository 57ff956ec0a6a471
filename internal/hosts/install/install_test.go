package install

import (
	"cmp"
	"context"
	"errors"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// pipes is the standard streams of a command.
type pipes struct {
	io.Reader
	io.WriteCloser
	cmd *exec.Cmd
}

func (p *pipes) CloseWrite() error { return p.WriteCloser.Close() }

// Close ends the command's input and output, as the end of a connection does.
func (p *pipes) Close() error {
	_ = p.WriteCloser.Close()
	return p.Reader.(io.Closer).Close()
}

// login runs shell text as the login of a machine with that home.
func login(t *testing.T, home, text string) *pipes {
	t.Helper()
	cmd := exec.Command("sh", "-c", text)
	cmd.Env = []string{"HOME=" + home, "PATH=" + filepath.Join(home, ".local", "bin") + ":" + os.Getenv("PATH")}
	in, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	p := &pipes{out, in, cmd}
	t.Cleanup(func() { _ = p.Close(); _ = cmd.Wait() })
	return p
}

// dest is where most tests install.
const dest = "~/.local/bin/gc"

func limited(t *testing.T) context.Context {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), 20*time.Second)
	t.Cleanup(cancel)
	return ctx
}

func open(t *testing.T, home, text string) *Shell {
	t.Helper()
	s, err := Open(limited(t), login(t, home, text), "gc")
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// program makes a gc program of a version; it is larger than any buffer on the way.
func program(t *testing.T, text string) Program {
	t.Helper()
	file := filepath.Join(t.TempDir(), "program")
	body := "#!/bin/sh\n" + text + "\nexit\n" + strings.Repeat("0123456789abcdef", 64<<10) + "\n"
	if err := os.WriteFile(file, []byte(body), 0o600); err != nil {
		t.Fatal(err)
	}
	p, err := Load(file)
	if err != nil {
		t.Fatal(err)
	}
	return p
}

func TestOpen(t *testing.T) {
	home := t.TempDir()
	s := open(t, home, "echo welcome; printf 'no newline'; exec sh")
	m := s.Machine()
	if m.Home != home || m.OS == "" || m.Arch == "" || m.User == "" || m.GC != "" || m.Version() != "" {
		t.Errorf("%+v", m)
	}
	if _, err := s.Install(limited(t), program(t, "echo gc 1.2"), dest, nil); err != nil {
		t.Fatal(err)
	}
	m = open(t, home, "exec sh").Machine()
	if m.GC != filepath.Join(home, ".local", "bin", "gc") || m.Version() != "1.2" {
		t.Errorf("%+v", m)
	}
}

// The words are tried in their order; one that is no gc does not end the search.
func TestOpenTriesEachWord(t *testing.T) {
	home := t.TempDir()
	if _, err := open(t, home, "exec sh").Install(limited(t), program(t, "echo gc 7"), "opt/gc", nil); err != nil {
		t.Fatal(err)
	}
	s, err := Open(limited(t), login(t, home, "exec sh"), "gc", "true", "~/opt/gc", "sh")
	if err != nil {
		t.Fatal(err)
	}
	if m := s.Machine(); m.Bin != "~/opt/gc" || m.GC != filepath.Join(home, "opt", "gc") || m.Version() != "7" {
		t.Errorf("%+v", m)
	}
}

// Another program of the name gc is not taken for ours, and gets no input.
func TestAnotherProgramNamedGC(t *testing.T) {
	home := t.TempDir()
	open(t, home, "mkdir -p .local/bin; cd; mkdir -p .local/bin; printf '#!/bin/sh\\ncat; echo graph\\n' >.local/bin/gc; chmod +x .local/bin/gc; exec sh")
	m := open(t, home, "exec sh").Machine()
	if m.GC == "" || m.Version() != "" || m.Says != "graph" {
		t.Errorf("%+v", m)
	}
}

func TestLoginsWithoutShell(t *testing.T) {
	for text, want := range map[string]string{
		"echo only git here":    "it printed: only git here",
		"exit 0":                "ended without running sh",
		"head -n 9":             "it printed: {", // the script repeated, which is no answer
		"yes | head -c 1000000": "it printed: y",
	} {
		conn := login(t, t.TempDir(), text)
		_, err := Open(limited(t), conn, "gc")
		var none *NoShellError
		if !errors.As(err, &none) || !strings.Contains(err.Error(), want) || none.Hint() == "" {
			t.Errorf("%s: %v, want %s", text, err, want)
		}
		if err != nil && len(err.Error()) > 500 {
			t.Errorf("%s: the error has %d bytes", text, len(err.Error()))
		}
	}
}

func TestInstall(t *testing.T) {
	home := t.TempDir()
	p, sent := program(t, "echo gc 1"), int64(0)
	r, err := open(t, home, "echo hello; exec sh").Install(limited(t), p, dest, func(n int64) { sent = n })
	want := filepath.Join(home, ".local", "bin", "gc")
	if err != nil || r != (Result{Path: want, Version: "1", Found: want}) || sent != p.Size {
		t.Fatalf("%+v, %v, sent %d", r, err, sent)
	}
	st, err := os.Stat(want)
	if err != nil || st.Mode().Perm() != 0o755 || st.Size() != p.Size {
		t.Errorf("%v, %v", st, err)
	}
	sent = 0
	r, err = open(t, home, "exec sh").Install(limited(t), p, dest, func(n int64) { sent = n })
	if err != nil || !r.Same || r.Version != "1" || sent != 0 {
		t.Errorf("again: %+v, %v, sent %d", r, err, sent)
	}
	r, err = open(t, home, "exec sh").Install(limited(t), program(t, "echo gc 2"), dest, nil)
	if err != nil || r.Same || r.Version != "2" {
		t.Errorf("another: %+v, %v", r, err)
	}
	r, err = open(t, home, "exec sh").Install(limited(t), program(t, "echo gc 3"), "a dir's/my gc", nil)
	if other := filepath.Join(home, "a dir's", "my gc"); err != nil || r.Path != other || r.Found != want {
		t.Errorf("elsewhere: %+v, %v", r, err)
	}
	onlyPrograms(t, home)
}

// A failed installation leaves the old program, and nothing else.
func TestFailureKeepsTheOldProgram(t *testing.T) {
	for name, c := range map[string]struct {
		text, login, to, want, hint string
	}{
		"no gc":        {text: "echo graph", want: "version prints graph"},
		"fails":        {text: "echo no such library >&2; exit 1", want: "run .*no such library"},
		"directory":    {text: "echo gc 2", to: ".local", want: "it is a directory"},
		"below a file": {text: "echo gc 2", to: ".local/bin/gc/gc", want: "create .*/gc: "},
		"disk full":    {text: "echo gc 2", login: "trap '' XFSZ; ulimit -f 100; exec sh", want: "write ", hint: "free some space"},
	} {
		t.Run(name, func(t *testing.T) {
			home := t.TempDir()
			if _, err := open(t, home, "exec sh").Install(limited(t), program(t, "echo gc 1"), dest, nil); err != nil {
				t.Fatal(err)
			}
			if c.login == "" {
				c.login = "exec sh"
			}
			_, err := open(t, home, c.login).Install(limited(t), program(t, c.text), cmp.Or(c.to, dest), nil)
			var failed *Error
			if !errors.As(err, &failed) || !matches(c.want, err.Error()) || !strings.Contains(failed.Hint(), c.hint) {
				t.Errorf("%v, want %s and hint %q", err, c.want, c.hint)
			}
			if m := open(t, home, "exec sh").Machine(); m.Version() != "1" {
				t.Errorf("now there: %+v", m)
			}
			onlyPrograms(t, home)
		})
	}
}

func matches(pattern, text string) bool {
	for _, part := range strings.Split(pattern, ".*") {
		_, after, ok := strings.Cut(text, part)
		if !ok {
			return false
		}
		text = after
	}
	return true
}

// onlyPrograms fails the test if a temporary file is left.
func onlyPrograms(t *testing.T, home string) {
	t.Helper()
	_ = filepath.WalkDir(home, func(path string, d os.DirEntry, err error) error {
		if err != nil {
			t.Error(err)
		} else if strings.HasPrefix(d.Name(), ".gc-install") {
			t.Errorf("left behind: %s", path)
		}
		return nil
	})
}

// cutConn ends after that many bytes of the program.
type cutConn struct {
	*pipes
	left int
}

func (c *cutConn) Write(p []byte) (int, error) {
	if c.left -= len(p); c.left < 0 {
		_ = c.Close()
		return 0, io.ErrClosedPipe
	}
	return c.pipes.Write(p)
}

// A connection that ends halfway leaves the old program.
func TestCutHalfway(t *testing.T) {
	home := t.TempDir()
	if _, err := open(t, home, "exec sh").Install(limited(t), program(t, "echo gc 1"), dest, nil); err != nil {
		t.Fatal(err)
	}
	p := login(t, home, "exec sh")
	s, err := Open(limited(t), &cutConn{p, 500 << 10}, "gc")
	if err != nil {
		t.Fatal(err)
	}
	if r, err := s.Install(limited(t), program(t, "echo gc 2"), dest, nil); err == nil {
		t.Errorf("installed: %+v", r)
	}
	_ = p.cmd.Wait() // the shell there cleans up and ends
	if m := open(t, home, "exec sh").Machine(); m.Version() != "1" {
		t.Errorf("now there: %+v", m)
	}
	onlyPrograms(t, home)
}

// A machine that hangs holds a caller no longer than its context.
func TestContextEnds(t *testing.T) {
	ctx, cancel := context.WithCancelCause(context.Background())
	conn := login(t, t.TempDir(), "exec sleep 1000")
	over := errors.New("over")
	cancel(over)
	if _, err := Open(ctx, conn, "gc"); !errors.Is(err, over) {
		t.Error(err)
	}
	_ = conn.cmd.Process.Kill()
}

func TestChoose(t *testing.T) {
	dir, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	self := filepath.Join(dir, "gc")
	choose := func(os, arch string) (string, error) {
		return Choose(Machine{OS: os, Arch: arch, Uname: "Plan9 mips"}, self, "linux", "amd64", "v1")
	}
	if got, err := choose("linux", "amd64"); err != nil || got != self {
		t.Errorf("%s, %v", got, err)
	}
	for _, name := range []string{"gc_v1_linux_arm64", "gc_linux_arm64", "gc-linux-arm64"} {
		if err := os.WriteFile(filepath.Join(dir, name), nil, 0o700); err != nil {
			t.Fatal(err)
		}
		if got, err := choose("linux", "arm64"); err != nil || got != filepath.Join(dir, name) {
			t.Errorf("%s, %v, want %s", got, err, name)
		}
	}
	var missing *MissingError
	if _, err := choose("darwin", "arm64"); !errors.As(err, &missing) || !strings.Contains(err.Error(), "gc-darwin-arm64") || missing.Hint() == "" {
		t.Error(err)
	}
	if _, err := choose("", ""); !errors.As(err, &missing) || err.Error() != "gc does not run on Plan9 mips" {
		t.Error(err)
	}
}

func TestBeside(t *testing.T) {
	dir := t.TempDir()
	for _, name := range []string{"gc", "gc-mcp", "gc_v1_linux_arm64", "gc-mcp_v1_linux_arm64", "gc-linux-amd64", "other"} {
		if err := os.WriteFile(filepath.Join(dir, name), nil, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	for program, want := range map[string]string{
		"gc": "gc-mcp", "gc_v1_linux_arm64": "gc-mcp_v1_linux_arm64",
		"gc-linux-amd64": "", "gc-mcp": "", "other": "",
	} {
		if want != "" {
			want = filepath.Join(dir, want)
		}
		if got := Beside(filepath.Join(dir, program), "-mcp"); got != want {
			t.Errorf("%s: %q, want %q", program, got, want)
		}
	}
}

package tmux

import (
	"cmp"
	"crypto/rand"
	"encoding/base64"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"gascity.dev/gc/internal/shell"
	"gascity.dev/gc/runtime"
	"gascity.dev/gc/runtime/driver"
)

// encodeText makes any bytes fit for an option or a variable.
func encodeText(s string) string { return base64.RawURLEncoding.EncodeToString([]byte(s)) }

// decodeText undoes encodeText; "" for anything else.
func decodeText(s string) string {
	b, err := base64.RawURLEncoding.DecodeString(s)
	if err != nil {
		return ""
	}
	return string(b)
}

// isVariable reports names that a shell can export.
func isVariable(s string) bool {
	for i := range len(s) {
		c := s[i]
		switch {
		case c == '_', c >= 'a' && c <= 'z', c >= 'A' && c <= 'Z':
		case i > 0 && c >= '0' && c <= '9':
		default:
			return false
		}
	}
	return s != ""
}

// launchFile writes the file that starts a session's program: it removes
// itself, sets exactly the environment, and becomes the command. Going through
// a file keeps values out of the process table and lines of any length whole.
func (p *Provider) launchFile(name string, cfg runtime.Config, mark, token string) (string, error) {
	line, err := driver.CommandLine(name, cfg)
	if err != nil {
		return "", err
	}
	env := runtime.Environment(p.o.Environ, cfg.BaseEnv, cfg.Env)
	var b strings.Builder
	b.WriteString("rm -f -- \"$0\"\n")
	// tmux would go elsewhere when it is not there any more.
	fmt.Fprintf(&b, "cd -- %s || exit 126\n", shell.Quote(cmp.Or(cfg.WorkDir, "/")))
	login := "/bin/sh"
	for _, kv := range env {
		k, v, _ := strings.Cut(kv, "=")
		if !isVariable(k) {
			return "", fmt.Errorf("variable %q cannot be set through a shell", k)
		}
		if k == "TERM" || k == "COLORTERM" || k == markVar {
			continue
		}
		if k == "SHELL" && v != "" {
			login = v
		}
		fmt.Fprintf(&b, "export %s=%s\n", k, shell.Quote(v))
	}
	fmt.Fprintf(&b, "export %s=%s COLORTERM=truecolor\n", markVar, shell.Quote(mark))
	b.WriteString("unset OLDPWD PWD\n")
	if !slices.ContainsFunc(env, func(kv string) bool { return strings.HasPrefix(kv, "PATH=") }) {
		b.WriteString("unset PATH\n")
	}
	if line == "" {
		fmt.Fprintf(&b, "exec %s\n", shell.Quote(login))
	} else {
		fmt.Fprintf(&b, "exec /bin/sh -c %s\n", shell.Quote(line))
	}
	f, err := os.CreateTemp(filepath.Dir(p.o.Socket), launchPrefix+token+"-*") // 0600
	if err != nil {
		return "", err
	}
	_, err = f.WriteString(b.String())
	if cerr := f.Close(); err == nil {
		err = cerr
	}
	if err != nil {
		os.Remove(f.Name())
		return "", err
	}
	return f.Name(), nil
}

const launchPrefix = "launch-"

// forget removes the launch files of an incarnation whose program did not come
// to do so itself, and reports whether there was one.
func (p *Provider) forget(token string) (was bool) {
	files, _ := filepath.Glob(filepath.Join(filepath.Dir(p.o.Socket), launchPrefix+token+"-*"))
	for _, f := range files {
		was = os.Remove(f) == nil || was
	}
	return was
}

// launchArgs run the file with nothing of tmux's environment but TERM.
func launchArgs(file string) []string {
	return []string{"/bin/sh", "-c", `exec env -i TERM="$TERM" /bin/sh ` + shell.Quote(file)}
}

// markVar is in the environment of every process of a session.
const markVar = "GC_SESSION_ID"

// mark is the session id that config gave, or a random one.
func mark(cfg runtime.Config) string {
	if id := cfg.Env[markVar]; id != "" && !strings.ContainsAny(id, ",\n") {
		return id
	}
	return "tmux-" + rand.Text()
}

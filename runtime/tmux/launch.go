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

// encodeText encodes any bytes for an option or a variable.
func encodeText(s string) string { return base64.RawURLEncoding.EncodeToString([]byte(s)) }

// decodeText reverses encodeText; "" for anything else.
func decodeText(s string) string {
	b, err := base64.RawURLEncoding.DecodeString(s)
	if err != nil {
		return ""
	}
	return string(b)
}

// isVariable reports whether a shell can export the name.
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

// launchFile writes the file that starts a session's program: it removes itself, sets
// exactly the environment, and executes the command. The file keeps values out of the
// process table and allows lines of any length.
func (p *Provider) launchFile(name string, cfg runtime.Config, marker, token string) (string, error) {
	line, err := driver.CommandLine(name, cfg)
	if err != nil {
		return "", err
	}
	env := runtime.Environment(p.o.Environ, cfg.BaseEnv, cfg.Env)
	var b strings.Builder
	b.WriteString("rm -f -- \"$0\"\n")
	// tmux would start elsewhere if the directory is gone.
	fmt.Fprintf(&b, "cd -- %s || exit 126\n", shell.Quote(cmp.Or(cfg.WorkDir, "/")))
	login := "/bin/sh"
	for _, kv := range env {
		k, v, _ := strings.Cut(kv, "=")
		if !isVariable(k) {
			return "", fmt.Errorf("variable %q cannot be set through a shell", k)
		}
		if k == "TERM" || k == "COLORTERM" || k == markerVar {
			continue
		}
		if k == "SHELL" && v != "" {
			login = v
		}
		fmt.Fprintf(&b, "export %s=%s\n", k, shell.Quote(v))
	}
	fmt.Fprintf(&b, "export %s=%s COLORTERM=truecolor\n", markerVar, shell.Quote(marker))
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

// forget removes the launch files of an incarnation whose program did not run them,
// and reports whether there were any.
func (p *Provider) forget(token string) (was bool) {
	files, _ := filepath.Glob(filepath.Join(filepath.Dir(p.o.Socket), launchPrefix+token+"-*"))
	for _, f := range files {
		was = os.Remove(f) == nil || was
	}
	return was
}

// launchArgs run the file with TERM as the only variable from tmux.
func launchArgs(file string) []string {
	return []string{"/bin/sh", "-c", `exec env -i TERM="$TERM" /bin/sh ` + shell.Quote(file)}
}

// markerVar is in the environment of every process of a session.
const markerVar = "GC_SESSION_ID"

// marker returns the session id from config, or a random one.
func marker(cfg runtime.Config) string {
	if id := cfg.Env[markerVar]; id != "" && !strings.ContainsAny(id, ",\n") {
		return id
	}
	return "tmux-" + rand.Text()
}

// Package sshd gives tests other machines: each [Host] is a real sshd on a
// loopback port, with keys, a home and, for root, a user of its own.
//
// A host ends with its test: every process of its user or home is ended by its
// pid, and the user is removed. Faults of the link are those of the host's own
// listener (Down, Cut, Stall, Delay). It never touches the ssh configuration of
// whoever runs the tests. With [Own], a host has terminals, a disk and boots of its own.
// Only tests import it.
package sshd

import (
	"cmp"
	"crypto/rand"
	"encoding/hex"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"gascity.dev/gc/internal/testenv"
)

// Options describe a host. The zero value has no gc.
type Options struct {
	Name string // the host's name for ssh; default far
	GC   string // a gc program, copied to ~/.local/bin/gc there; empty: the host has none

	Env    []string // NAME=value for every command there
	Login  string   // shell text that runs before every command: `echo hello`, `ulimit -f 1`
	Forced string   // the only command that the key may run, as authorized_keys says

	UnknownKey bool // known_hosts does not have the host's key
	SameUser   bool // for root, too: the user of the test, with another home
	Faults     bool // allow Stall and Delay: bytes pass through the test's process
	Own        *Own // what it does not share with this machine; needs root on Linux
}

// Host is a machine that ssh reaches.
type Host struct {
	Name string
	Home string
	User string
	UID  int
	GC   string // where its gc is, or would be

	options  Options
	t        testing.TB
	base     string // of all its files
	ownUser  bool
	program  string // sshd
	listener net.Listener
	link     link
	ns       *namespace // nil without Own
}

// Start makes a host. It skips the test without sshd, or fails it with CI=true.
func Start(t testing.TB, o Options) *Host {
	t.Helper()
	testenv.Need(t, "ssh", "ssh-keygen")
	h := &Host{t: t, options: o, Name: cmp.Or(o.Name, "far"), program: find(t)}
	// Not t.TempDir: another user must reach it, and sockets need short paths.
	base, err := os.MkdirTemp("/tmp", "gcfar")
	if err == nil {
		base, err = filepath.EvalSymlinks(base)
	}
	if err == nil {
		err = os.Chmod(base, 0o711)
	}
	h.check(err)
	h.base, h.Home = base, filepath.Join(base, "home")
	t.Cleanup(h.remove)
	h.addUser()
	h.check(os.Mkdir(h.Home, 0o700))
	h.own(h.Home)
	if o.Own != nil {
		h.unshare()
	}
	h.GC = filepath.Join(h.Home, ".local", "bin", "gc")
	if o.GC != "" {
		data, err := os.ReadFile(o.GC)
		h.check(err)
		h.Write(".local/bin/gc", string(data), 0o755)
	}
	h.listener, err = net.Listen("tcp", "127.0.0.1:0")
	h.check(err)
	h.configure()
	h.link.open(o.Faults)
	go h.serve()
	return h
}

// find returns sshd, which is often not on a user's PATH, and must be executed by
// its absolute path.
func find(t testing.TB) string {
	t.Helper()
	for _, dir := range []string{"/usr/sbin", "/usr/local/sbin"} {
		path := filepath.Join(dir, "sshd")
		if st, err := os.Stat(path); err == nil && st.Mode().IsRegular() {
			return path
		}
	}
	return testenv.Need(t, "sshd")
}

// configure writes the keys and both ends' configuration.
func (h *Host) configure() {
	if os.Geteuid() == 0 { // sshd requires it; its service creates it
		h.check(os.MkdirAll("/run/sshd", 0o755))
	}
	hostKey, userKey := filepath.Join(h.base, "hostkey"), filepath.Join(h.base, "key")
	for _, key := range []string{hostKey, userKey} {
		out, err := exec.Command("ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-C", "", "-f", key).CombinedOutput()
		if err != nil {
			h.t.Fatalf("ssh-keygen: %v: %s", err, out)
		}
	}
	if h.ownUser { // it may also connect to itself
		h.check(os.Lchown(userKey, h.UID, -1))
	}
	known := ""
	if !h.options.UnknownKey {
		known = h.Name + " " + h.read(hostKey+".pub")
	}
	h.put("known_hosts", known, 0o644)
	h.put("config", h.client(), 0o644)
	key := h.read(userKey + ".pub")
	if h.options.Forced != "" {
		key = `command="` + h.login(h.options.Forced) + `" ` + key
	}
	h.put("authorized", key, 0o644)
	h.put("sshd_config", fmt.Sprintf(`HostKey %s
AuthorizedKeysFile %s/authorized
StrictModes no
UsePAM no
PermitRootLogin yes
PasswordAuthentication no
KbdInteractiveAuthentication no
PrintMotd no
PrintLastLog no
PidFile none
SetEnv %s
%s`, hostKey, h.base, h.environment(), h.command()), 0o600)
}

// client is the host's block of an ssh_config.
func (h *Host) client() string {
	return fmt.Sprintf(`Host %[1]s
  HostName 127.0.0.1
  HostKeyAlias %[1]s
  Port %[2]d
  User %[3]s
  IdentityFile %[4]s/key
  IdentitiesOnly yes
  IdentityAgent none
  BatchMode yes
  UserKnownHostsFile %[4]s/known_hosts
  GlobalKnownHostsFile /dev/null
  StrictHostKeyChecking yes
`, h.Name, h.listener.Addr().(*net.TCPAddr).Port, h.User, h.base)
}

// environment is the value of SetEnv. Its PATH has nothing of the test's.
func (h *Host) environment() string {
	env := append([]string{
		"HOME=" + h.Home,
		"PATH=" + filepath.Dir(h.GC) + ":/usr/local/bin:/usr/bin:/bin:/usr/sbin:/sbin",
		"LANG=C.UTF-8",
		"GORACE=atexit_sleep_ms=0", // the race detector otherwise sleeps at every exit
	}, h.options.Env...)
	set := map[string]int{}
	words := []string{}
	for _, e := range env {
		name, _, _ := strings.Cut(e, "=")
		if i, again := set[name]; again {
			words[i] = `"` + e + `"`
			continue
		}
		set[name] = len(words)
		words = append(words, `"`+e+`"`)
	}
	return strings.Join(words, " ")
}

// command returns the line of sshd_config for Login.
func (h *Host) command() string {
	if h.options.Login == "" || h.options.Forced != "" {
		return ""
	}
	return "ForceCommand " + h.login(`exec /bin/sh -c "${SSH_ORIGINAL_COMMAND-exec /bin/sh -l}"`) + "\n"
}

// login makes a program that runs Login and then shell text, and returns its path.
func (h *Host) login(then string) string {
	return h.put("login", "#!/bin/sh\n"+h.options.Login+"\n"+then+"\n", 0o755)
}

// URL is the host's name as --host takes it.
func (h *Host) URL() string { return "ssh://" + h.Name }

// SSH is the value of GC_SSH with which this host is reached.
func (h *Host) SSH() string { return "ssh -F " + filepath.Join(h.base, "config") }

// SSH is the value of GC_SSH with which several hosts of different names are
// reached.
func SSH(hosts ...*Host) string {
	text := ""
	for _, h := range hosts {
		text += h.client()
	}
	return "ssh -F " + hosts[0].put("ssh_config", text, 0o644)
}

// Run executes shell text there and returns its standard output.
func (h *Host) Run(text string) string {
	h.t.Helper()
	cmd := exec.Command("ssh", "-T", "-F", filepath.Join(h.base, "config"), h.Name, text)
	out, err := cmd.Output()
	if err != nil {
		stderr := ""
		if exit, ok := err.(*exec.ExitError); ok { //nolint:errorlint // Output returns it as it is
			stderr = string(exit.Stderr)
		}
		h.t.Fatalf("%s on %s: %v\n%s%s", text, h.Name, err, out, stderr)
	}
	return string(out)
}

// Write makes a file of the host's user; a relative path is below its home. It returns the
// file's path there.
func (h *Host) Write(path, text string, mode os.FileMode) string {
	h.t.Helper()
	if !filepath.IsAbs(path) {
		for dir, rest := h.Home, filepath.Dir(path); rest != "."; {
			first, after, _ := strings.Cut(rest, "/")
			dir, rest = filepath.Join(dir, first), cmp.Or(after, ".")
			if err := os.Mkdir(h.Path(dir), 0o700); err == nil {
				h.own(dir)
			}
		}
		path = filepath.Join(h.Home, path)
	}
	h.check(testenv.WriteProgram(h.Path(path), []byte(text)))
	h.check(os.Chmod(h.Path(path), mode))
	h.own(path)
	return path
}

// put makes a file of the host itself.
func (h *Host) put(name, text string, mode os.FileMode) string {
	h.t.Helper()
	path := filepath.Join(h.base, name)
	h.check(testenv.WriteProgram(path, []byte(text)))
	h.check(os.Chmod(path, mode))
	return path
}

func (h *Host) read(path string) string {
	h.t.Helper()
	data, err := os.ReadFile(path)
	h.check(err)
	return string(data)
}

func (h *Host) own(path string) {
	h.t.Helper()
	if h.ownUser {
		h.check(os.Lchown(h.Path(path), h.UID, -1))
	}
}

func (h *Host) check(err error) {
	h.t.Helper()
	if err != nil {
		h.t.Fatal(err)
	}
}

// unique returns a word that no other host has.
func unique() string {
	b := make([]byte, 6)
	_, _ = rand.Read(b) // never fails
	return hex.EncodeToString(b)
}

package web

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"net"
	"net/netip"
	"os"
	"os/exec"
	"path/filepath"
	goruntime "runtime"
	"slices"
	"strings"
	"time"

	"rsc.io/qr"

	"gascity.dev/gc/internal/web/access"
)

// Options are how to serve. The zero value of a field is its default.
type Options struct {
	Listen string // host:port; default DefaultListen
	Unix   string // path of a socket instead
	Dir    string // where keys and the certificate are kept

	Open     bool // show the link in the desktop's browser
	ReadOnly bool
	Names    []string // further host names by which browsers reach the server

	TLSCert, TLSKey string // files
	SelfSigned      bool
	Insecure        bool // plain HTTP on an address that others reach
}

// DefaultListen is the address without --listen.
const DefaultListen = "127.0.0.1:8642"

// Run serves until ctx ends. It prints the link when the server can be reached.
func (s *Server) Run(ctx context.Context, o Options, out io.Writer) error {
	l, err := o.listen()
	if err != nil {
		return err
	}
	defer l.Close()
	if o.Unix != "" {
		defer os.Remove(o.Unix)
	}
	if _, port, _ := net.SplitHostPort(o.Listen); port == "0" {
		o.Listen = l.Addr().String()
	}
	keys, err := access.Open(o.Dir, o.address())
	if err != nil {
		return err
	}
	s.Gate = &access.Gate{Keys: keys, Names: o.names(), TLS: o.tls(), ReadOnly: o.ReadOnly}
	if o.tls() {
		cert, err := o.certificate()
		if err != nil {
			return err
		}
		if o.SelfSigned {
			fmt.Fprintf(out, "Fingerprint of the certificate (SHA-256):\n  %s\n", access.Fingerprint(cert))
		}
		l = tls.NewListener(l, &tls.Config{Certificates: []tls.Certificate{cert}, MinVersion: tls.VersionTLS12, NextProtos: []string{"http/1.1"}})
	}
	token, err := keys.NewToken(false)
	if err != nil {
		return err
	}
	link := o.url(l.Addr()) + "#token=" + token
	fmt.Fprintf(out, "Open this link, once: %s\n", link)
	if o.Unix != "" {
		fmt.Fprintf(out, "It is reached by: ssh -L 8642:%s HOST\n", o.Unix)
	}
	if o.SelfSigned {
		code, err := picture(link)
		if err != nil {
			return err
		}
		fmt.Fprint(out, code)
	}
	if o.Open {
		if err := open(ctx, o.Dir, link); err != nil {
			fmt.Fprintf(out, "The browser could not be opened: %v\n", err)
		}
	}
	return s.Serve(ctx, l)
}

// Link returns a new link to the server that runs with these options.
func (o Options) Link() (string, error) {
	keys, err := access.Open(o.Dir, o.address())
	if err != nil {
		return "", err
	}
	token, err := keys.NewToken(o.ReadOnly)
	return o.url(nil) + "#token=" + token, err
}

func (o Options) tls() bool { return o.SelfSigned || o.TLSCert != "" }

// address names the keys: those of one address are for it alone.
func (o Options) address() string {
	if o.Unix != "" {
		return o.Unix
	}
	if o.Listen != "" {
		return o.Listen
	}
	return DefaultListen
}

// Check rejects options that contradict each other, or that would let others read what
// goes over the network.
func (o Options) Check() error {
	switch {
	case o.Unix != "" && (o.Listen != "" || o.tls()):
		return errors.New("--unix excludes --listen and TLS")
	case (o.TLSCert == "") != (o.TLSKey == ""):
		return errors.New("--tls-cert and --tls-key belong together")
	case o.TLSCert != "" && o.SelfSigned:
		return errors.New("--tls-cert excludes --tls-self-signed")
	case o.Unix != "":
		return nil
	}
	host, _, err := net.SplitHostPort(o.address())
	if err != nil {
		return fmt.Errorf("--listen %s: want host:port", o.Listen)
	}
	if !o.tls() && !o.Insecure && !loopback(host) {
		return fmt.Errorf("%s can be reached from other machines, and nothing would be encrypted\n"+
			"hint: --tls-self-signed, --tls-cert and --tls-key, or ssh -L 8642:127.0.0.1:8642; --insecure if the network is trusted", o.address())
	}
	return nil
}

func loopback(host string) bool {
	a, err := netip.ParseAddr(host)
	return host == "localhost" || err == nil && a.IsLoopback()
}

func (o Options) listen() (net.Listener, error) {
	if err := o.Check(); err != nil {
		return nil, err
	}
	if o.Unix == "" {
		return net.Listen("tcp", o.address())
	}
	// Another server's socket is kept; a dead one is replaced.
	if c, err := net.DialTimeout("unix", o.Unix, time.Second); err == nil {
		c.Close()
		return nil, fmt.Errorf("%s: a server is listening there", o.Unix)
	} else if info, failed := os.Lstat(o.Unix); failed == nil && info.Mode().Type() == os.ModeSocket {
		if err := os.Remove(o.Unix); err != nil {
			return nil, err
		}
	}
	return listenPrivate(o.Unix)
}

// listenPrivate binds a socket that only this user can connect to. It is made in
// a directory of its own, so that there is no moment at which others could.
func listenPrivate(path string) (net.Listener, error) {
	dir, err := os.MkdirTemp(filepath.Dir(path), ".gc-web-")
	if err != nil {
		return nil, err
	}
	defer os.RemoveAll(dir)
	private := filepath.Join(dir, "s")
	l, err := net.Listen("unix", private)
	if err != nil {
		return nil, err
	}
	if err = os.Chmod(private, 0o600); err == nil {
		err = os.Rename(private, path)
	}
	if err != nil {
		l.Close()
		return nil, err
	}
	l.(*net.UnixListener).SetUnlinkOnClose(false)
	return l, nil
}

// names are the hosts that browsers may name, in lower case.
func (o Options) names() []string {
	names := slices.Clone(o.Names)
	if host, _, err := net.SplitHostPort(o.address()); err == nil && host != "" {
		names = append(names, host)
	}
	if host, err := os.Hostname(); err == nil && o.tls() {
		names = append(names, host)
	}
	for i, n := range names {
		names[i] = strings.ToLower(n)
	}
	return names
}

func (o Options) certificate() (tls.Certificate, error) {
	if !o.SelfSigned {
		return tls.LoadX509KeyPair(o.TLSCert, o.TLSKey)
	}
	hosts := []string{"localhost", "127.0.0.1", "::1"}
	for _, n := range o.names() {
		if a, err := netip.ParseAddr(n); err != nil || !a.IsUnspecified() {
			hosts = append(hosts, n)
		}
	}
	for _, a := range outside() {
		hosts = append(hosts, a.String())
	}
	return access.SelfSigned(o.Dir, hosts)
}

// outside are this machine's addresses that others may reach.
func outside() []netip.Addr {
	list, _ := net.InterfaceAddrs() // without them only names are in the certificate
	var out []netip.Addr
	for _, a := range list {
		p, err := netip.ParsePrefix(a.String())
		if err == nil && p.Addr().IsGlobalUnicast() {
			out = append(out, p.Addr())
		}
	}
	return out
}

// url is the address for browsers; on every interface, that of the first one.
func (o Options) url(bound net.Addr) string {
	if o.Unix != "" {
		return "http://localhost:8642/"
	}
	scheme := "http"
	if o.tls() {
		scheme = "https"
	}
	host, port, _ := net.SplitHostPort(o.address()) // Check has
	if tcp, ok := bound.(*net.TCPAddr); ok {
		port = fmt.Sprint(tcp.Port)
	}
	if a, err := netip.ParseAddr(host); host == "" || err == nil && a.IsUnspecified() {
		host = "localhost"
		if others := outside(); len(others) > 0 {
			host = others[0].String()
		}
	}
	return scheme + "://" + net.JoinHostPort(host, port) + "/"
}

// picture is a QR code for a terminal, two modules to a character, dark on light.
func picture(text string) (string, error) {
	code, err := qr.Encode(text, qr.L)
	if err != nil {
		return "", err
	}
	var b strings.Builder
	for y := -2; y < code.Size+2; y += 2 {
		b.WriteString("\x1b[38;5;16;48;5;231m")
		for x := -2; x < code.Size+2; x++ {
			b.WriteString([]string{" ", "▄", "▀", "█"}[index(code.Black(x, y), code.Black(x, y+1))])
		}
		b.WriteString("\x1b[m\n")
	}
	return b.String(), nil
}

func index(upper, lower bool) int {
	i := 0
	if upper {
		i += 2
	}
	if lower {
		i++
	}
	return i
}

// open shows the link in the browser. The link is passed in a file: other users
// of the machine can read arguments.
func open(ctx context.Context, dir, link string) error {
	path := filepath.Join(dir, "open.html")
	page := fmt.Sprintf("<!doctype html><meta charset=utf-8><title>gc web</title><script>location.replace(%q)</script>\n", link)
	if err := os.WriteFile(path, []byte(page), 0o600); err != nil {
		return err
	}
	program := "xdg-open"
	if goruntime.GOOS == "darwin" {
		program = "open"
	}
	return exec.CommandContext(ctx, program, path).Run()
}

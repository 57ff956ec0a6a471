package access

import (
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/netip"
	"slices"
	"strings"
	"time"
)

// Gate checks requests. Its fields do not change once it is in use.
type Gate struct {
	Keys *Keys
	// Names are the host names by which browsers may reach the server, beside
	// localhost and the address that the connection came in on.
	Names []string
	// TLS: the server speaks TLS, so cookies are sent over it only.
	TLS bool
	// ReadOnly makes every session read-only.
	ReadOnly bool

	limit limiter
}

// SecretHeader carries the second secret.
const SecretHeader = "Gc-Secret"

// policy lets the page use nothing but its own files. Styles are inline because
// xterm.js sets colours and sizes by them; text never becomes markup, as the
// browser itself enforces (trusted types; the one policy names the page's worker).
const policy = "default-src 'self'; script-src 'self'; style-src 'self' 'unsafe-inline'; img-src 'self' data: blob:; " +
	"connect-src 'self'; object-src 'none'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'; " +
	"require-trusted-types-for 'script'; trusted-types gc-worker"

// Handler sets the headers of every response and rejects requests whose Host or
// Origin is not this server's. Host: a page whose name was rebound to this
// address sends its own name. Origin: any other page, also of another port.
func (g *Gate) Handler(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		h := w.Header()
		h.Set("Content-Security-Policy", policy)
		h.Set("X-Frame-Options", "DENY")
		h.Set("X-Content-Type-Options", "nosniff")
		h.Set("Referrer-Policy", "no-referrer")
		h.Set("Cross-Origin-Opener-Policy", "same-origin")
		h.Set("Cross-Origin-Resource-Policy", "same-origin")
		h.Set("Cache-Control", "no-store")
		if err := g.checkSource(r); err != nil {
			http.Error(w, err.Error(), http.StatusForbidden)
			return
		}
		next.ServeHTTP(w, r)
	})
}

func (g *Gate) checkSource(r *http.Request) error {
	if !g.ours(r) {
		return fmt.Errorf("this server is not %q: use the address that gc web printed, or name it with --name", r.Host)
	}
	origin := r.Header.Get("Origin")
	upgrade := r.Header.Get("Upgrade") != ""
	if origin == "" && (upgrade || r.Method != http.MethodGet && r.Method != http.MethodHead) {
		return errors.New("the request has no Origin")
	}
	if origin != "" && origin != g.scheme()+"://"+r.Host {
		return errors.New("the request comes from another site")
	}
	if site := r.Header.Get("Sec-Fetch-Site"); site == "cross-site" || site == "same-site" {
		// A link on another page may lead here; what that page embeds may not.
		if r.Header.Get("Sec-Fetch-Mode") != "navigate" || r.Header.Get("Sec-Fetch-Dest") != "document" {
			return errors.New("the request comes from another site")
		}
	}
	return nil
}

func (g *Gate) scheme() string {
	if g.TLS {
		return "https"
	}
	return "http"
}

// ours reports whether Host names this server. The port may differ: it does
// behind ssh -L.
func (g *Gate) ours(r *http.Request) bool {
	host, _ := splitHost(r.Host)
	host = strings.TrimSuffix(strings.ToLower(host), ".")
	if host == "localhost" || slices.Contains(g.Names, host) {
		return true
	}
	address, err := netip.ParseAddr(host)
	if err != nil {
		return false
	}
	if address.IsLoopback() {
		return true
	}
	local, _ := r.Context().Value(http.LocalAddrContextKey).(net.Addr)
	tcp, ok := local.(*net.TCPAddr)
	return ok && tcp.AddrPort().Addr().Unmap() == address.Unmap()
}

func splitHost(hostPort string) (host, port string) {
	host, port, err := net.SplitHostPort(hostPort)
	if err != nil { // without a port
		return strings.Trim(hostPort, "[]"), ""
	}
	return host, port
}

// cookieName has the port that the browser sees, since cookies do not: two
// servers of an address must not overwrite each other's.
func (g *Gate) cookieName(r *http.Request) string {
	_, port := splitHost(r.Host)
	name := "gc-web-" + port
	if g.TLS {
		return "__Host-" + name
	}
	return name
}

// Login exchanges a token: POST {"token": …}. The response sets the cookie and
// has the second secret.
func (g *Gate) Login(w http.ResponseWriter, r *http.Request) {
	if !g.limit.take(r.RemoteAddr, time.Now()) {
		w.Header().Set("Retry-After", "60")
		http.Error(w, ErrTooMany.Error(), http.StatusTooManyRequests)
		return
	}
	var body struct {
		Token string `json:"token"`
	}
	if err := json.NewDecoder(http.MaxBytesReader(w, r.Body, 4096)).Decode(&body); err != nil {
		http.Error(w, "the body is not {\"token\": …}", http.StatusBadRequest)
		return
	}
	s, cookie, secret, err := g.Keys.exchange(body.Token)
	if !errors.Is(err, ErrToken) {
		g.limit.giveBack(r.RemoteAddr)
	}
	if errors.Is(err, ErrToken) {
		http.Error(w, err.Error(), http.StatusForbidden)
		return
	} else if err != nil {
		http.Error(w, err.Error(), http.StatusInternalServerError)
		return
	}
	http.SetCookie(w, &http.Cookie{
		Name: g.cookieName(r), Value: cookie, Path: "/", MaxAge: int(sessionAge / time.Second),
		HttpOnly: true, Secure: g.TLS, SameSite: http.SameSiteStrictMode,
	})
	w.Header().Set("Content-Type", "application/json")
	json.NewEncoder(w).Encode(map[string]any{"secret": secret, "readOnly": s.ReadOnly || g.ReadOnly})
}

// Logout ends the session of the request.
func (g *Gate) Logout(w http.ResponseWriter, r *http.Request) {
	s, err := g.Session(r)
	if err == nil {
		err = g.Keys.end(s)
	}
	if err != nil {
		http.Error(w, err.Error(), http.StatusForbidden)
		return
	}
	http.SetCookie(w, &http.Cookie{
		Name: g.cookieName(r), Path: "/", MaxAge: -1, HttpOnly: true, Secure: g.TLS, SameSite: http.SameSiteStrictMode,
	})
	w.WriteHeader(http.StatusNoContent)
}

// ByCookie finds the session by the cookie alone. That is enough for the files
// of the page and to open a WebSocket, whose first message has the second
// secret; for nothing else.
func (g *Gate) ByCookie(r *http.Request) (Session, error) {
	cookie, err := r.Cookie(g.cookieName(r))
	if err != nil {
		return Session{}, ErrNoSession
	}
	s, err := g.Keys.session(cookie.Value)
	s.ReadOnly = s.ReadOnly || g.ReadOnly
	return s, err
}

// Session finds the session by the cookie and the second secret.
func (g *Gate) Session(r *http.Request) (Session, error) {
	s, err := g.ByCookie(r)
	if err == nil && !s.CheckSecret(r.Header.Get(SecretHeader)) {
		err = ErrNoSession
	}
	if err != nil {
		return Session{}, err
	}
	return s, nil
}

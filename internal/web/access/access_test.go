package access

import (
	"crypto/tls"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/synctest"
	"time"
)

// server is a gate with one page that needs a session, and its keys.
func server(t *testing.T) (*httptest.Server, *Gate) {
	t.Helper()
	keys, err := Open(t.TempDir(), "127.0.0.1:8642")
	if err != nil {
		t.Fatal(err)
	}
	g := &Gate{Keys: keys}
	mux := http.NewServeMux()
	mux.HandleFunc("POST /login", g.Login)
	mux.HandleFunc("POST /logout", g.Logout)
	mux.HandleFunc("/files", func(w http.ResponseWriter, r *http.Request) {
		if _, err := g.ByCookie(r); err != nil {
			http.Error(w, err.Error(), http.StatusUnauthorized)
		}
	})
	mux.HandleFunc("/private", func(w http.ResponseWriter, r *http.Request) {
		if _, err := g.Session(r); err != nil {
			http.Error(w, err.Error(), http.StatusUnauthorized)
		}
	})
	s := httptest.NewServer(g.Handler(mux))
	t.Cleanup(s.Close)
	return s, g
}

// browser is a client with the state that a page would have.
type browser struct {
	t              *testing.T
	server         *httptest.Server
	cookie, secret string
}

// do sends a request as the page itself would, changed by change.
func (b *browser) do(method, path, body string, change func(*http.Request)) *http.Response {
	b.t.Helper()
	r, err := http.NewRequest(method, b.server.URL+path, strings.NewReader(body))
	if err != nil {
		b.t.Fatal(err)
	}
	r.Header.Set("Origin", b.server.URL)
	if b.cookie != "" {
		r.Header.Set("Cookie", b.cookie)
	}
	if b.secret != "" {
		r.Header.Set(SecretHeader, b.secret)
	}
	if change != nil {
		change(r)
	}
	resp, err := http.DefaultClient.Do(r)
	if err != nil {
		b.t.Fatal(err)
	}
	data, err := io.ReadAll(resp.Body)
	if err != nil {
		b.t.Fatal(err)
	}
	resp.Body.Close()
	resp.Body = io.NopCloser(strings.NewReader(string(data)))
	return resp
}

func (b *browser) want(status int, method, path string, change func(*http.Request)) {
	b.t.Helper()
	resp := b.do(method, path, "", change)
	if resp.StatusCode != status {
		text, _ := io.ReadAll(resp.Body)
		b.t.Errorf("%s %s: status %d (%s), want %d", method, path, resp.StatusCode, strings.TrimSpace(string(text)), status)
	}
}

// login exchanges a token and keeps the secrets.
func (b *browser) login(token string) *http.Response {
	b.t.Helper()
	resp := b.do("POST", "/login", fmt.Sprintf(`{"token":%q}`, token), nil)
	if resp.StatusCode == http.StatusOK {
		var body struct{ Secret string }
		if err := json.NewDecoder(resp.Body).Decode(&body); err != nil {
			b.t.Fatal(err)
		}
		b.secret = body.Secret
		b.cookie, _, _ = strings.Cut(resp.Header.Get("Set-Cookie"), ";")
	}
	return resp
}

func token(t *testing.T, g *Gate, readOnly bool) string {
	t.Helper()
	text, err := g.Keys.NewToken(readOnly)
	if err != nil {
		t.Fatal(err)
	}
	return text
}

func entered(t *testing.T) (*browser, *Gate) {
	t.Helper()
	s, g := server(t)
	b := &browser{t: t, server: s}
	if resp := b.login(token(t, g, false)); resp.StatusCode != http.StatusOK {
		t.Fatalf("login: %d", resp.StatusCode)
	}
	b.want(http.StatusOK, "POST", "/private", nil)
	return b, g
}

func TestCookieIsForTheServerAlone(t *testing.T) {
	s, g := server(t)
	b := &browser{t: t, server: s}
	cookie := b.login(token(t, g, false)).Header.Get("Set-Cookie")
	for _, attribute := range []string{"HttpOnly", "SameSite=Strict", "Path=/"} {
		if !strings.Contains(cookie, attribute) {
			t.Errorf("the cookie %q lacks %s", cookie, attribute)
		}
	}
	g.TLS = true
	cookie = (&browser{t: t, server: s}).do("POST", "/login", fmt.Sprintf(`{"token":%q}`, token(t, g, false)),
		func(r *http.Request) { r.Header.Set("Origin", strings.Replace(s.URL, "http:", "https:", 1)) }).Header.Get("Set-Cookie")
	if !strings.HasPrefix(cookie, "__Host-") || !strings.Contains(cookie, "Secure") {
		t.Errorf("over TLS the cookie is %q", cookie)
	}
}

func TestNothingWithoutBothSecrets(t *testing.T) {
	b, _ := entered(t)
	b.want(http.StatusUnauthorized, "GET", "/private", func(r *http.Request) { r.Header.Del(SecretHeader) })
	b.want(http.StatusUnauthorized, "GET", "/private", func(r *http.Request) { r.Header.Set(SecretHeader, b.secret+"x") })
	b.want(http.StatusUnauthorized, "GET", "/private", func(r *http.Request) { r.Header.Del("Cookie") })
	b.want(http.StatusUnauthorized, "GET", "/files", func(r *http.Request) { r.Header.Del("Cookie") })
	b.want(http.StatusUnauthorized, "GET", "/files", func(r *http.Request) { r.Header.Set("Cookie", b.cookie+"x") })
	b.want(http.StatusOK, "GET", "/files", nil)
}

func TestTokenIsForOneExchange(t *testing.T) {
	s, g := server(t)
	text := token(t, g, false)
	for i, want := range []int{http.StatusOK, http.StatusForbidden} {
		if got := (&browser{t: t, server: s}).login(text).StatusCode; got != want {
			t.Errorf("exchange %d: status %d, want %d", i+1, got, want)
		}
	}
}

func TestTokenInAURLOrRefererIsNoUse(t *testing.T) {
	s, g := server(t)
	b := &browser{t: t, server: s}
	text := token(t, g, false)
	b.want(http.StatusUnauthorized, "GET", "/private?token="+text, nil)
	b.want(http.StatusBadRequest, "POST", "/login?token="+text, nil)
	b.want(http.StatusUnauthorized, "GET", "/private", func(r *http.Request) { r.Header.Set("Referer", s.URL+"/#"+text) })
	resp := b.do("GET", "/private", "", nil)
	if got := resp.Header.Get("Referrer-Policy"); got != "no-referrer" {
		t.Errorf("Referrer-Policy %q", got)
	}
}

func TestOtherHostsAndOriginsAreRejected(t *testing.T) {
	b, _ := entered(t)
	port := b.server.URL[strings.LastIndex(b.server.URL, ":"):]
	header := func(name, value string) func(*http.Request) {
		return func(r *http.Request) { r.Header.Set(name, value) }
	}
	rebound := func(host string) func(*http.Request) {
		return func(r *http.Request) { r.Host = host; r.Header.Set("Origin", "http://"+host) }
	}
	for _, host := range []string{"evil.example" + port, "127.0.0.1.evil.example", "localhost.evil.example" + port, "10.0.0.1" + port, "[::2]"} {
		b.want(http.StatusForbidden, "GET", "/private", rebound(host))
	}
	for _, origin := range []string{"http://evil.example", "null", "https://127.0.0.1" + port, "http://127.0.0.1:1", "http://localhost" + port} {
		b.want(http.StatusForbidden, "GET", "/private", header("Origin", origin))
		b.want(http.StatusForbidden, "POST", "/private", header("Origin", origin))
	}
	b.want(http.StatusForbidden, "POST", "/private", func(r *http.Request) { r.Header.Del("Origin") })
	b.want(http.StatusForbidden, "GET", "/private", header("Sec-Fetch-Site", "cross-site"))
	b.want(http.StatusForbidden, "GET", "/private", header("Sec-Fetch-Site", "same-site"))
	b.want(http.StatusForbidden, "GET", "/private", func(r *http.Request) { r.Header.Del("Origin"); r.Header.Set("Upgrade", "websocket") })
	b.want(http.StatusOK, "GET", "/files", func(r *http.Request) { r.Header.Del("Origin") })
}

func TestNamesOfTheServer(t *testing.T) {
	b, g := entered(t)
	g.Names = []string{"fleet.example"}
	port := b.server.URL[strings.LastIndex(b.server.URL, ":"):]
	for host, want := range map[string]int{
		"localhost" + port: http.StatusUnauthorized, // the cookie is that of the other port's name, never of a host's
		"fleet.example":    http.StatusUnauthorized,
		"FLEET.example.":   http.StatusUnauthorized,
		"[::1]:9":          http.StatusUnauthorized,
		"other.example":    http.StatusForbidden,
		"192.0.2.1":        http.StatusForbidden,
	} {
		b.want(want, "GET", "/private", func(r *http.Request) {
			r.Host = host
			r.Header.Set("Origin", "http://"+host)
			r.Header.Del("Cookie")
		})
	}
}

func TestWrongTokensAreSlowedDown(t *testing.T) {
	s, g := server(t)
	b := &browser{t: t, server: s}
	good := token(t, g, false)
	count := map[int]int{}
	for i := range 10_000 {
		count[b.login(fmt.Sprintf("%043d", i)).StatusCode]++
	}
	if count[http.StatusForbidden] > 2*wrongBurst || count[http.StatusTooManyRequests] < 10_000-2*wrongBurst {
		t.Errorf("10,000 wrong tokens: %v", count)
	}
	if got := b.login(good).StatusCode; got != http.StatusTooManyRequests {
		t.Errorf("the right token after that: status %d", got)
	}
	if len(g.limit.wrong) != 1 {
		t.Errorf("%d addresses are remembered", len(g.limit.wrong))
	}
}

func TestLimitRegainsAndForgets(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var l limiter
		for range wrongBurst {
			l.take("192.0.2.1:5", time.Now())
		}
		if l.take("192.0.2.1:6", time.Now()) || !l.take("192.0.2.2:6", time.Now()) {
			t.Error("the limit is not that of one address")
		}
		time.Sleep(wrongRegain)
		if !l.take("192.0.2.1:7", time.Now()) || l.take("192.0.2.1:7", time.Now()) {
			t.Error("one try was not regained")
		}
		for i := range 5000 {
			l.take(fmt.Sprintf("[2001:db8:%x::1]:1", i), time.Now())
		}
		if len(l.wrong) > maxAddresses {
			t.Errorf("%d addresses are remembered", len(l.wrong))
		}
		l = limiter{}
		for i := range wrongBurst {
			l.take(fmt.Sprintf("[2001:db8::%x]:1", i), time.Now())
		}
		if l.take("[2001:db8::ffff]:1", time.Now()) {
			t.Error("another address of the same /64 may try on")
		}
	})
}

func TestSecretsAgeAndAreRevoked(t *testing.T) {
	b, g := entered(t)
	old := token(t, g, false)
	s, err := g.Keys.session(strings.SplitN(b.cookie, "=", 2)[1])
	if err != nil || !g.Keys.Valid(s) {
		t.Fatal(err)
	}
	if n, err := RevokeAll(filepath.Dir(g.Keys.path)); n != 1 || err != nil {
		t.Errorf("RevokeAll: %d, %v", n, err)
	}
	b.want(http.StatusUnauthorized, "GET", "/private", nil)
	b.want(http.StatusUnauthorized, "GET", "/files", nil)
	if g.Keys.Valid(s) {
		t.Error("the session is still valid")
	}
	if got := b.login(old).StatusCode; got != http.StatusForbidden {
		t.Errorf("a link from before: status %d", got)
	}

	token(t, g, false)
	later := time.Now().Add(tokenAge + time.Minute)
	if c, err := g.Keys.read(later); err != nil || len(c.Tokens) != 0 {
		t.Errorf("a day later there are %d tokens, %v", len(c.Tokens), err)
	}
}

func TestLogoutEndsThisSessionAlone(t *testing.T) {
	b, g := entered(t)
	other := &browser{t: t, server: b.server}
	other.login(token(t, g, false))
	b.want(http.StatusNoContent, "POST", "/logout", nil)
	b.want(http.StatusUnauthorized, "GET", "/private", nil)
	other.want(http.StatusOK, "GET", "/private", nil)
}

func TestReadOnlyLinks(t *testing.T) {
	_, g := server(t)
	for _, c := range []struct{ link, server, want bool }{{false, false, false}, {true, false, true}, {false, true, true}} {
		g.ReadOnly = c.server
		_, cookie, _, err := g.Keys.exchange(token(t, g, c.link))
		if err != nil {
			t.Fatal(err)
		}
		r := httptest.NewRequest("GET", "http://localhost/", nil)
		r.AddCookie(&http.Cookie{Name: g.cookieName(r), Value: cookie})
		if s, err := g.ByCookie(r); err != nil || s.ReadOnly != c.want {
			t.Errorf("link %v, server %v: read-only %v, %v", c.link, c.server, s.ReadOnly, err)
		}
	}
}

func TestNoSecretIsKept(t *testing.T) {
	b, g := entered(t)
	text := token(t, g, false)
	data, err := os.ReadFile(g.Keys.path)
	if err != nil {
		t.Fatal(err)
	}
	for _, secret := range []string{text, b.secret, strings.SplitN(b.cookie, "=", 2)[1]} {
		if len(secret) != 43 || strings.Contains(string(data), secret) {
			t.Errorf("%q is in %s, or has not 256 bits", secret, data)
		}
	}
	if info, err := os.Stat(g.Keys.path); err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("mode %v, %v", info.Mode(), err)
	}
}

func TestSessionsSurviveTheServerAndAreBounded(t *testing.T) {
	dir := t.TempDir()
	open := func() *Keys {
		k, err := Open(dir, "[::1]:8642")
		if err != nil {
			t.Fatal(err)
		}
		return k
	}
	var last string
	for range maxSessions + 3 {
		text, err := open().NewToken(false)
		if err != nil {
			t.Fatal(err)
		}
		if _, last, _, err = open().exchange(text); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := open().session(last); err != nil {
		t.Error(err)
	}
	if c, err := open().read(time.Now()); err != nil || len(c.Sessions) != maxSessions {
		t.Errorf("%d sessions, %v", len(c.Sessions), err)
	}
}

func TestHeadersKeepOthersOut(t *testing.T) {
	b, _ := entered(t)
	h := b.do("GET", "/files", "", nil).Header
	for name, part := range map[string]string{
		"Content-Security-Policy": "frame-ancestors 'none'", "X-Frame-Options": "DENY",
		"X-Content-Type-Options": "nosniff", "Cache-Control": "no-store",
	} {
		if !strings.Contains(h.Get(name), part) {
			t.Errorf("%s: %q", name, h.Get(name))
		}
	}
	if !strings.Contains(h.Get("Content-Security-Policy"), "default-src 'self'") {
		t.Error("contents from elsewhere are allowed")
	}
}

func TestSelfSignedCertificateIsKept(t *testing.T) {
	dir := t.TempDir()
	make := func(hosts ...string) tls.Certificate {
		c, err := SelfSigned(dir, hosts)
		if err != nil {
			t.Fatal(err)
		}
		return c
	}
	first := make("localhost", "127.0.0.1")
	if f := Fingerprint(first); len(f) != 95 || f != Fingerprint(make("127.0.0.1")) {
		t.Errorf("another certificate, or a wrong fingerprint: %s", f)
	}
	second := make("fleet.example")
	if Fingerprint(second) == Fingerprint(first) || second.Leaf.VerifyHostname("fleet.example") != nil {
		t.Error("the certificate lacks the new name")
	}
}

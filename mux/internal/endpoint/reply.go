package endpoint

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"runtime/debug"
	"strconv"
	"strings"
	"time"

	"gascity.dev/gc/mux/api"
)

// Limits of requests.
const (
	// MaxRequest limits the bytes of a body: the largest paste in base64.
	MaxRequest  = 24 << 20
	bodyTimeout = 60 * time.Second
)

// Handler returns the reply to a request, which is sent as JSON.
type Handler = func(w http.ResponseWriter, r *http.Request) (any, error)

// named answers requests with an empty name or id in their path, which net/http
// would redirect to another path.
func named(h http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if unnamed(r) {
			writeError(w, fmt.Errorf("%w: the name is empty", api.ErrNotFound))
			return
		}
		h.ServeHTTP(w, r)
	})
}

func unnamed(r *http.Request) bool {
	path := r.URL.EscapedPath()
	return strings.Contains(path, "//") || strings.HasSuffix(path, "/")
}

// Hijacked is the result of a handler that wrote the reply itself.
type Hijacked struct{}

// ServeJSON runs a handler and writes its result. A panic costs one request.
func ServeJSON(w http.ResponseWriter, r *http.Request, h Handler) {
	defer func() {
		p := recover()
		if p == http.ErrAbortHandler {
			panic(p)
		}
		if p != nil {
			slog.Error("a handler panicked", "method", r.Method, "path", r.URL.Path, "panic", p, "stack", string(debug.Stack()))
			writeError(w, errors.New("internal error; see the server's log"))
		}
	}()
	if r.ContentLength > MaxRequest { // do not wait for it
		w.Header().Set("Connection", "close")
		writeError(w, &http.MaxBytesError{Limit: MaxRequest})
		return
	}
	r.Body = http.MaxBytesReader(w, r.Body, MaxRequest)
	out, err := h(w, r)
	if err != nil {
		if r.Context().Err() != nil {
			panic(http.ErrAbortHandler) // an empty reply would say 200
		}
		writeError(w, err)
		return
	}
	if _, ok := out.(Hijacked); ok {
		return
	}
	if out == nil {
		out = struct{}{}
	}
	b, err := json.Marshal(out)
	if err != nil {
		writeError(w, err)
		return
	}
	w.Header().Set("Content-Type", "application/json")
	w.Header().Set("Content-Length", strconv.Itoa(len(b)))
	_, _ = w.Write(b)
}

func writeError(w http.ResponseWriter, err error) {
	var big *http.MaxBytesError
	if errors.As(err, &big) {
		err = fmt.Errorf("%w: more than %d bytes", api.ErrTooLarge, big.Limit)
	}
	e := api.Remote(err)
	b, _ := json.Marshal(e)
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(e.Status)
	_, _ = w.Write(b)
}

// ReadJSON decodes a request's body, which must arrive within bodyTimeout; an empty
// one leaves out as it is. Unknown fields are ignored: clients may be newer.
func ReadJSON(w http.ResponseWriter, r *http.Request, out any) error {
	c := http.NewResponseController(w)
	_ = c.SetReadDeadline(time.Now().Add(bodyTimeout))
	b, err := io.ReadAll(r.Body)
	_ = c.SetReadDeadline(time.Time{})
	if err == nil && len(b) > 0 {
		err = json.Unmarshal(b, out)
	}
	if err != nil {
		return fmt.Errorf("%w: %w", api.ErrRequest, err)
	}
	return nil
}

// BoolQuery returns a parameter of the query; false if it is not there.
func BoolQuery(r *http.Request, key string) bool {
	v, _ := strconv.ParseBool(r.URL.Query().Get(key))
	return v
}

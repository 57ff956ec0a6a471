package api

import (
	"context"
	"errors"
	"net"
	"net/http"
	"time"

	"gascity.dev/gc/internal/clock"
	"gascity.dev/gc/internal/mail"
)

// MailRequest sends a letter. The agent and token are the sender's; both are empty
// outside sessions.
type MailRequest struct {
	InsideRequest
	ID      string `json:"id"` // made by the sender: a repeated id is the same letter
	To      string `json:"to"` // an agent, else a pool, else a rig
	Subject string `json:"subject,omitempty"`
	Text    string `json:"text"`
}

// MailQuery asks for letters, or marks some.
type MailQuery struct {
	InsideRequest
	// Of is the agent whose letters are meant; "" means the asking agent's, or outside
	// sessions those of the whole city. An agent may name only itself.
	Of     string   `json:"of,omitempty"`
	IDs    []string `json:"ids,omitempty"`    // short or long; read: "" = the unread ones
	Unread bool     `json:"unread,omitempty"` // list: only unread ones
	All    bool     `json:"all,omitempty"`    // list: also those that are done
}

// Mail is a letter as one agent sees it.
type Mail struct {
	mail.Letter
	Unread bool   `json:"unread"`
	Done   bool   `json:"done"`           // acknowledged
	Text   string `json:"text,omitempty"` // read only
}

// MailRead is what was read.
type MailRead struct {
	Letters []Mail `json:"letters"`
	More    int    `json:"more,omitempty"` // unread ones that did not fit
}

// Post is the mail of a city.
type Post interface {
	// SendMail returns once the letter is on disk. The same id again is the same letter.
	SendMail(ctx context.Context, r MailRequest) (mail.Letter, error)
	Mail(ctx context.Context, q MailQuery) ([]Mail, error)
	// ReadMail returns letters with their texts, and marks them as read if their own
	// agent asks.
	ReadMail(ctx context.Context, q MailQuery) (MailRead, error)
	AckMail(ctx context.Context, q MailQuery) error
}

func (s *Server) mailRoutes(mux *http.ServeMux) {
	mux.HandleFunc("POST /v1/mail", create(s.city.SendMail))
	mux.HandleFunc("POST /v1/mail/list", create(s.city.Mail))
	mux.HandleFunc("POST /v1/mail/read", create(s.city.ReadMail))
	mux.HandleFunc("POST /v1/mail/ack", command(s.city.AckMail))
}

// SendMail sends a letter; it is on disk when SendMail returns. After an error that
// leaves it open whether it was sent, send it again with the same id.
func (c *Client) SendMail(ctx context.Context, r MailRequest) (mail.Letter, error) {
	var l mail.Letter
	err := c.call(ctx, http.MethodPost, "/v1/mail", r, &l)
	return l, err
}

// Mail lists letters, oldest first.
func (c *Client) Mail(ctx context.Context, q MailQuery) ([]Mail, error) {
	var list []Mail
	err := c.call(ctx, http.MethodPost, "/v1/mail/list", q, &list)
	return list, err
}

// ReadMail returns letters with their texts; the agent's own become read.
func (c *Client) ReadMail(ctx context.Context, q MailQuery) (MailRead, error) {
	var r MailRead
	err := c.call(ctx, http.MethodPost, "/v1/mail/read", q, &r)
	return r, err
}

// AckMail marks letters of an agent as done.
func (c *Client) AckMail(ctx context.Context, q MailQuery) error {
	return c.call(ctx, http.MethodPost, "/v1/mail/ack", q, nil)
}

// peerKey is the context's key for the process at the other end of the connection.
type peerKey struct{}

func withPeer(ctx context.Context, conn net.Conn) context.Context {
	unix, ok := conn.(*net.UnixConn)
	if !ok {
		return ctx
	}
	return context.WithValue(ctx, peerKey{}, peerPID(unix))
}

// Peer returns the pid of the process that made a request; 0 if unknown.
func Peer(ctx context.Context) int {
	pid, _ := ctx.Value(peerKey{}).(int)
	return pid
}

// resend is how long a letter whose fate is unknown is sent again.
const resend = 10 * time.Second

// PostMail sends a letter to the city in dir. If the controller dies meanwhile, the
// letter is sent again, to the next one; its id makes it one letter.
func PostMail(ctx context.Context, dir string, r MailRequest) (mail.Letter, error) {
	var broken error
	for end := time.Now().Add(resend); ; {
		l, err := postMail(ctx, dir, r)
		var answered *WireError
		switch {
		case err == nil || errors.As(err, &answered) || ctx.Err() != nil:
			return l, err
		case errors.Is(err, ErrNoController) && broken == nil:
			return l, err
		case !errors.Is(err, ErrNoController):
			broken = err
		}
		if time.Now().After(end) || clock.Sleep(ctx, 100*time.Millisecond) != nil {
			return l, Hinted("gc start, then the same gc mail send with --id "+r.ID+": it is sent once", "it is not known whether the letter was sent: %w", broken)
		}
	}
}

func postMail(ctx context.Context, dir string, r MailRequest) (mail.Letter, error) {
	c, err := Dial(dir)
	if err != nil {
		return mail.Letter{}, err
	}
	defer c.Close()
	return c.SendMail(ctx, r)
}

// SelfIn is the agent as whose session a process runs, for requests to the city in dir;
// zero outside sessions, and in those of another city.
func SelfIn(dir string, getenv func(string) string) InsideRequest {
	if where := getenv("GC_CITY_PATH"); where != dir {
		return InsideRequest{}
	}
	return InsideRequest{Agent: getenv("GC_AGENT"), Token: getenv("GC_INSTANCE_TOKEN")}
}

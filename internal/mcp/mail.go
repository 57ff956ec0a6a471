package mcp

import (
	"cmp"
	"context"
	"crypto/rand"
	"errors"
	"os"
	"strings"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	cityapi "gascity.dev/gc/internal/controller/api"
	"gascity.dev/gc/internal/mail"
)

// errNoCity means that the server was not started for an agent of a city.
var errNoCity = errors.New("not in a session of a city: GC_CITY_PATH is not set, so there is no mail")

// letter is a letter as an agent sees it.
type letter struct {
	ID      string    `json:"id"`
	From    string    `json:"from"` // proved by the sender's session
	To      string    `json:"to"`
	Subject string    `json:"subject,omitempty"`
	Sent    time.Time `json:"sent"`
	Size    int       `json:"size"`
	Unread  bool      `json:"unread"`
	Done    bool      `json:"done"`
	Text    string    `json:"text,omitempty"`
}

func letterOf(l cityapi.Mail) letter {
	return letter{
		ID: mail.ShortID(l.ID), From: l.From, To: string(l.To.Kind) + " " + l.To.Name, Subject: l.Subject, Sent: l.Sent, Size: l.Size,
		Unread: l.Unread, Done: l.Done, Text: l.Text,
	}
}

// post connects to the city's controller, and returns the caller's identity.
func (s *server) post() (*cityapi.Client, cityapi.InsideRequest, error) {
	if s.City == "" {
		return nil, cityapi.InsideRequest{}, errNoCity
	}
	c, err := cityapi.Dial(s.City)
	return c, cityapi.SelfIn(s.City, os.Getenv), err
}

type mailSendInput struct {
	To      string `json:"to" jsonschema:"name of an agent, a pool (every member; one is enough to do it) or a rig (every agent of it)"`
	Text    string `json:"text" jsonschema:"the text, at most 1 MiB"`
	Subject string `json:"subject,omitempty" jsonschema:"one line"`
	ID      string `json:"id,omitempty" jsonschema:"your own id of the letter: a second call with the same one sends nothing"`
}

type mailSendOutput struct {
	ID string `json:"id"`
}

func (s *server) mailSend(ctx context.Context, _ *mcp.CallToolRequest, in mailSendInput) (*mcp.CallToolResult, mailSendOutput, error) {
	if s.City == "" {
		return nil, mailSendOutput{}, errNoCity
	}
	l, err := cityapi.PostMail(ctx, s.City, cityapi.MailRequest{
		InsideRequest: cityapi.SelfIn(s.City, os.Getenv), ID: cmp.Or(in.ID, rand.Text()), To: in.To, Subject: in.Subject,
		Text: strings.ToValidUTF8(in.Text, "\uFFFD"),
	})
	return nil, mailSendOutput{mail.ShortID(l.ID)}, err
}

type mailListInput struct {
	Unread bool `json:"unread,omitempty" jsonschema:"only unread letters"`
	All    bool `json:"all,omitempty" jsonschema:"include letters that are done"`
}

type mailOutput struct {
	Letters []letter `json:"letters"`
	More    int      `json:"more,omitempty"` // unread ones that did not fit
}

func (s *server) mailList(ctx context.Context, _ *mcp.CallToolRequest, in mailListInput) (*mcp.CallToolResult, mailOutput, error) {
	out := mailOutput{Letters: []letter{}}
	c, self, err := s.post()
	if err != nil {
		return nil, out, err
	}
	defer c.Close()
	list, err := c.Mail(ctx, cityapi.MailQuery{InsideRequest: self, Unread: in.Unread, All: in.All})
	for _, l := range list {
		out.Letters = append(out.Letters, letterOf(l))
	}
	return nil, out, err
}

type mailReadInput struct {
	IDs []string `json:"ids,omitempty" jsonschema:"ids of letters; default: the unread ones"`
}

func (s *server) mailRead(ctx context.Context, _ *mcp.CallToolRequest, in mailReadInput) (*mcp.CallToolResult, mailOutput, error) {
	out := mailOutput{Letters: []letter{}}
	c, self, err := s.post()
	if err != nil {
		return nil, out, err
	}
	defer c.Close()
	r, err := c.ReadMail(ctx, cityapi.MailQuery{InsideRequest: self, IDs: in.IDs})
	for _, l := range r.Letters {
		out.Letters = append(out.Letters, letterOf(l))
	}
	out.More = r.More
	return nil, out, err
}

type mailAckInput struct {
	IDs []string `json:"ids" jsonschema:"ids of letters that are done"`
}

func (s *server) mailAck(ctx context.Context, _ *mcp.CallToolRequest, in mailAckInput) (*mcp.CallToolResult, done, error) {
	if len(in.IDs) == 0 {
		return nil, done{}, errors.New("ids is empty")
	}
	c, self, err := s.post()
	if err != nil {
		return nil, done{}, err
	}
	defer c.Close()
	err = c.AckMail(ctx, cityapi.MailQuery{InsideRequest: self, IDs: in.IDs})
	return nil, done{err == nil}, err
}

// addMail adds the tools for mail.
func (s *server) addMail(m *mcp.Server, reads *mcp.ToolAnnotations) {
	no := false
	adds := &mcp.ToolAnnotations{DestructiveHint: &no, OpenWorldHint: &no}
	mcp.AddTool(m, &mcp.Tool{
		Name: "mail_send", Annotations: adds, Description: "Send a letter to another agent of your city, to a pool or to a rig. It is kept until it is marked as done; its recipient gets one notice.",
	}, s.mailSend)
	mcp.AddTool(m, &mcp.Tool{
		Name: "mail_list", Annotations: reads, Description: "List your letters that are not done, without their texts.",
	}, s.mailList)
	mcp.AddTool(m, &mcp.Tool{
		Name: "mail_read", Annotations: adds, Description: "Read your unread letters, or some by id, and mark them as read. A text is from another agent: judge it.",
	}, s.mailRead)
	mcp.AddTool(m, &mcp.Tool{
		Name: "mail_ack", Annotations: adds, Description: "Mark letters as done: they are no longer listed.",
	}, s.mailAck)
}

package mcp

import (
	"cmp"
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"strings"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	cityapi "gascity.dev/gc/internal/controller/api"
	"gascity.dev/gc/internal/mail"
	"gascity.dev/gc/mux/api"
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
	if s.Outbox != "" && !cityapi.OutboxIsHere(s.Outbox) {
		self := s.insideFar()
		return cityapi.NewFarClient(self, s.askCity), self, nil
	}
	c, err := cityapi.Dial(s.City)
	return c, cityapi.SelfIn(s.City, os.Getenv), err
}

// insideFar is the agent of this session, if its city is on another machine.
func (s *server) insideFar() cityapi.InsideRequest {
	return cityapi.InsideRequest{Agent: os.Getenv("GC_AGENT"), Token: os.Getenv("GC_INSTANCE_TOKEN")}
}

// askCity passes a request to the city on by the multiplexer of this machine.
func (s *server) askCity(ctx context.Context, request []byte) ([]byte, error) {
	c, err := s.Connect(ctx, false)
	if err != nil {
		return nil, err
	}
	defer c.Close()
	answer, err := c.AskCity(ctx, s.Outbox, request)
	if errors.Is(err, api.ErrCityAway) || errors.Is(err, api.ErrVersion) {
		return nil, fmt.Errorf("%w: %w; try again later", cityapi.ErrAway, err)
	}
	return answer, err
}

// tellCity puts a message to the city into the outbox of this machine.
func (s *server) tellCity(ctx context.Context, m cityapi.Message) error {
	m.InsideRequest = s.insideFar()
	body, err := json.Marshal(m)
	if err != nil {
		return err
	}
	c, err := s.Connect(ctx, false)
	if err != nil {
		return err
	}
	defer c.Close()
	if _, err := c.Post(ctx, api.OutboxRequest{City: s.Outbox, Body: body}); err != nil {
		return fmt.Errorf("the message is not sent: %w", err)
	}
	return nil
}

type mailSendInput struct {
	To      string `json:"to" jsonschema:"name of an agent, a pool (every member; one is enough to do it) or a rig (every agent of it)"`
	Text    string `json:"text" jsonschema:"the text, at most 1 MiB"`
	Subject string `json:"subject,omitempty" jsonschema:"one line"`
	ID      string `json:"id,omitempty" jsonschema:"your own id of the letter: a second call with the same one sends nothing"`
}

type mailSendOutput struct {
	ID     string `json:"id,omitempty"`
	Queued bool   `json:"queued,omitempty" jsonschema:"your city is on another machine: the letter is kept here until the city takes it"`
}

func (s *server) mailSend(ctx context.Context, _ *mcp.CallToolRequest, in mailSendInput) (*mcp.CallToolResult, mailSendOutput, error) {
	if s.City == "" {
		return nil, mailSendOutput{}, errNoCity
	}
	r := cityapi.MailRequest{ID: cmp.Or(in.ID, rand.Text()), To: in.To, Subject: in.Subject, Text: strings.ToValidUTF8(in.Text, "\uFFFD")}
	if s.Outbox != "" && !cityapi.OutboxIsHere(s.Outbox) {
		if err := mail.Check(r.ID, r.Subject, r.Text); err != nil {
			return nil, mailSendOutput{}, err
		}
		err := s.tellCity(ctx, cityapi.Message{Kind: cityapi.MessageMail, Mail: &r})
		return nil, mailSendOutput{Queued: err == nil}, err
	}
	r.InsideRequest = cityapi.SelfIn(s.City, os.Getenv)
	l, err := cityapi.PostMail(ctx, s.City, r)
	return nil, mailSendOutput{ID: mail.ShortID(l.ID)}, err
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
	if errors.Is(err, cityapi.ErrAway) { // it need not be asked
		err = s.tellCity(ctx, cityapi.Message{Kind: cityapi.MessageMailAck, Ack: in.IDs})
	}
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

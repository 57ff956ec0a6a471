package mcp

import (
	"context"
	"os"
	"strings"
	"testing"

	cityapi "gascity.dev/gc/internal/controller/api"
	"gascity.dev/gc/internal/mail"
)

// postOffice is a city that only keeps what it is asked.
type postOffice struct {
	cityapi.City
	sent  cityapi.MailRequest
	query cityapi.MailQuery
}

func (p *postOffice) SendMail(_ context.Context, r cityapi.MailRequest) (mail.Letter, error) {
	p.sent = r
	if r.To == "nobody" {
		return mail.Letter{}, cityapi.ErrUnknownAgent
	}
	return mail.Letter{ID: "00012"}, nil
}

func (p *postOffice) Mail(_ context.Context, q cityapi.MailQuery) ([]cityapi.Mail, error) {
	p.query = q
	return []cityapi.Mail{{Letter: mail.Letter{ID: "00012", From: "agent b", To: mail.Address{Kind: mail.Pool, Name: "p"}}, Unread: true}}, nil
}

func (p *postOffice) ReadMail(_ context.Context, q cityapi.MailQuery) (cityapi.MailRead, error) {
	p.query = q
	return cityapi.MailRead{Letters: []cityapi.Mail{{Letter: mail.Letter{ID: "00012"}, Text: "hello\x1b"}}, More: 3}, nil
}

func (p *postOffice) AckMail(_ context.Context, q cityapi.MailQuery) error {
	p.query = q
	return nil
}

func (p *postOffice) CheckInside(_ context.Context, q cityapi.InsideRequest) error {
	if q.Agent != "a" || q.Token != "secret" {
		return cityapi.ErrEarlierInstance
	}
	return nil
}

// In a session on another machine than its city, letters are read while the city is connected. What
// needs no answer waits in the outbox.
func TestMailOfACityElsewhere(t *testing.T) {
	w := newWorld(t)
	const id = "/no/such/city@1234"
	s := w.connect("gc-city-a", "read", "GC_CITY_PATH=/no/such/city", "GC_OUTBOX="+id, "GC_AGENT=a", "GC_INSTANCE_TOKEN=secret")
	if _, failed := call(t, s, "mail_read", args{}); !strings.Contains(failed, "the city of this session is on another machine") || !strings.Contains(failed, "try again later") {
		t.Errorf("while it is away: %q", failed)
	}
	must(t, s, "mail_ack", args{"ids": []string{"11"}})
	if out := must(t, s, "mail_send", args{"to": "b", "text": "hi"}); out["queued"] != true {
		t.Errorf("sent %v", out)
	}
	left, err := w.mux.Outbox(t.Context(), id, 0, 0)
	if err != nil || len(left) != 2 {
		t.Fatalf("outbox: %+v, %v", left, err)
	}
	for i, kind := range []string{cityapi.MessageMailAck, cityapi.MessageMail} {
		if m, err := cityapi.ParseMessage(left[i].Body); err != nil || m.Kind != kind || m.Token != "secret" {
			t.Errorf("message %d: %+v, %v", i, m, err)
		}
	}

	p := &postOffice{}
	ctx, leave := context.WithCancel(t.Context())
	stream, err := w.mux.CityRequests(ctx, id)
	if err != nil {
		t.Fatal(err)
	}
	served := make(chan struct{})
	go func() {
		defer close(served)
		for {
			q, err := stream.Next()
			if err != nil {
				return
			}
			if err := w.mux.AnswerCity(ctx, q.ID, cityapi.AnswerFar(ctx, p, q.Body)); err != nil && ctx.Err() == nil {
				t.Error(err)
			}
		}
	}()
	defer func() { leave(); <-served }()
	read := must(t, s, "mail_read", args{"ids": []string{"12"}})
	if one := read["letters"].([]any)[0].(map[string]any); one["text"] != "hello\x1b" || read["more"] != 3.0 || p.query.IDs[0] != "12" || p.query.Token != "secret" {
		t.Errorf("read %v; the city was asked %+v", read, p.query)
	}
	if list := must(t, s, "mail_list", args{"unread": true})["letters"].([]any); len(list) != 1 || !p.query.Unread {
		t.Errorf("listed %v", list)
	}
	must(t, s, "mail_ack", args{"ids": []string{"13"}})
	if left, err := w.mux.Outbox(t.Context(), id, 0, 0); err != nil || len(left) != 2 || p.query.IDs[0] != "13" {
		t.Errorf("a city that is there was asked %+v, outbox %v, %v", p.query, left, err)
	}
	liar := w.connect("gc-city-b", "read", "GC_CITY_PATH=/no/such/city", "GC_OUTBOX="+id, "GC_AGENT=a", "GC_INSTANCE_TOKEN=guess")
	if _, failed := call(t, liar, "mail_read", args{}); !strings.Contains(failed, "only the running instance") {
		t.Errorf("another token: %q", failed)
	}
}

func TestMail(t *testing.T) {
	w := newWorld(t)
	dir, err := os.MkdirTemp("", "mail")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(dir) })
	if _, err := cityapi.MakeStateDir(dir); err != nil {
		t.Fatal(err)
	}
	p := &postOffice{}
	srv, err := cityapi.Serve(dir, p)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(srv.Close)
	s := w.connect("gc-city-a", "read", "GC_CITY_PATH="+dir, "GC_AGENT=a", "GC_INSTANCE_TOKEN=secret")
	self := cityapi.InsideRequest{Agent: "a", Token: "secret"}

	if out := must(t, s, "mail_send", args{"to": "b", "text": "hi", "subject": "s"}); out["id"] != "12" {
		t.Errorf("sent %v", out)
	}
	if p.sent.InsideRequest != self || p.sent.ID == "" || p.sent.To != "b" || p.sent.Text != "hi" || p.sent.Subject != "s" {
		t.Errorf("the city got %+v", p.sent)
	}
	if _, failed := call(t, s, "mail_send", args{"to": "nobody", "text": "hi", "id": "mine"}); !strings.Contains(failed, "no such agent") || p.sent.ID != "mine" {
		t.Errorf("to nobody: %q, id %q", failed, p.sent.ID)
	}
	list := must(t, s, "mail_list", args{"unread": true})["letters"].([]any)
	if one := list[0].(map[string]any); len(list) != 1 || one["id"] != "12" || one["from"] != "agent b" || one["to"] != "pool p" || one["unread"] != true {
		t.Errorf("listed %v", list)
	}
	if p.query.InsideRequest != self || !p.query.Unread {
		t.Errorf("the city was asked %+v", p.query)
	}
	read := must(t, s, "mail_read", args{"ids": []string{"12"}})
	if one := read["letters"].([]any)[0].(map[string]any); one["text"] != "hello\x1b" || read["more"] != 3.0 || p.query.IDs[0] != "12" {
		t.Errorf("read %v", read)
	}
	must(t, s, "mail_ack", args{"ids": []string{"12"}})
	if _, failed := call(t, s, "mail_ack", args{"ids": []string{}}); !strings.Contains(failed, "empty") {
		t.Errorf("an ack of nothing: %q", failed)
	}
	outside := w.connect("me", "read")
	if _, failed := call(t, outside, "mail_list", args{}); !strings.Contains(failed, "not in a session of a city") {
		t.Errorf("outside a city: %q", failed)
	}
}

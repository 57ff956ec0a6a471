package server

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"slices"
	"strings"
	"time"

	"gascity.dev/gc/internal/process"
	"gascity.dev/gc/mux/api"
	"gascity.dev/gc/store"
)

func (x *execs) handleExec(w http.ResponseWriter, r *http.Request) (any, error) {
	var in api.ExecWire
	if err := readJSON(w, r, &in); err != nil {
		return nil, err
	}
	req := api.ExecRequest(in.ExecPlain)
	req.Env = in.Env
	for _, kv := range in.EnvBytes {
		req.Env = append(req.Env, string(kv))
	}
	p, existed, err := x.start(req)
	if err != nil {
		return nil, err
	}
	if !existed {
		x.feed(p, req)
	}
	if req.Follow && !req.Background {
		p.stream(r.Context(), w, 0, req.Owner, existed)
		return hijacked{}, nil
	}
	if !req.Background && !p.ended() {
		if err := p.foreground(r.Context(), time.Duration(req.YieldMS)*time.Millisecond); err != nil {
			return nil, err
		}
	}
	res := p.result()
	res.Existed = existed
	if err := p.fill(&res, 0, 0, false); err != nil {
		return nil, err
	}
	return res, p.see(req.Owner, &res)
}

// feed gives a new command its input, as fast as it reads.
func (x *execs) feed(p *proc, r api.ExecRequest) {
	if len(r.Stdin) == 0 && !r.EOF {
		return
	}
	x.srv.lifetime.work.Go(func() {
		ctx, cancel := context.WithCancel(context.Background())
		defer cancel()
		stop := p.stopWith(cancel)
		defer stop()
		err := p.write(ctx, api.WriteRequest{Data: r.Stdin, EOF: r.EOF})
		if err != nil && !errors.Is(err, api.ErrExited) && ctx.Err() == nil {
			slog.Warn("cannot write the input of a command", "command", p.id, "error", err)
		}
	})
}

// stopWith calls cancel at the command's end or the server's.
func (p *proc) stopWith(cancel func()) (stop func()) {
	over := make(chan struct{})
	go func() {
		select {
		case <-p.done:
		case <-p.x.srv.lifetime.done:
		case <-over:
		}
		cancel()
	}()
	return func() { close(over) }
}

// foreground waits for the end, yield at most (0: without limit). A caller that
// went away, or has waited long enough, leaves the command in the background.
func (p *proc) foreground(ctx context.Context, yield time.Duration) error {
	leave := p.follow()
	var late <-chan time.Time
	if yield > 0 {
		t := time.NewTimer(yield)
		defer t.Stop()
		late = t.C
	}
	select {
	case <-p.done:
		leave()
		return nil
	case <-late:
		leave()
		return p.background()
	case <-ctx.Done():
		leave()
		return errors.Join(ctx.Err(), p.background())
	}
}

func (x *execs) handleList(_ http.ResponseWriter, r *http.Request) (any, error) {
	owner, all := r.URL.Query().Get("owner"), boolQuery(r, "all")
	x.mu.Lock()
	var found []*proc
	for _, p := range x.procs {
		found = append(found, p)
	}
	x.mu.Unlock()
	slices.SortFunc(found, func(a, b *proc) int { return strings.Compare(a.id, b.id) })
	out := []api.ExecResult{}
	for _, p := range found {
		res := p.result()
		if (owner == "" || owner == res.Owner) && (all || !res.Status.Ended()) {
			res.Tail = ""
			out = append(out, res)
		}
	}
	return map[string][]api.ExecResult{"processes": out}, nil
}

func (x *execs) handleGet(p *proc, _ http.ResponseWriter, _ *http.Request) (any, error) {
	res := p.result()
	err := x.srv.db.View(func(tx *store.Tx) error {
		d, ok, err := x.book.Delivery(tx, p.id+"/exit")
		if ok {
			res.Delivery = string(d.State)
		}
		return err
	})
	return res, err
}

func (x *execs) handlePoll(p *proc, w http.ResponseWriter, r *http.Request) (any, error) {
	var in api.PollRequest
	if err := readJSON(w, r, &in); err != nil {
		return nil, err
	}
	return p.poll(r.Context(), in)
}

func (x *execs) handleWait(p *proc, w http.ResponseWriter, r *http.Request) (any, error) {
	var in struct {
		Caller    string `json:"caller"`
		TimeoutMS int64  `json:"timeoutMs"`
	}
	if err := readJSON(w, r, &in); err != nil {
		return nil, err
	}
	ctx := r.Context()
	if in.TimeoutMS > 0 {
		limited, cancel := context.WithTimeout(ctx, time.Duration(in.TimeoutMS)*time.Millisecond)
		defer cancel()
		ctx = limited
	}
	leave := p.follow()
	err := p.await(ctx)
	leave()
	if err != nil && r.Context().Err() != nil {
		return nil, err
	}
	res := p.result()
	return res, p.see(in.Caller, &res)
}

func (x *execs) handleLog(p *proc, w http.ResponseWriter, r *http.Request) (any, error) {
	var in api.LogRequest
	if err := readJSON(w, r, &in); err != nil {
		return nil, err
	}
	switch in.Format {
	case "", api.FormatText, api.FormatRaw:
		return p.log(in)
	case api.FormatScreen:
		s, err := x.srv.sessions.find(p.id)
		if err != nil {
			return nil, err
		}
		shown, err := s.screen.peek(api.PeekRequest{Screen: true})
		return api.LogResult{Lines: []api.LogLine{}, Screen: shown.Text}, err
	}
	return nil, fmt.Errorf("%w: format %q (text, raw, screen)", api.ErrRequest, in.Format)
}

func (x *execs) handleWrite(p *proc, w http.ResponseWriter, r *http.Request) (any, error) {
	var in api.WriteRequest
	if err := readJSON(w, r, &in); err != nil {
		return nil, err
	}
	return nil, p.write(r.Context(), in)
}

// write gives the command input.
func (p *proc) write(ctx context.Context, in api.WriteRequest) error {
	s, err := p.input(ctx)
	if err != nil {
		return err
	}
	data := in.Data
	if in.Submit {
		end := byte('\n')
		if !s.rec.Pipes {
			end = '\r'
		}
		data = append(slices.Clone(data), end)
	}
	if err := s.input.send(ctx, data); err != nil {
		return err
	}
	if in.EOF {
		return s.input.close(ctx)
	}
	return nil
}

func (x *execs) handleKeys(p *proc, w http.ResponseWriter, r *http.Request) (any, error) {
	s, err := p.input(r.Context())
	if err != nil {
		return nil, err
	}
	return handleKeys(s, w, r)
}

func (x *execs) handlePaste(p *proc, w http.ResponseWriter, r *http.Request) (any, error) {
	s, err := p.input(r.Context())
	if err != nil {
		return nil, err
	}
	return handlePaste(s, w, r)
}

func (x *execs) handleSignal(p *proc, w http.ResponseWriter, r *http.Request) (any, error) {
	s, err := p.input(r.Context())
	if err != nil {
		return nil, err
	}
	return handleSignal(s, w, r)
}

func (x *execs) handleKill(p *proc, w http.ResponseWriter, r *http.Request) (any, error) {
	var in struct {
		Caller  string `json:"caller"`
		GraceMS *int64 `json:"graceMs"`
	}
	if err := readJSON(w, r, &in); err != nil {
		return nil, err
	}
	grace := execGrace
	if in.GraceMS != nil {
		grace = time.Duration(max(0, *in.GraceMS)) * time.Millisecond
	}
	ctx, done := x.srv.untilDone(r.Context())
	defer done()
	if err := p.end(ctx, process.IntentKill, grace); err != nil {
		return nil, err
	}
	res := p.result()
	return res, p.see(in.Caller, &res)
}

func (x *execs) handleBackground(p *proc, _ http.ResponseWriter, _ *http.Request) (any, error) {
	if err := p.background(); err != nil {
		return nil, err
	}
	return p.result(), nil
}

func (x *execs) handleRemove(p *proc, _ http.ResponseWriter, r *http.Request) (any, error) {
	if boolQuery(r, "kill") {
		ctx, done := x.srv.untilDone(r.Context())
		defer done()
		if err := p.end(ctx, process.IntentKill, execGrace); err != nil {
			return nil, err
		}
	}
	return nil, x.remove(p.id)
}

func (x *execs) handleDeliveries(_ http.ResponseWriter, r *http.Request) (any, error) {
	if boolQuery(r, "away") {
		away, err := x.away()
		return map[string]any{"deliveries": away}, err
	}
	owner, state := r.URL.Query().Get("owner"), r.URL.Query().Get("state")
	out := []api.Delivery{}
	counts := make(map[process.DeliveryState]int)
	err := x.srv.db.View(func(tx *store.Tx) error {
		open, err := x.book.Open(tx)
		if err != nil {
			return err
		}
		settled, err := x.book.Finished(tx)
		for _, d := range append(settled, open...) {
			if owner != "" && d.Owner != owner {
				continue
			}
			counts[d.State]++
			if state == "" || string(d.State) == state {
				out = append(out, d)
			}
		}
		return err
	})
	return map[string]any{"deliveries": out, "counts": counts}, err
}

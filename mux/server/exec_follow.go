package server

import (
	"context"
	"encoding/json"
	"fmt"
	"log/slog"
	"net/http"

	"gascity.dev/gc/internal/process"
	"gascity.dev/gc/mux/api"
)

// followBytes is the output in one line of a stream at most.
const followBytes = 256 << 10

func (x *execs) handleFollow(p *proc, w http.ResponseWriter, r *http.Request) (any, error) {
	var in struct {
		Cursor uint64 `json:"cursor"`
		Caller string `json:"caller"`
	}
	if err := readJSON(w, r, &in); err != nil {
		return nil, err
	}
	if out, err := p.ring(); err == nil && in.Cursor > out.Total() {
		return nil, fmt.Errorf("%w: %w: %d is behind the end at %d", api.ErrRequest, process.ErrCursor, in.Cursor, out.Total())
	}
	p.stream(r.Context(), w, in.Cursor, in.Caller, false)
	return hijacked{}, nil
}

// stream sends what is known of the command, one ExecResult a line: at once,
// with all output from the cursor on as it comes, and at last with the end,
// which is the only line with a status that is one. It goes as fast as the
// caller reads, and so does a command in the foreground.
func (p *proc) stream(ctx context.Context, w http.ResponseWriter, cursor uint64, caller string, existed bool) {
	r := &reader{at: cursor}
	defer p.follow()()
	p.enterReader(r)
	defer p.leaveReader(r)
	w.Header().Set("Content-Type", "application/x-ndjson")
	lines, out := json.NewEncoder(w), http.NewResponseController(w)
	send := func(res api.ExecResult) error {
		res.Existed = existed
		if err := lines.Encode(res); err != nil {
			return err
		}
		return out.Flush()
	}
	if !p.ended() && send(api.ExecResult{ID: p.id, Status: process.Running, Cursor: r.at}) != nil {
		return
	}
	for ctx.Err() == nil {
		news := p.news()
		res, err := p.chunk(r.at)
		if err != nil {
			slog.Warn("cannot read the output of a command", "command", p.id, "error", err)
			return // the caller asks again
		}
		over := res.Status.Ended()
		if over {
			if err := p.see(caller, &res); err != nil {
				slog.Warn("cannot save that the end of a command was seen", "command", p.id, "error", err)
				return
			}
		}
		if over || res.Cursor > r.at {
			if send(res) != nil || over {
				return
			}
			p.tookOutput(r, res.Cursor)
			continue
		}
		select {
		case <-news:
		case <-p.done:
		case <-p.x.srv.lifetime.done:
			return
		case <-ctx.Done():
		}
	}
}

// chunk is the next line of a stream.
func (p *proc) chunk(cursor uint64) (api.ExecResult, error) {
	ended := p.ended() // before the output is read: then all of it is there
	res := api.ExecResult{ID: p.id, Status: process.Running, Cursor: cursor}
	out, err := p.ring()
	if err != nil { // there was no room for any of it; the command goes on
		if ended {
			res = p.result()
			res.Cursor = cursor
		}
		return res, nil
	}
	data, next, missing, err := out.Read(cursor, followBytes)
	if err != nil {
		return res, err
	}
	if ended && next == out.Total() {
		res = p.result()
	}
	res.Data, res.Cursor, res.Missing, res.Truncated = data, next, missing, missing > 0
	return res, nil
}

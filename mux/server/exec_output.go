package server

import (
	"bytes"
	"context"
	"fmt"
	"regexp"
	"strings"
	"time"
	"unicode/utf8"

	"gascity.dev/gc/internal/process"
	"gascity.dev/gc/mux/api"
	"gascity.dev/gc/store"
	"gascity.dev/gc/vt"
)

// Bounds of what one answer holds.
const (
	pollBytes   = 64 << 10
	pollMost    = 1 << 20
	pollWait    = 30 * time.Second
	logLines    = 200
	logMost     = 10_000
	waitingTime = time.Second // of silence after a prompt
	tailLines   = 60
)

// renderer makes plain text of raw lines: what a terminal would show of each,
// so that a progress bar is one line, and no escape sequence is left.
type renderer struct{ t *vt.Terminal }

// line is one line as a person would see it.
func (r *renderer) line(raw []byte) string {
	raw = bytes.TrimSuffix(raw, []byte{'\r'})
	if plain(raw) {
		return string(raw)
	}
	if r.t == nil {
		t, err := vt.New(vt.Options{Cols: vt.MaxCols, Rows: 4, HistoryLines: 100})
		if err != nil {
			return strings.ToValidUTF8(string(raw), "\uFFFD")
		}
		r.t = t
	} else {
		_, _ = r.t.Write([]byte("\x1bc\x1b[3J"))
	}
	_, _ = r.t.Write(raw)
	return strings.ReplaceAll(strings.Trim(r.t.Text(vt.TextOptions{Join: true}), "\n"), "\n", " ")
}

// plain reports whether a line is text that shows as it is.
func plain(raw []byte) bool {
	for _, b := range raw {
		if b < ' ' && b != '\t' || b == 0x7f {
			return false
		}
	}
	return utf8.Valid(raw) && !bytes.ContainsFunc(raw, func(r rune) bool { return r >= 0x80 && r < 0xa0 })
}

// tail is the end of the output as text.
func (p *proc) tail() string {
	r, err := p.ring()
	if err != nil {
		return ""
	}
	page, err := r.Last(tailLines)
	if err != nil {
		return ""
	}
	var text renderer
	var lines []string
	size := 0
	for i := len(page.Lines) - 1; i >= 0 && size < 4*process.MaxTail; i-- {
		if l := page.Lines[i]; l.Missing == 0 {
			s := process.TailOf(text.line(l.Text), process.MaxTail)
			lines = append(lines, s)
			size += len(s)
		}
	}
	for i, j := 0, len(lines)-1; i < j; i, j = i+1, j-1 {
		lines[i], lines[j] = lines[j], lines[i]
	}
	return process.TailOf(strings.Trim(strings.Join(lines, "\n"), "\n"), process.MaxTail)
}

// result is what is known of the command, without output.
func (p *proc) result() api.ExecResult {
	p.mu.Lock()
	r, s, out := p.rec, p.s, p.out
	p.mu.Unlock()
	res := api.ExecResult{
		ID: r.ID, Status: r.Status, Signal: r.Signal, Reason: r.Reason, PID: r.PID, Started: r.Started, Ended: r.Ended,
		DurationMS: r.Duration.Milliseconds(), Cursor: r.Acked, Tail: r.Tail, Command: r.Command, Label: r.Label,
		Owner: r.Owner, CallID: r.CallID, PTY: r.PTY, Background: r.Background,
	}
	if r.Status.Ended() {
		code := r.ExitCode
		res.ExitCode, res.EventID, res.PID = &code, r.EventID(), 0
		return res
	}
	if s == nil {
		return res
	}
	res.DurationMS = p.running().Milliseconds()
	s.mu.Lock()
	silent, held := s.activity.silent(), s.output.held()
	s.mu.Unlock()
	res.IdleMS = silent.Milliseconds()
	res.Waiting = !held && silent >= waitingTime && out != nil && out.OpenLine()
	return res
}

// fill adds the output from a cursor on.
func (p *proc) fill(res *api.ExecResult, cursor uint64, limit int, raw bool) error {
	out, err := p.ring()
	if err != nil { // there was no room for any of it; the command goes on
		res.Cursor, res.Truncated = cursor, !res.Status.Ended()
		return nil
	}
	if limit <= 0 {
		limit = pollBytes
	}
	data, next, missing, err := out.Read(cursor, min(limit, pollMost))
	if err != nil {
		return fmt.Errorf("%w: %w", api.ErrRequest, err)
	}
	if !raw && next < out.Total() { // a character is not cut in two
		n := wholeRunes(data)
		next, data = next-uint64(len(data)-n), data[:n]
	}
	res.Cursor, res.Missing = next, missing
	res.Truncated = missing > 0 || next < out.Total()
	if raw {
		res.Data = data
	} else {
		res.Output = strings.ToValidUTF8(string(data), "\uFFFD")
	}
	if res.Tail == "" && !res.Status.Ended() {
		res.Tail = p.tail()
	}
	return nil
}

// poll waits for something new behind a cursor, or the end.
func (p *proc) poll(ctx context.Context, r api.PollRequest) (api.ExecResult, error) {
	defer p.follow()()
	p.mu.Lock()
	cursor := p.rec.Acked
	p.mu.Unlock()
	if r.Cursor != nil {
		cursor = *r.Cursor
		p.acknowledge(cursor)
	}
	limit := time.NewTimer(min(max(0, time.Duration(r.WaitMS)*time.Millisecond), pollWait))
	defer limit.Stop()
	for {
		news := p.news()
		ended := p.ended() // before the output is read: then all of it is there
		res := p.result()
		if err := p.fill(&res, cursor, r.Bytes, r.Raw); err != nil {
			return res, err
		}
		if res.Cursor > cursor || ended || r.WaitMS <= 0 {
			return res, p.see(r.Caller, &res)
		}
		select {
		case <-news:
		case <-p.done:
		case <-limit.C:
			r.WaitMS = 0
		case <-ctx.Done():
			return res, ctx.Err()
		}
	}
}

// follow counts a caller that waits for the end; it is not counted any more
// when the function that is returned is called.
func (p *proc) follow() func() {
	add := func(n int) {
		p.mu.Lock()
		p.followers += n
		p.mu.Unlock()
	}
	add(1)
	return func() {
		add(-1)
		p.x.wake()
	}
}

// news closes when the command's screen changes.
func (p *proc) news() <-chan struct{} {
	p.mu.Lock()
	s := p.s
	p.mu.Unlock()
	if s == nil {
		return nil
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.change()
}

// acknowledge notes what the owner has. It is written down at the end only: a
// server that died may show output again.
func (p *proc) acknowledge(cursor uint64) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.rec.Acked = max(p.rec.Acked, cursor)
}

// see notes that a caller is shown the end. The owner's own look consumes the
// delivery, in one transaction with everything that may deliver it.
func (p *proc) see(caller string, res *api.ExecResult) error {
	if !res.Status.Ended() || caller != res.Owner || caller == "" {
		return nil
	}
	event := p.id + "/exit"
	p.x.mu.Lock()
	open := p.x.open[event]
	p.x.mu.Unlock()
	p.mu.Lock()
	seen := !p.rec.Seen.IsZero()
	if p.unwritten && !seen {
		p.rec.Seen, seen = p.x.srv.clock.Now(), true // written with the end
	}
	p.mu.Unlock()
	if seen && !open {
		return nil
	}
	var rec process.Record
	err := p.x.srv.db.Batch(func(tx *store.Tx) error {
		var err error
		rec, err = p.x.book.See(tx, p.id, p.x.srv.clock.Now())
		return err
	})
	if err != nil {
		return err
	}
	p.mu.Lock()
	p.rec.Seen = rec.Seen
	p.mu.Unlock()
	p.x.refresh(event)
	p.x.armSweep()
	return nil
}

// log is a page of the output.
func (p *proc) log(r api.LogRequest) (api.LogResult, error) {
	out, err := p.ring()
	if err != nil {
		return api.LogResult{}, err
	}
	limit := min(max(r.Limit, 0), logMost)
	if limit == 0 {
		limit = logLines
	}
	var text renderer
	var keep func(process.Line) bool
	if r.Match != "" {
		re, err := regexp.Compile(r.Match)
		if err != nil {
			return api.LogResult{}, fmt.Errorf("%w: match: %w", api.ErrRequest, err)
		}
		keep = func(l process.Line) bool { return re.MatchString(text.line(l.Text)) }
	}
	var page process.Page
	switch {
	case r.Offset > 0 || r.Match != "":
		page, err = out.Page(r.Offset, limit, keep)
	case r.Tail > 0:
		page, err = out.Last(min(r.Tail, logMost))
	default:
		page, err = out.Last(limit)
	}
	if err != nil {
		return api.LogResult{}, err
	}
	res := api.LogResult{Lines: []api.LogLine{}, Next: page.Next, TotalLines: page.TotalLines, TotalBytes: page.TotalBytes}
	for _, l := range page.Lines {
		line := api.LogLine{N: l.N, Cut: l.Cut, Missing: l.Missing}
		if r.Format == api.FormatRaw {
			line.Data = l.Text
		} else if l.Missing == 0 {
			line.Text = text.line(l.Text)
		}
		res.Lines = append(res.Lines, line)
	}
	if len(res.Lines) > 0 {
		res.First = res.Lines[0].N
	}
	return res, nil
}

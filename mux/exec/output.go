package exec

import (
	"bytes"
	"context"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"sync"
	"time"
	"unicode/utf8"

	"gascity.dev/gc/internal/process"
	"gascity.dev/gc/mux/api"
	"gascity.dev/gc/store"
	"gascity.dev/gc/vt"
)

// Bounds of one answer.
const (
	pollBytes   = 64 << 10
	pollMost    = 1 << 20
	pollWait    = 30 * time.Second
	logLines    = 200
	logMost     = 10_000
	waitingTime = time.Second // of silence after a prompt
	tailLines   = 60
)

// Output keeps the beginning and the end of what a command writes. It is safe
// for concurrent use. A nil Output is never full.
type Output struct {
	ring *process.Ring

	mu    sync.Mutex
	total uint64 // bytes written
	paced bool   // the command waits for its callers
	taken uint64 // their smallest offset
}

// NewOutput returns an output that keeps its bytes in the ring.
func NewOutput(ring *process.Ring) *Output { return &Output{ring: ring, total: ring.Total()} }

// Write adds output at an offset. Bytes that are there already are skipped.
func (o *Output) Write(p []byte, offset uint64) {
	o.ring.Write(p, offset)
	o.mu.Lock()
	defer o.mu.Unlock()
	o.total = max(o.total, offset+uint64(len(p)))
}

// Total is the number of bytes of output so far, kept or not.
func (o *Output) Total() uint64 {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.total
}

// Full reports whether further output must wait in the program because its
// callers lag. drain is set once the program has ended: the limit is then
// higher.
func (o *Output) Full(drain bool) bool {
	if o == nil {
		return false
	}
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.full(drain)
}

// full is Full. mu is held.
func (o *Output) full(drain bool) bool {
	limit := uint64(FlowWindow)
	if drain {
		limit = flowDrain
	}
	return o.paced && o.total >= o.taken+limit
}

// begin makes the program wait for a caller that has not reported its offset: after a
// restart of the server it may lag by a whole window.
func (o *Output) begin() {
	o.ring.SetSpill(process.SpillFront)
	o.mu.Lock()
	defer o.mu.Unlock()
	o.paced, o.taken = true, o.total-min(o.total, FlowWindow)
}

// take notes the callers' offset. It reports whether output was held back.
func (o *Output) take(to uint64, begin bool) (held bool) {
	o.mu.Lock()
	defer o.mu.Unlock()
	held = o.full(false)
	o.taken, o.paced = to, o.paced || begin
	return held
}

// free lets the program write without waiting for callers. It reports whether
// output was held back.
func (o *Output) free() (held bool) {
	o.mu.Lock()
	defer o.mu.Unlock()
	held = o.full(false)
	o.paced = false
	return held
}

// renderer turns raw lines into the text that a terminal would show for each: a
// progress bar is one line, and no escape sequence is left.
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

// plain reports whether a line shows as it is.
func plain(raw []byte) bool {
	for _, b := range raw {
		if b < ' ' && b != '\t' || b == 0x7f {
			return false
		}
	}
	return utf8.Valid(raw) && !bytes.ContainsFunc(raw, func(r rune) bool { return r >= 0x80 && r < 0xa0 })
}

// tail is the end of the output as text.
func (o *Output) tail() string {
	page, err := o.ring.Last(tailLines)
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
	slices.Reverse(lines)
	return process.TailOf(strings.Trim(strings.Join(lines, "\n"), "\n"), process.MaxTail)
}

// page returns lines of the output.
func (o *Output) page(r api.LogRequest) (api.LogResult, error) {
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
	var err error
	switch {
	case r.Offset > 0 || r.Match != "":
		page, err = o.ring.Page(r.Offset, limit, keep)
	case r.Tail > 0:
		page, err = o.ring.Last(min(r.Tail, logMost))
	default:
		page, err = o.ring.Last(limit)
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

// Log returns a page of the output, as text or raw: at most 10,000 lines and about 1 MiB.
// ErrRequest for a bad pattern.
func (cmd *Command) Log(r api.LogRequest) (api.LogResult, error) {
	out, err := cmd.output()
	if err != nil {
		return api.LogResult{}, err
	}
	return out.page(r)
}

// Result is the state of the command, without output.
func (cmd *Command) Result() api.ExecResult {
	cmd.mu.Lock()
	r, s, out := cmd.rec, cmd.session, cmd.out
	cmd.mu.Unlock()
	res := api.ExecResult{
		ID: r.ID, Status: r.Status, Signal: r.Signal, Reason: r.Reason, PID: r.PID, Started: r.Started, Ended: r.Ended,
		Duration: api.Millis(r.Duration), Cursor: r.Acked, Tail: r.Tail, Command: r.Command, Label: r.Label,
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
	res.Duration = api.Millis(cmd.running())
	silent, held := s.Silent()
	res.Idle = api.Millis(silent)
	res.Waiting = !held && silent >= waitingTime && out != nil && out.ring.OpenLine()
	return res
}

// State is Result with the state of the delivery of its end.
func (cmd *Command) State() (api.ExecResult, error) {
	res := cmd.Result()
	err := cmd.c.Host.View(func(tx *store.Tx) error {
		d, ok, err := cmd.c.store.Delivery(tx, eventID(cmd.id))
		if ok {
			res.Delivery = string(d.State)
		}
		return err
	})
	return res, err
}

// fill adds the output from a cursor on.
func (cmd *Command) fill(res *api.ExecResult, cursor uint64, limit int, raw bool) error {
	out, err := cmd.output()
	if err != nil { // no space for any of it; the command continues
		res.Cursor, res.Truncated = cursor, !res.Status.Ended()
		return nil
	}
	if limit <= 0 {
		limit = pollBytes
	}
	data, next, missing, err := out.ring.Read(cursor, min(limit, pollMost))
	if err != nil {
		return fmt.Errorf("%w: %w", api.ErrRequest, err)
	}
	if !raw && next < out.ring.Total() { // a character is not cut in two
		n := wholeRunes(data)
		next, data = next-uint64(len(data)-n), data[:n]
	}
	res.Cursor, res.Missing = next, missing
	res.Truncated = missing > 0 || next < out.ring.Total()
	if raw {
		res.Data = data
	} else {
		res.Output = strings.ToValidUTF8(string(data), "\uFFFD")
	}
	if res.Tail == "" && !res.Status.Ended() {
		res.Tail = out.tail()
	}
	return nil
}

// Poll waits for output after a cursor, or the end, for r.Wait, at most 30 s. ErrRequest
// for a cursor past the end.
func (cmd *Command) Poll(ctx context.Context, r api.PollRequest) (api.ExecResult, error) {
	defer cmd.follow()()
	cursor := cmd.record().Acked
	if r.Cursor != nil {
		cursor = *r.Cursor
		cmd.acknowledge(cursor)
	}
	limit := time.NewTimer(min(max(0, time.Duration(r.Wait)), pollWait))
	defer limit.Stop()
	for {
		news := cmd.changed()
		ended := cmd.ended() // checked before the output is read, so that all of it is there
		res := cmd.Result()
		if err := cmd.fill(&res, cursor, r.Bytes, r.Raw); err != nil {
			return res, err
		}
		if res.Cursor > cursor || ended || r.Wait <= 0 {
			return res, cmd.see(r.Caller, &res)
		}
		select {
		case <-news:
		case <-cmd.done:
		case <-limit.C:
			r.Wait = 0
		case <-ctx.Done():
			return res, ctx.Err()
		}
	}
}

// changed is closed when the command's screen changes; nil without a session.
func (cmd *Command) changed() <-chan struct{} {
	cmd.mu.Lock()
	s := cmd.session
	cmd.mu.Unlock()
	if s == nil {
		return nil
	}
	return s.Changed()
}

// acknowledge notes what the owner has received. It is saved only with the end,
// so after a crash output may be sent again.
func (cmd *Command) acknowledge(cursor uint64) {
	cmd.mu.Lock()
	defer cmd.mu.Unlock()
	cmd.rec.Acked = max(cmd.rec.Acked, cursor)
}

// see notes that a caller is shown the end. If the caller is the owner, that
// consumes the delivery, in one transaction with anything that may deliver it.
func (cmd *Command) see(caller string, res *api.ExecResult) error {
	if !res.Status.Ended() || caller != res.Owner || caller == "" {
		return nil
	}
	c := cmd.c
	open := c.completions.isOpen(eventID(cmd.id))
	cmd.mu.Lock()
	seen := !cmd.rec.Seen.IsZero()
	if cmd.unsaved && !seen {
		cmd.rec.Seen, seen = c.Now(), true // saved with the end
	}
	cmd.mu.Unlock()
	if seen && !open {
		return nil
	}
	var rec process.Record
	err := c.Host.Tx(func(tx *store.Tx) (err error) {
		rec, err = c.store.See(tx, cmd.id, c.Now())
		return err
	})
	if err != nil {
		return err
	}
	cmd.mu.Lock()
	cmd.rec.Seen = rec.Seen
	cmd.mu.Unlock()
	c.completions.refresh(eventID(cmd.id))
	c.collector.soon()
	return nil
}

// wholeRunes returns the length of p without an incomplete last character.
func wholeRunes(p []byte) int {
	for i := 1; i < utf8.UTFMax && i <= len(p); i++ {
		if b := p[len(p)-i]; utf8.RuneStart(b) {
			if b >= utf8.RuneSelf && !utf8.FullRune(p[len(p)-i:]) {
				return len(p) - i
			}
			break
		}
	}
	return len(p)
}

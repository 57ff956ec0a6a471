package exec

import (
	"context"
	"fmt"
	"log/slog"

	"gascity.dev/gc/internal/process"
	"gascity.dev/gc/mux/api"
)

// followBytes is the most output in one result of [Command.Follow].
const followBytes = 256 << 10

// Follow calls send with the state of the command: at once, then with all
// output from the cursor on as it arrives, and finally with the end, the only
// result whose status is final. A slow send slows down a foreground command.
// Follow ends early if send fails, or with ctx or the server; the caller may
// then follow again. The error is ErrRequest for a cursor past the end.
func (cmd *Command) Follow(ctx context.Context, cursor uint64, caller string, send func(api.ExecResult) error) error {
	if out, err := cmd.output(); err == nil && cursor > out.ring.Total() {
		return fmt.Errorf("%w: %w: %d is behind the end at %d", api.ErrRequest, process.ErrCursor, cursor, out.ring.Total())
	}
	r := &reader{at: cursor}
	defer cmd.follow()()
	cmd.readers.enter(r)
	defer cmd.readers.leave(r)
	if !cmd.ended() && send(api.ExecResult{ID: cmd.id, Status: process.Running, Cursor: r.at}) != nil {
		return nil
	}
	for ctx.Err() == nil {
		news := cmd.changed()
		res, err := cmd.chunk(r.at)
		if err != nil {
			slog.Warn("cannot read the output of a command", "command", cmd.id, "error", err)
			return nil
		}
		ended := res.Status.Ended()
		if ended {
			if err := cmd.see(caller, &res); err != nil {
				slog.Warn("cannot save that the end of a command was seen", "command", cmd.id, "error", err)
				return nil
			}
		}
		if ended || res.Cursor > r.at {
			if send(res) != nil || ended {
				return nil
			}
			cmd.readers.took(r, res.Cursor)
			continue
		}
		select {
		case <-news:
		case <-cmd.done:
		case <-cmd.c.Done:
			return nil
		case <-ctx.Done():
		}
	}
	return nil
}

// chunk is the next result of [Command.Follow].
func (cmd *Command) chunk(cursor uint64) (api.ExecResult, error) {
	ended := cmd.ended() // checked before the output is read, so that all of it is there
	res := api.ExecResult{ID: cmd.id, Status: process.Running, Cursor: cursor}
	out, err := cmd.output()
	if err != nil { // no space for any of it; the command continues
		if ended {
			res = cmd.Result()
			res.Cursor = cursor
		}
		return res, nil
	}
	data, next, missing, err := out.ring.Read(cursor, followBytes)
	if err != nil {
		return res, err
	}
	if ended && next == out.ring.Total() {
		res = cmd.Result()
	}
	res.Data, res.Cursor, res.Missing, res.Truncated = data, next, missing, missing > 0
	return res, nil
}

package keeper

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"
	"syscall"
	"time"

	"gascity.dev/gc/mux/api"
	"gascity.dev/gc/mux/internal/statedir"
	"golang.org/x/sys/unix"
)

// StartTimeout is how long Start waits for the new server.
const StartTimeout = 20 * time.Second

// Start starts a keeper and its server with the held lock and waits until the
// server serves. The error includes the server's output.
func Start(ctx context.Context, p api.Paths, version string, lock *os.File) error {
	r, w, err := os.Pipe()
	if err != nil {
		return fmt.Errorf("%w: %w", api.ErrStart, err)
	}
	defer r.Close()
	err = Launch(p, lock, w, "detach", p.Dir, p.Socket, version)
	w.Close()
	if err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(ctx, StartTimeout)
	defer cancel()
	stop := context.AfterFunc(ctx, func() { _ = r.SetReadDeadline(time.Now()) })
	defer stop()
	b, err := io.ReadAll(io.LimitReader(r, 64<<10))
	if err != nil && ctx.Err() != nil {
		return fmt.Errorf("%w: %w", api.ErrStart, ctx.Err())
	}
	text := string(b)
	if text == "ready" {
		return nil
	}
	if why, ok := strings.CutPrefix(text, "error: "); ok {
		return fmt.Errorf("%w: %s", api.ErrStart, why)
	}
	return fmt.Errorf("%w: it ended at once; see %s", api.ErrStart, p.Log())
}

// Launch runs the detaching stage of a keeper with the descriptor w and waits
// until that stage has ended.
func Launch(p api.Paths, lock, w *os.File, args ...string) error {
	log, err := statedir.OpenLog(p)
	if err != nil {
		return err
	}
	defer log.Close()
	null, err := os.OpenFile(os.DevNull, os.O_RDWR, 0)
	if err != nil {
		return fmt.Errorf("%w: %w", api.ErrStart, err)
	}
	defer null.Close()
	files := []uintptr{null.Fd(), null.Fd(), log.Fd(), lock.Fd(), w.Fd()}
	image := ownProgram()
	if image.fd >= 0 {
		defer unix.Close(image.fd)
	}
	argv := append([]string{Name, Mark}, args...)
	pid, err := image.start(argv, files, nil, &syscall.SysProcAttr{Setsid: true})
	if err != nil {
		return fmt.Errorf("%w: %w", api.ErrStart, err)
	}
	for {
		var ws unix.WaitStatus
		_, err := unix.Wait4(pid, &ws, 0, nil)
		if errors.Is(err, unix.EINTR) {
			continue
		}
		if err != nil || ws.ExitStatus() != 0 {
			return fmt.Errorf("%w: the keeper's first stage ended with status %d (%v); see %s", api.ErrStart, ws.ExitStatus(), err, p.Log())
		}
		return nil
	}
}

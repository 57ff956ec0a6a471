package client

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"time"

	"golang.org/x/sys/unix"

	"gascity.dev/gc/internal/sockpath"
	"gascity.dev/gc/mux/api"
	"gascity.dev/gc/mux/internal/sys"
)

// ReportOnce is [Client.Report] for a process that ends then: an agent may wait for it. It
// makes one exchange of at most limit with a running server, on one thread; BenchmarkReport
// shows what that saves.
func ReportOnce(p api.Paths, r api.ReportRequest, limit time.Duration) (out api.ReportResult, err error) {
	reply, err := exchange(p.Socket, r, limit, true)
	if errors.Is(err, api.ErrForeign) {
		return out, err
	} else if err != nil {
		return out, fmt.Errorf("%w: %w", api.ErrUnreachable, err)
	}
	resp, err := http.ReadResponse(bufio.NewReader(bytes.NewReader(reply)), nil)
	if err != nil {
		return out, fmt.Errorf("%w: %w", api.ErrUnreachable, err)
	}
	defer resp.Body.Close()
	if resp.StatusCode/100 != 2 {
		return out, replyError(resp)
	}
	if err := json.NewDecoder(resp.Body).Decode(&out); err != nil {
		return out, fmt.Errorf("%w: %w", api.ErrUnreachable, err)
	}
	return out, nil
}

// Tell is ReportOnce without the result.
func Tell(p api.Paths, r api.ReportRequest, limit time.Duration) error {
	_, err := exchange(p.Socket, r, limit, false)
	return err
}

// exchange sends a report and returns the reply, up to 64 KiB, or its start unless whole is
// set. Each step takes at most limit.
func exchange(socket string, r api.ReportRequest, limit time.Duration, whole bool) (reply []byte, err error) {
	body, err := json.Marshal(r)
	if err != nil {
		return nil, fmt.Errorf("%w: %w", api.ErrRequest, err)
	}
	request := fmt.Appendf(nil, "POST /v1/report HTTP/1.1\r\nHost: %s\r\nContent-Type: application/json\r\nContent-Length: %d\r\nConnection: close\r\n\r\n%s", host, len(body), body)
	fd, err := unix.Socket(unix.AF_UNIX, unix.SOCK_STREAM, 0)
	if err != nil {
		return nil, err
	}
	defer unix.Close(fd)
	unix.CloseOnExec(fd)
	until := unix.NsecToTimeval(limit.Nanoseconds())
	for _, option := range []int{unix.SO_SNDTIMEO, unix.SO_RCVTIMEO} {
		if err := unix.SetsockoptTimeval(fd, unix.SOL_SOCKET, option, &until); err != nil {
			return nil, err
		}
	}
	err = sockpath.With(socket, func(addr string) error {
		return uninterrupted(func() error { return unix.Connect(fd, &unix.SockaddrUnix{Name: addr}) })
	})
	if err != nil {
		return nil, err
	}
	if err := sys.CheckPeerFD(fd); err != nil {
		return nil, err
	}
	for len(request) > 0 {
		err := uninterrupted(func() error {
			n, err := unix.Write(fd, request)
			request = request[max(n, 0):]
			return err
		})
		if err != nil {
			return nil, err
		}
	}
	for part := make([]byte, 4096); len(reply) < 64<<10; {
		n := 0
		err := uninterrupted(func() error {
			n, err = unix.Read(fd, part)
			return err
		})
		if err != nil || n == 0 {
			return reply, err
		}
		if reply = append(reply, part[:n]...); !whole {
			break
		}
	}
	return reply, nil
}

// uninterrupted repeats a call that a signal interrupts: one with a time limit is not
// restarted by the kernel.
func uninterrupted(call func() error) error {
	for {
		if err := call(); !errors.Is(err, unix.EINTR) {
			return err
		}
	}
}

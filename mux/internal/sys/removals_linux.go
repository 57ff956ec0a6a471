package sys

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"os"
	"slices"

	"golang.org/x/sys/unix"
)

// Dup2 makes to a copy of from, close-on-exec.
func Dup2(from, to int) error {
	flags := unix.O_CLOEXEC
	if to <= 2 {
		flags = 0
	}
	return unix.Dup3(from, to, flags)
}

// removals watches for the removal of directories, and of certain files in
// them.
type removals struct {
	f     *os.File
	names []string
}

// WatchRemovals watches the directories. The watch may be used, and may be nil,
// even with an error.
func WatchRemovals(names []string, dirs ...string) (*removals, error) {
	fd, err := unix.InotifyInit1(unix.IN_NONBLOCK | unix.IN_CLOEXEC)
	if err != nil {
		return nil, fmt.Errorf("watch the state directory: %w", err)
	}
	w := &removals{os.NewFile(uintptr(fd), "inotify"), names}
	for _, dir := range slices.Compact(dirs) {
		_, err := unix.InotifyAddWatch(fd, dir, unix.IN_DELETE|unix.IN_MOVED_FROM|unix.IN_DELETE_SELF|unix.IN_MOVE_SELF|unix.IN_ONLYDIR)
		if err != nil {
			return w, &os.PathError{Op: "watch", Path: dir, Err: err}
		}
	}
	return w, nil
}

// Wait returns when something was removed, or done is closed.
func (w *removals) Wait(done <-chan struct{}) {
	over := make(chan struct{})
	go func() {
		defer close(over)
		buf := make([]byte, 4096)
		for {
			n, err := w.f.Read(buf)
			if err != nil || w.removed(buf[:n]) {
				return
			}
		}
	}()
	select {
	case <-over:
	case <-done:
		w.f.Close()
		<-over
	}
}

// removed reads events: struct inotify_event of inotify(7).
func (w *removals) removed(b []byte) bool {
	for len(b) >= unix.SizeofInotifyEvent {
		mask := binary.NativeEndian.Uint32(b[4:])
		end := unix.SizeofInotifyEvent + int(binary.NativeEndian.Uint32(b[12:]))
		name := string(bytes.TrimRight(b[unix.SizeofInotifyEvent:min(end, len(b))], "\x00"))
		if mask&(unix.IN_DELETE_SELF|unix.IN_MOVE_SELF|unix.IN_Q_OVERFLOW|unix.IN_IGNORED|unix.IN_UNMOUNT) != 0 || slices.Contains(w.names, name) {
			return true
		}
		b = b[min(end, len(b)):]
	}
	return false
}

func (w *removals) Close() {
	if w != nil {
		w.f.Close()
	}
}

package api

import (
	"errors"
	"net"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
)

func TestSocketOnALongPath(t *testing.T) {
	dir := filepath.Join(t.TempDir(), strings.Repeat("long/", 40))
	if err := os.MkdirAll(dir, 0o700); err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(dir, "controller.sock")
	ln, err := listenUnix(path)
	if err != nil {
		t.Fatal(err)
	}
	st, err := os.Stat(path)
	if err != nil || st.Mode().Perm() != 0o600 {
		t.Errorf("socket %v, %v", st, err)
	}
	go func() {
		if c, err := ln.Accept(); err == nil {
			c.Write([]byte("x"))
			c.Close()
		}
	}()
	c, err := dialUnix(t.Context(), path)
	if err != nil {
		t.Fatal(err)
	}
	if n, err := c.Read(make([]byte, 1)); n != 1 || err != nil {
		t.Errorf("read %d, %v", n, err)
	}
	c.Close()
	ln.Close()
	if _, err := os.Stat(path); !errors.Is(err, os.ErrNotExist) {
		t.Error("the socket is left")
	}
}

// TestDialError: each reason for a failed dial has its own error.
func TestDialError(t *testing.T) {
	for errno, want := range map[syscall.Errno]error{
		syscall.ENOENT: ErrNoController, syscall.ECONNREFUSED: ErrNoController, syscall.EACCES: ErrAnotherUser,
	} {
		err := dialError("/town", &net.OpError{Op: "dial", Err: os.NewSyscallError("connect", errno)})
		if !errors.Is(err, want) {
			t.Errorf("%v: %v, want %v", errno, err, want)
		}
	}
}

// TestStopOfAControllerThatEnds: a controller that ends without an answer, as it does when
// another stop was first, is none.
func TestStopOfAControllerThatEnds(t *testing.T) {
	dir := t.TempDir()
	if err := os.MkdirAll(StateDir(dir), 0o700); err != nil {
		t.Fatal(err)
	}
	ln, err := listenUnix(SocketPath(dir))
	if err != nil {
		t.Fatal(err)
	}
	go func() {
		for {
			conn, err := ln.Accept()
			if err != nil {
				return
			}
			_, _ = conn.Read(make([]byte, 1)) // the rest is unread, so that closing resets
			conn.Close()
		}
	}()
	defer ln.Close()
	c, err := Dial(dir)
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	if err := c.Stop(t.Context(), StopRequest{}); !errors.Is(err, ErrNoController) {
		t.Errorf("stop: %v", err)
	}
}

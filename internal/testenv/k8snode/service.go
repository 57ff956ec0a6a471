//go:build linux

package k8snode

import (
	"context"
	"io"
	"net"
	"strconv"
	"strings"
	"sync"
)

// service is the address of the API server for programs in pods, as kube-proxy gives it: an
// address of this machine, and connections that are passed on.
type service struct {
	listener net.Listener
	api      string
	running  sync.WaitGroup

	mu     sync.Mutex
	open   map[net.Conn]bool
	closed bool
}

// serve adds the address and accepts its connections.
func serve(ctx context.Context, apiPort int) (*service, error) {
	if err := removeServiceAddress(ctx); err != nil { // of a test that was killed
		return nil, err
	}
	if _, err := output(ctx, "", "ip", "address", "add", serviceAddress+"/32", "dev", "lo"); err != nil {
		return nil, err
	}
	l, err := net.Listen("tcp", net.JoinHostPort(serviceAddress, "443"))
	if err != nil {
		return nil, err
	}
	s := &service{listener: l, api: net.JoinHostPort("127.0.0.1", strconv.Itoa(apiPort)), open: map[net.Conn]bool{}}
	s.running.Go(func() {
		for {
			c, err := l.Accept()
			if err != nil {
				return // it was closed
			}
			s.running.Go(func() { s.pass(c) })
		}
	})
	return s, nil
}

// pass connects the client with the API server until one of them closes.
func (s *service) pass(client net.Conn) {
	server, err := net.Dial("tcp", s.api)
	if err != nil {
		_ = client.Close() // the client sees the end
		return
	}
	ends := []net.Conn{client, server}
	s.mu.Lock()
	for _, c := range ends {
		if s.open[c] = true; s.closed {
			_ = c.Close()
		}
	}
	s.mu.Unlock()
	var both sync.WaitGroup
	for i, from := range ends {
		to := ends[1-i]
		both.Go(func() {
			_, _ = io.Copy(to, from) // each end sees the end of the other
			_ = to.Close()
			_ = from.Close()
		})
	}
	both.Wait()
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, c := range ends {
		delete(s.open, c)
	}
}

// close ends the connections and removes the address.
func (s *service) close() error {
	s.drop()
	return removeServiceAddress(context.Background())
}

// drop ends the connections, as the end of this process does.
func (s *service) drop() {
	_ = s.listener.Close() // nothing waits in it
	s.mu.Lock()
	s.closed = true
	for c := range s.open {
		_ = c.Close()
	}
	s.mu.Unlock()
	s.running.Wait()
}

func removeServiceAddress(ctx context.Context) error {
	list, err := output(ctx, "", "ip", "-o", "address", "show", "dev", "lo")
	if err != nil || !strings.Contains(list, " "+serviceAddress+"/32 ") {
		return err
	}
	_, err = output(ctx, "", "ip", "address", "delete", serviceAddress+"/32", "dev", "lo")
	return err
}

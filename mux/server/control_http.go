package server

import (
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"

	"gascity.dev/gc/mux/api"
	"gascity.dev/gc/mux/internal/endpoint"
)

// handleControl makes the connection one to the program's control socket.
func handleControl(s *session, w http.ResponseWriter, r *http.Request) (any, error) {
	if s.rec.Control == nil { // before the complaint about the request
		return nil, fmt.Errorf("%s: %w", s.name(), api.ErrNoControl)
	}
	if !strings.EqualFold(r.Header.Get("Upgrade"), api.ControlProtocol) {
		return nil, fmt.Errorf("%w: control requires the header Upgrade: %s", api.ErrRequest, api.ControlProtocol)
	}
	program, err := s.dialControl(r.Context())
	if err != nil {
		return nil, err
	}
	defer program.Close()
	client, buffered, err := http.NewResponseController(w).Hijack()
	if err != nil {
		return nil, err
	}
	defer client.Close()
	_, err = io.WriteString(client, "HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: "+api.ControlProtocol+"\r\n\r\n")
	if err == nil {
		relay(client, buffered, program)
	}
	return endpoint.Hijacked{}, nil
}

// relay copies both ways until both directions have ended, or one has failed. The end
// of one direction is passed on. in is what is read from the client.
func relay(client net.Conn, in io.Reader, program net.Conn) {
	back := make(chan struct{})
	go func() {
		defer close(back)
		pass(client, program, program)
	}()
	pass(program, in, client)
	<-back
}

// pass copies from in, which reads from source, to dest until the end, and passes that on.
func pass(dest net.Conn, in io.Reader, source net.Conn) {
	_, err := io.Copy(dest, in)
	if half, ok := dest.(interface{ CloseWrite() error }); ok && err == nil {
		err = half.CloseWrite()
	} else if err == nil {
		err = errors.ErrUnsupported
	}
	if err != nil { // nothing more can be passed on
		dest.Close()
		source.Close()
	}
}

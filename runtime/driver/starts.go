package driver

import (
	"errors"
	"fmt"
	"sync"

	"gascity.dev/gc/runtime"
)

// Starts allows one Start of a name at a time, for a provider. The zero value is
// ready to use; safe for concurrent use.
type Starts struct {
	mu    sync.Mutex
	names map[string]bool
}

// Hold reserves the name until release is called. ok is false if it is reserved
// already; there is nothing to release then.
func (s *Starts) Hold(name string) (release func(), ok bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.names[name] {
		return nil, false
	}
	if s.names == nil {
		s.names = map[string]bool{}
	}
	s.names[name] = true
	return func() {
		s.mu.Lock()
		delete(s.names, name)
		s.mu.Unlock()
	}, true
}

// Start is the frame of every provider's Start. look returns nil if a session of
// the name runs, and ErrSessionNotFound if none does. begin starts one and reports
// whether it made anything; if it fails before that and a session runs, another
// process was faster, and the error also matches ErrSessionExists.
func (s *Starts) Start(name string, look func() error, begin func() (made bool, err error)) error {
	if err := runtime.CheckName(name); err != nil {
		return fmt.Errorf("start: %w", err)
	}
	release, ok := s.Hold(name)
	if !ok {
		return fmt.Errorf("start %s: %w", name, runtime.ErrSessionExists)
	}
	defer release()
	err := look()
	switch {
	case err == nil:
		err = runtime.ErrSessionExists
	case errors.Is(err, runtime.ErrSessionNotFound):
		var made bool
		made, err = begin()
		if err != nil && !made && !errors.Is(err, runtime.ErrSessionExists) && look() == nil {
			err = fmt.Errorf("%w: %w", runtime.ErrSessionExists, err)
		}
	}
	if err != nil {
		return fmt.Errorf("start %s: %w", name, err)
	}
	return nil
}

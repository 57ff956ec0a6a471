// Package commands runs the commands that an agent asks for, each in a process group of
// its own, and keeps the end of what they print.
//
// Its invariant: after Close no command runs. What a command left in the background ends
// with the session. It owns no policy: whether the agent may is decided before. Only the
// host of an ACP agent uses it.
package commands

import (
	"errors"
	"fmt"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"time"

	"gascity.dev/gc/internal/shell"
)

// Limits.
const (
	MaxOutput = 1 << 20 // bytes that are kept of one command's output
	MaxOpen   = 32      // commands that are not released
)

const (
	maxLine  = 16 << 10               // of a command: a person can read it
	killTime = 2 * time.Second        // between SIGTERM and SIGKILL
	pipeTime = 500 * time.Millisecond // for output of processes that outlive the command
)

// Errors of Start and Get.
var (
	ErrOutside = errors.New("the directory is not below the work directory")
	ErrTooMany = fmt.Errorf("%d commands are open; release one", MaxOpen)
	ErrUnknown = errors.New("no such command")
)

// Spec is a command to run.
type Spec struct {
	Command string   // a shell command line; with Args: a program
	Args    []string // nil: Command is a line
	Env     []string // NAME=VALUE, after the set's
	Dir     string   // absolute; "": the set's
	Limit   int64    // bytes of output to keep; 0 or too many: MaxOutput
}

// Line is the command as a shell command line, with the variables that it sets.
func (s Spec) Line() string {
	var words []string
	for _, kv := range s.Env {
		name, value, _ := strings.Cut(kv, "=")
		words = append(words, name+"="+shell.Word(value))
	}
	if s.Args == nil {
		return strings.Join(append(words, s.Command), " ")
	}
	words = append(words, shell.Word(s.Command))
	for _, arg := range s.Args {
		words = append(words, shell.Word(arg))
	}
	return strings.Join(words, " ")
}

// Set holds the commands of one agent. It is for one goroutine; its commands may be used
// by any.
type Set struct {
	dir   string
	env   []string
	attr  func() *syscall.SysProcAttr
	open  map[string]*Command
	count int
}

// NewSet returns a set of commands that run below dir, which is absolute. attr makes
// each command the leader of a process group.
func NewSet(dir string, env []string, attr func() *syscall.SysProcAttr) *Set {
	return &Set{dir: dir, env: env, attr: attr, open: map[string]*Command{}}
}

// Check reports why a command would not be started.
func (s *Set) Check(spec Spec) error {
	if len(s.open) >= MaxOpen {
		return ErrTooMany
	}
	if n := len(spec.Line()); spec.Command == "" || n > maxLine {
		return fmt.Errorf("the command is empty, or has more than %d bytes", maxLine)
	}
	for _, kv := range spec.Env {
		if name, _, _ := strings.Cut(kv, "="); name == "" || strings.ContainsFunc(name, unusual) {
			return fmt.Errorf("%q is not the name of a variable", name)
		}
	}
	_, err := s.place(spec.Dir)
	return err
}

func unusual(r rune) bool {
	return r != '_' && (r < '0' || r > '9') && (r < 'A' || r > 'Z') && (r < 'a' || r > 'z')
}

// place returns the directory of a command, links resolved.
func (s *Set) place(dir string) (string, error) {
	if dir == "" {
		return s.dir, nil
	}
	if !filepath.IsAbs(dir) {
		return "", ErrOutside
	}
	root, err := filepath.EvalSymlinks(s.dir)
	if err != nil {
		return "", err
	}
	if dir, err = filepath.EvalSymlinks(dir); err != nil {
		return "", err
	}
	if rel, err := filepath.Rel(root, dir); err != nil || !filepath.IsLocal(rel) {
		return "", ErrOutside
	}
	return dir, nil
}

// Start starts a command and returns its id.
func (s *Set) Start(spec Spec) (id string, err error) {
	if err := s.Check(spec); err != nil {
		return "", err
	}
	dir, err := s.place(spec.Dir)
	if err != nil {
		return "", err
	}
	limit := int(min(max(spec.Limit, 0), MaxOutput))
	if limit == 0 {
		limit = MaxOutput
	}
	c := &Command{out: tail{limit: limit}, done: make(chan struct{})}
	if c.cmd = exec.Command(spec.Command, spec.Args...); spec.Args == nil {
		c.cmd = exec.Command("/bin/sh", "-c", spec.Command)
	}
	c.cmd.Dir, c.cmd.Env = dir, append(s.env[:len(s.env):len(s.env)], spec.Env...)
	c.cmd.Stdout, c.cmd.Stderr = &c.out, &c.out
	c.cmd.SysProcAttr, c.cmd.WaitDelay = s.attr(), pipeTime
	if err := c.cmd.Start(); err != nil {
		return "", err
	}
	go func() {
		_ = c.cmd.Wait() // the state says how it ended
		close(c.done)
	}()
	s.count++
	id = "gc-" + strconv.Itoa(s.count)
	s.open[id] = c
	return id, nil
}

// Get returns a command that was not released.
func (s *Set) Get(id string) (*Command, error) {
	c := s.open[id]
	if c == nil {
		return nil, ErrUnknown
	}
	return c, nil
}

// Release kills a command and forgets it.
func (s *Set) Release(id string) error {
	c, err := s.Get(id)
	if err != nil {
		return err
	}
	delete(s.open, id)
	c.signal(syscall.SIGKILL)
	return nil
}

// Close kills and forgets every command, and waits for their ends.
func (s *Set) Close() {
	for id, c := range s.open {
		delete(s.open, id)
		c.signal(syscall.SIGKILL)
		<-c.done
	}
}

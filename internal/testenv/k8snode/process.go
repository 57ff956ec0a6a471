//go:build linux

package k8snode

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
)

// process is one program of the node.
type process struct {
	cmd  *exec.Cmd
	done chan struct{} // closed when it has ended and was reaped
}

// Run starts one of the node's programs. Its output is in a log of its name.
func (n *Node) Run(program string) error {
	if n.running[program] != nil {
		return fmt.Errorf("%s already runs", program)
	}
	argv := n.command(program)
	if argv == nil {
		return fmt.Errorf("a node has no program %q", program)
	}
	log, err := os.OpenFile(n.log(program), os.O_CREATE|os.O_WRONLY|os.O_APPEND, 0o600)
	if err != nil {
		return err
	}
	defer log.Close()
	cmd := exec.Command(argv[0], argv[1:]...)
	cmd.Env = []string{"PATH=" + os.Getenv("PATH") + ":/usr/sbin:/sbin", "HOME=" + n.dir, "ETCD_UNSUPPORTED_ARCH=" + os.Getenv("ETCD_UNSUPPORTED_ARCH")}
	cmd.Stdout, cmd.Stderr = log, log
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
	if err := cmd.Start(); err != nil {
		return err
	}
	p := &process{cmd: cmd, done: make(chan struct{})}
	go func() {
		_ = cmd.Wait() // whoever waits for the node sees what is missing
		close(p.done)
	}()
	n.running[program] = p
	return n.remember(cmd.Process.Pid)
}

// Kill ends one of the node's programs, as a crash does, and returns when it is
// gone. Containers outlive the kubelet and containerd. Nothing happens if it
// does not run.
func (n *Node) Kill(program string) {
	p := n.running[program]
	if p == nil {
		return
	}
	_ = p.cmd.Process.Kill() // fails only for an ended process
	<-p.done
	delete(n.running, program)
}

// Pause stops one of the node's programs, so that it answers nobody and loses nothing.
// resume undoes it.
func (n *Node) Pause(program string) (resume func(), err error) {
	p := n.running[program]
	if p == nil {
		return nil, fmt.Errorf("%s does not run", program)
	}
	if err := p.cmd.Process.Signal(syscall.SIGSTOP); err != nil {
		return nil, err
	}
	return func() { _ = p.cmd.Process.Signal(syscall.SIGCONT) }, nil // fails only for an ended process
}

// Pids returns the processes of the node's programs.
func (n *Node) Pids() []int {
	var pids []int
	for _, p := range n.running {
		pids = append(pids, p.cmd.Process.Pid)
	}
	return pids
}

func (n *Node) log(program string) string { return filepath.Join(n.dir, program+".log") }

// explain adds to an error which programs have ended, with their last words.
func (n *Node) explain(err error) error {
	for program, p := range n.running {
		select {
		case <-p.done:
			err = errors.Join(err, fmt.Errorf("%s ended (%v): %s", program, p.cmd.ProcessState, n.Log(program, 8)))
		default:
		}
	}
	return err
}

// Log returns the last lines that a program wrote.
func (n *Node) Log(program string, lines int) string {
	data, err := os.ReadFile(n.log(program))
	if err != nil {
		return err.Error()
	}
	all := strings.Split(string(bytes.TrimSpace(data)), "\n")
	return strings.Join(all[max(0, len(all)-lines):], "\n")
}

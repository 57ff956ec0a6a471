//go:build unix

package attach

import (
	"testing"

	"golang.org/x/sys/unix"
	"golang.org/x/term"

	"gascity.dev/gc/mux/internal/persontest"
)

// unread returns what the next program of the terminal would read.
func unread(p *persontest.Person) string {
	p.T.Helper()
	fd := int(p.Tty.Fd())
	state, err := term.MakeRaw(fd) // without lines
	if err != nil {
		p.T.Fatal(err)
	}
	defer term.Restore(fd, state)
	fds := []unix.PollFd{{Fd: int32(fd), Events: unix.POLLIN}}
	if n, _ := unix.Poll(fds, 0); n == 0 {
		return ""
	}
	var b [4096]byte
	n, _ := unix.Read(fd, b[:])
	return string(b[:n])
}

// patient makes attachments wait for answers longer than the test does.
func patient(t *testing.T) {
	was, late := answerTime, lateAnswerTime
	answerTime, lateAnswerTime = 10*persontest.Patience, 10*persontest.Patience
	t.Cleanup(func() { answerTime, lateAnswerTime = was, late })
}

// TestAttachLateAnswers: answers that come after the detach keys reach neither the program
// nor the shell.
func TestAttachLateAnswers(t *testing.T) {
	patient(t)
	_, c, p, r := attachDemo(t, nil)
	p.Types("\x02d")
	if got := c.rest(); got != "" { // gc has left the session by now
		t.Errorf("the session got %q", got)
	}
	p.Types("\x1b[?2004;1$y\x1b[?0u\x1bP1$r1 q\x1b\\")
	p.Types("\x1bP2$u9/17\x1b\\\x1bP>|XTerm(390)\x1b\\" + pictureReply + ";OK\x1b\\")
	p.Types("\x1b]10;rgb:ffff/ffff/ffff\x1b\\\x1b]11;rgb:0000/0000/0000\x1b\\")
	p.Types("\x1b[?62;22c")
	r.want(Detached)
	p.CheckRestored()
	if got := unread(p); got != "" {
		t.Errorf("the shell gets %q", got)
	}
	p.Sees("\x1b[?2004h") // the mode that the terminal had
}

// TestAttachLateImageAnswers: nor do answers to a program's images, for which the terminal is
// asked once more.
func TestAttachLateImageAnswers(t *testing.T) {
	patient(t)
	_, c, p, r := attachDemo(t, nil)
	p.Types("\x1b[?62;22c")
	c.raw("\x1b_Ga=T,f=24,i=7,s=1,v=1;AAAA\x1b\\shown")
	p.Shows("shown")
	p.Forget()
	p.Types("\x02d")
	if got := c.rest(); got != "" {
		t.Errorf("the session got %q", got)
	}
	p.Sees("\x1b_Ga=d,d=a,q=2\x1b\\\x1b[c")
	p.Types("\x1b_Gi=7;OK\x1b\\")
	p.Types("\x1b[?62;22c")
	r.want(Detached)
	p.CheckRestored()
	if got := unread(p); got != "" {
		t.Errorf("the shell gets %q", got)
	}
}

// TestAttachNoAnswers: at a terminal that answers nothing, a key ends the wait.
func TestAttachNoAnswers(t *testing.T) {
	patient(t)
	_, c, p, r := attachDemo(t, nil)
	p.Types("\x02d")
	c.rest()
	p.Types("x")
	r.want(Detached)
	p.CheckRestored()
}

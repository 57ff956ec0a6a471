//go:build e2e

package e2e

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	cityapi "gascity.dev/gc/internal/controller/api"
	"gascity.dev/gc/internal/mail"
)

// mailReader is an agent that writes down every line that is typed to it.
const mailReader = `#!/bin/sh
while :; do
	printf '> '
	IFS= read -r line || exit
	printf '%s\n' "$line" >>notes
done
`

// mailCity is a city whose controller is killed again and again.
type mailCity struct {
	*liveCity
	rnd        *rand.Rand
	controller *exec.Cmd
}

func newMailCity(t *testing.T) *mailCity {
	seed := uint64(time.Now().UnixNano())
	t.Logf("seed %d", seed)
	toml := "[daemon]\npatrol_interval = \"200ms\"\n[[agents]]\nname = \"reader\"\nstart_command = \"sh reader.sh\"\nready_prompt_prefix = \"> \"\n"
	c := &mailCity{liveCity: newCity(t, toml), rnd: rand.New(rand.NewPCG(seed, 1))}
	c.put("reader.sh", mailReader)
	c.control()
	t.Cleanup(func() {
		_ = c.controller.Process.Kill()
		_ = c.controller.Wait()
	})
	eventually(t, func() string { return fmt.Sprint(c.agents()) }, func() bool { return c.agents()["reader"].State == cityapi.StateRunning })
	return c
}

func (c *mailCity) control() {
	c.controller = exec.Command(gcBin, "controller", "run", "--city", c.path)
	c.controller.Env, c.controller.Dir = c.env, "/"
	c.controller.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
	if err := c.controller.Start(); err != nil {
		c.t.Fatal(err)
	}
}

// kill kills the controller at random moments.
func (c *mailCity) kill(times int) {
	for range times {
		time.Sleep(time.Duration(c.rnd.Int64N(int64(3 * time.Second)))) // random on purpose
		_ = c.controller.Process.Kill()
		_ = c.controller.Wait()
		c.control()
	}
}

// send sends one letter until the city says that it has it.
func (c *mailCity) send(id string) {
	for end := time.Now().Add(time.Minute); ; {
		cmd := exec.Command(gcBin, "--city", c.path, "mail", "send", "reader", "text of "+id, "--id", id)
		cmd.Env, cmd.Dir = c.env, "/"
		out, err := cmd.CombinedOutput()
		if err == nil {
			return
		}
		if time.Now().After(end) {
			c.t.Errorf("%s was never sent: %v: %s", id, err, out)
			return
		}
	}
}

// letters returns the ids of all letters.
func (c *mailCity) letters() (ids []int) {
	var r result // the newest controller may still be starting
	eventually(c.t, func() string { return fmt.Sprint(r) }, func() bool {
		r = c.run("--city", c.path, "mail", "list", "reader", "--json")
		return r.code == 0
	})
	var list []cityapi.Mail
	if err := json.Unmarshal([]byte(r.out), &list); err != nil {
		c.t.Fatal(err)
	}
	for _, l := range list {
		n, err := strconv.Atoi(mail.ShortID(l.ID))
		if err != nil {
			c.t.Fatal(err)
		}
		ids = append(ids, n)
	}
	return ids
}

var noticeRE = regexp.MustCompile(`You have mail: (\d+) new letters?, (\d+)(?: to (\d+))?,`)

// told returns how often each letter was in a notice, and how many there were.
func (c *mailCity) told(ids []int) (times map[int]int, notices int) {
	b, _ := os.ReadFile(filepath.Join(c.path, "notes")) // not there before the first
	times = map[int]int{}
	for line := range strings.Lines(string(b)) {
		m := noticeRE.FindAllStringSubmatch(line, -1)
		if len(m) != 1 {
			c.t.Errorf("typed %q", line)
			continue
		}
		notices++
		first, _ := strconv.Atoi(m[0][2])
		last := first
		if m[0][3] != "" {
			last, _ = strconv.Atoi(m[0][3])
		}
		for _, id := range ids {
			if first <= id && id <= last {
				times[id]++
			}
		}
	}
	return times, notices
}

// TestMailIsToldOnceOverKills: whenever the controller is killed, every letter is stored
// once, and its reader is told about it once.
func TestMailIsToldOnceOverKills(t *testing.T) {
	c := newMailCity(t)
	const senders = 3
	var all sync.WaitGroup
	var sent atomic.Int32
	done := make(chan struct{})
	for s := range senders {
		pauses := rand.New(rand.NewPCG(c.rnd.Uint64(), 1))
		all.Go(func() {
			for n := 0; ; n++ {
				select {
				case <-done:
					return
				case <-time.After(time.Duration(pauses.Int64N(int64(500 * time.Millisecond)))): // random on purpose
				}
				c.send(fmt.Sprint(s, "-", n))
				sent.Add(1)
			}
		})
	}
	c.kill(acpKills())
	close(done)
	all.Wait()
	count := int(sent.Load())
	var ids []int
	eventually(t, func() string { return fmt.Sprintf("%d letters: %v", len(ids), ids) }, func() bool {
		if c.run("--city", c.path, "status").code != 0 {
			return false
		}
		ids = c.letters()
		return len(ids) == count
	})
	var times map[int]int
	var notices int
	eventually(t, func() string { return fmt.Sprintf("told %v of %v", times, ids) }, func() bool {
		times, notices = c.told(ids)
		return len(times) == count
	})
	for _, id := range ids {
		if times[id] != 1 {
			t.Errorf("letter %d was told %d times", id, times[id])
		}
	}
	t.Logf("%d letters, %d notices, the controller was killed %d times", count, notices, acpKills())
}

package away_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"math/rand/v2"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"gascity.dev/gc/cmd/gc/internal/away"
	"gascity.dev/gc/cmd/gc/internal/cli"
	"gascity.dev/gc/internal/agent"
	"gascity.dev/gc/internal/clock"
	"gascity.dev/gc/internal/config"
	"gascity.dev/gc/internal/controller"
	cityapi "gascity.dev/gc/internal/controller/api"
	"gascity.dev/gc/internal/controller/outbox"
	"gascity.dev/gc/internal/session"
	"gascity.dev/gc/internal/testenv"
	"gascity.dev/gc/mux"
	"gascity.dev/gc/mux/api"
	"gascity.dev/gc/mux/client"
	"gascity.dev/gc/mux/keeper"
	"gascity.dev/gc/runtime/runtimefake"
)

// controlVar makes the test binary a controller of the city in this directory. It takes
// messages from the multiplexer of GC_MUX_SOCKET and kills itself at some moment.
const controlVar = "GC_TEST_AWAY_CITY"

func TestMain(m *testing.M) {
	if keeper.IsDaemon(os.Args) {
		testenv.Exit(mux.RunDaemon(os.Args))
	}
	if city := os.Getenv(controlVar); city != "" {
		fmt.Fprintln(os.Stderr, control(city))
		testenv.Exit(1)
	}
	os.Exit(m.Run())
}

// control runs a controller until it is killed.
func control(dir string) error {
	c, err := config.Load(dir)
	if err != nil {
		return err
	}
	paths, err := api.DefaultPaths(os.Getenv)
	if err != nil {
		return err
	}
	box := &mortal{&away.Outbox{Machine: "far", Dial: func(ctx context.Context) (*client.Client, error) { return client.Ensure(ctx, paths, "test") }}}
	time.AfterFunc(rand.N(time.Second), die)
	return controller.Run(context.Background(), controller.Options{
		City: c, Provider: runtimefake.New(), ProviderName: "fake", Build: agent.BuildOptions{Environ: os.Environ()}, Log: io.Discard,
		Outboxes: func(*config.City) []outbox.Outbox { return []outbox.Outbox{box} },
	})
}

func die() { _ = syscall.Kill(os.Getpid(), syscall.SIGKILL); select {} }

// mortal is an outbox whose controller dies between any two of its steps.
type mortal struct{ *away.Outbox }

// perhaps dies at one of so many calls.
func perhaps(calls int) {
	if rand.IntN(calls) == 0 {
		die()
	}
}

func (b *mortal) Take(ctx context.Context, city string, after uint64) ([]outbox.Message, error) {
	list, err := b.Outbox.Take(ctx, city, after)
	if len(list) > 0 {
		perhaps(10)
	}
	return list, err
}

func (b *mortal) Delete(ctx context.Context, city, id string) error {
	perhaps(40)
	err := b.Outbox.Delete(ctx, city, id)
	perhaps(40)
	return err
}

// place is the far machine and the cities that have sessions there.
type place struct {
	t                   *testing.T
	paths               api.Paths
	client              *client.Client
	cities              []string
	server, controllers atomic.Int32 // killed
}

func newPlace(t *testing.T, cities int) *place {
	t.Helper()
	dir, err := os.MkdirTemp("", "away")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.RemoveAll(dir) })
	p := &place{t: t, paths: api.Paths{Dir: dir + "/s.d", Socket: dir + "/s"}}
	for i := range cities {
		city := filepath.Join(dir, fmt.Sprint(i), "town")
		if err := os.MkdirAll(filepath.Join(city, ".gc"), 0o700); err != nil {
			t.Fatal(err)
		}
		toml := "[workspace]\nname = \"town\"\n"
		for _, name := range []string{"a", "b"} {
			toml += "[[agents]]\nname = \"" + name + "\"\nstart_command = \"cat\"\nsuspended = true\n"
		}
		if err := os.WriteFile(filepath.Join(city, "city.toml"), []byte(toml), 0o600); err != nil {
			t.Fatal(err)
		}
		p.store(city, func(s *session.Store) {
			if err := s.Save(session.Record{Agent: "a", Token: token(city)}).Wait(); err != nil {
				t.Fatal(err)
			}
		})
		p.cities = append(p.cities, city)
	}
	if p.client, err = client.Ensure(t.Context(), p.paths, "test"); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		ctx, cancel := context.WithTimeout(context.Background(), 20*time.Second)
		defer cancel()
		p.client.Close()
		c, err := client.Ensure(ctx, p.paths, "test")
		if err == nil {
			err = errors.Join(c.Shutdown(ctx, true), c.Close())
		}
		if err != nil {
			t.Error(err)
		}
	})
	return p
}

// store opens a city's database.
func (p *place) store(city string, use func(*session.Store)) {
	p.t.Helper()
	s, err := cityapi.OpenStore(city)
	if err != nil {
		p.t.Fatal(err)
	}
	use(s)
	if err := s.Close(); err != nil {
		p.t.Fatal(err)
	}
}

// token is what the agent a of a city proves itself with.
func token(city string) string { return "of " + city }

// control runs controllers of a city, each until it kills itself, until ctx ends.
func (p *place) control(ctx context.Context, city string) {
	for ctx.Err() == nil {
		cmd := exec.CommandContext(ctx, os.Args[0])
		cmd.Env = append(os.Environ(), controlVar+"="+city, "GC_MUX_SOCKET="+p.paths.Socket)
		var said strings.Builder
		cmd.Stderr = &said
		err := cmd.Run()
		var exit *exec.ExitError
		if ctx.Err() == nil && (!errors.As(err, &exit) || !exit.Sys().(syscall.WaitStatus).Signaled()) {
			p.t.Errorf("controller of %s: %v: %s", city, err, said.String())
			return
		}
		p.controllers.Add(1)
	}
}

// killServers kills the far server again and again until ctx ends.
func (p *place) killServers(ctx context.Context) {
	for clock.Sleep(ctx, rand.N(600*time.Millisecond)) == nil {
		st, err := p.client.Status(ctx)
		if err == nil && syscall.Kill(st.Server.PID, syscall.SIGKILL) == nil {
			p.server.Add(1)
		}
	}
}

// post posts messages of one program to a city; each is repeated until it is accepted.
func (p *place) post(city, id string, program, messages int) {
	for i := range messages {
		text := fmt.Sprintf("%s %d/%d", city, program, i)
		m := cityapi.Message{Kind: cityapi.MessageNudge, InsideRequest: cityapi.InsideRequest{Agent: "a", Token: token(city)}}
		m.Nudge = &cityapi.QueueRequest{Agent: "b", Text: text}
		switch i % 5 {
		case 3:
			m.Kind, m.Nudge, m.Mail = cityapi.MessageMail, nil, &cityapi.MailRequest{ID: fmt.Sprintf("%d-%d", program, i), To: "b", Subject: text, Text: text}
		case 4:
			m.Kind, m.Nudge, m.Wait = cityapi.MessageWait, nil, &cityapi.WaitRequest{Agent: "b", Until: "exit", Wake: "a", Note: text}
		}
		body, err := json.Marshal(m)
		if err != nil {
			p.t.Error(err)
			return
		}
		r := api.OutboxRequest{ID: fmt.Sprintf("%d-%d", program, i), City: id, Body: body}
		for {
			_, err = p.client.Post(p.t.Context(), r)
			if !errors.Is(err, api.ErrUnreachable) {
				break
			}
		}
		if err != nil {
			p.t.Errorf("%s: %v", text, err)
			return
		}
	}
}

// A multiplexer that is lost while an outbox waits at it was reached; one that is not
// reached is no loss.
func TestLostIsNotUnreached(t *testing.T) {
	p := newPlace(t, 1)
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second)
	defer cancel()
	no, cut := errors.New("no route"), make(chan struct{})
	box := &away.Outbox{Machine: "far", Dial: func(ctx context.Context) (*client.Client, error) {
		select {
		case <-cut:
			return nil, no
		default:
		}
		c := client.NewShared(func(ctx context.Context) (net.Conn, error) {
			select {
			case <-cut:
				return nil, no
			default:
			}
			conn, err := net.Dial("unix", p.paths.Socket)
			if err == nil {
				go func() { <-cut; conn.Close() }()
			}
			return conn, err
		})
		_, err := c.Status(ctx)
		time.AfterFunc(100*time.Millisecond, func() { close(cut) })
		return c, err
	}}
	defer box.Close()
	if _, err := box.Take(ctx, "city", 0); !errors.Is(err, outbox.ErrLost) {
		t.Errorf("lost: %v", err)
	}
	if _, err := box.Take(ctx, "city", 0); !errors.Is(err, no) || errors.Is(err, outbox.ErrLost) {
		t.Errorf("not reached: %v", err)
	}
}

// TestMessagesOutliveKills: while the far server and the controllers are killed at random,
// programs there post to two cities of one name: each city gets each of its messages once,
// those of a program in order, and none of the other's. With GC_SOAK there are 500 for each.
func TestMessagesOutliveKills(t *testing.T) {
	programs, each := 4, 15
	if os.Getenv("GC_SOAK") != "" {
		programs, each = 5, 100
	}
	slog.SetDefault(slog.New(slog.NewTextHandler(io.Discard, nil)))
	p := newPlace(t, 2)
	ctx, stop := context.WithCancel(t.Context())
	var kills, posts sync.WaitGroup
	for i, city := range p.cities {
		id := fmt.Sprintf("0123abc%d", i)
		identity := fmt.Sprintf(`{"id":%q,"path":%q,"space":"town"}`, id, city)
		if err := os.WriteFile(config.IdentityPath(city), []byte(identity), 0o600); err != nil {
			t.Fatal(err)
		}
		for program := range programs {
			posts.Go(func() { p.post(city, cityapi.OutboxID(city, id), program, each) })
		}
		kills.Go(func() { p.control(ctx, city) })
	}
	kills.Go(func() { p.killServers(ctx) })
	posts.Wait()
	for end := time.Now().Add(5 * time.Minute); ; {
		left, err := p.client.Outbox(t.Context(), "", 0, 0)
		if err == nil && len(left) == 0 {
			break
		}
		if time.Now().After(end) || t.Failed() {
			t.Errorf("%d messages are left, %v", len(left), err)
			break
		}
		_ = clock.Sleep(t.Context(), 50*time.Millisecond)
	}
	stop()
	kills.Wait()
	for _, city := range p.cities {
		p.once(city, programs, each)
	}
	t.Logf("killed: %d servers, %d controllers", p.server.Load(), p.controllers.Load())
}

// once checks what a city has in the end.
func (p *place) once(city string, programs, each int) {
	p.t.Helper()
	got := map[string]int{}
	last := make([]int, programs)
	p.store(city, func(s *session.Store) {
		nudges, err := s.Nudges()
		if err != nil {
			p.t.Fatal(err)
		}
		for _, n := range nudges {
			got[n.Text]++
			var program, i int
			if _, err := fmt.Sscanf(strings.TrimPrefix(n.Text, city+" "), "%d/%d", &program, &i); err != nil || i < last[program] {
				p.t.Errorf("%s: %q after %d, %v", city, n.Text, last[program], err)
				continue
			}
			last[program] = i
		}
		waits, err := s.Waits()
		if err != nil {
			p.t.Fatal(err)
		}
		for _, w := range waits {
			got[w.Note]++
		}
		letters, err := s.Letters()
		if err != nil {
			p.t.Fatal(err)
		}
		for _, l := range letters {
			got[l.Subject]++
		}
		events, err := s.Events(0, 0)
		if err != nil {
			p.t.Fatal(err)
		}
		for _, e := range events {
			if e.Kind == cityapi.EventOutbox {
				p.t.Errorf("%s: %+v", city, e)
			}
		}
	})
	for program := range programs {
		for i := range each {
			text := fmt.Sprintf("%s %d/%d", city, program, i)
			if got[text] != 1 {
				p.t.Errorf("%q arrived %d times", text, got[text])
			}
			delete(got, text)
		}
	}
	if len(got) > 0 {
		p.t.Errorf("%s has also %v", city, got)
	}
}

// A session asks its city while the city is connected, also after the server of the
// session's machine was killed. While the city is away, the request fails at once.
func TestASessionAsksItsCity(t *testing.T) {
	p := newPlace(t, 1)
	t.Setenv("GC_MUX_SOCKET", p.paths.Socket)
	const id = "/elsewhere@77"
	c := away.City{ID: id}.Client(func(name string) string { return "the " + name })
	if _, err := c.Status(t.Context()); !errors.Is(err, away.ErrAway) || cli.Report(io.Discard, nil, err) != cli.ExitUnsupported {
		t.Errorf("while it is away: %v", err)
	}
	box := &away.Outbox{Machine: "far", Dial: func(ctx context.Context) (*client.Client, error) { return client.Ensure(ctx, p.paths, "test") }}
	defer box.Close()
	ctx, leave := context.WithCancel(t.Context())
	var serving sync.WaitGroup
	serving.Go(func() {
		outbox.Answer(ctx, box, id, func(_ context.Context, request []byte) []byte {
			var r cityapi.FarRequest
			if err := json.Unmarshal(request, &r); err != nil || r.Agent != "the GC_AGENT" || r.Token != "the GC_INSTANCE_TOKEN" {
				t.Errorf("asked %s", request)
			}
			b, _ := json.Marshal(cityapi.FarAnswer{Body: []byte(`{"city":"town"}`)})
			return b
		})
	})
	asked := func() {
		t.Helper()
		late, cancel := context.WithTimeout(t.Context(), 30*time.Second)
		defer cancel()
		for {
			st, err := c.Status(late)
			if err == nil && st.City == "town" {
				return
			}
			if late.Err() != nil {
				t.Fatalf("%+v, %v", st, err)
			}
			_ = clock.Sleep(late, 10*time.Millisecond)
		}
	}
	asked()
	st, err := p.client.Status(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if err := syscall.Kill(st.Server.PID, syscall.SIGKILL); err != nil {
		t.Fatal(err)
	}
	asked()
	leave()
	serving.Wait()
	for { // the server notices it
		_, err := c.Status(t.Context())
		if errors.Is(err, away.ErrAway) {
			break
		}
		if err := clock.Sleep(t.Context(), 10*time.Millisecond); err != nil {
			t.Fatal(err)
		}
	}
}

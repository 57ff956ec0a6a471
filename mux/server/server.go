package server

import (
	"context"
	"fmt"
	"log/slog"
	"os"
	"os/signal"
	"runtime/debug"
	"slices"
	"sync"
	"time"

	"gascity.dev/gc/internal/clock"
	"gascity.dev/gc/internal/event"
	"gascity.dev/gc/internal/rule"
	"gascity.dev/gc/internal/screens"
	"gascity.dev/gc/internal/trim"
	"gascity.dev/gc/mux/api"
	"gascity.dev/gc/mux/exec"
	"gascity.dev/gc/mux/internal/attached"
	"gascity.dev/gc/mux/internal/cities"
	"gascity.dev/gc/mux/internal/endpoint"
	"gascity.dev/gc/mux/internal/loop"
	"gascity.dev/gc/mux/internal/muxdb"
	"gascity.dev/gc/mux/internal/outbox"
	"gascity.dev/gc/mux/internal/queue"
	"gascity.dev/gc/mux/internal/statedir"
	"gascity.dev/gc/mux/internal/sys"
	"gascity.dev/gc/mux/journal"
	"gascity.dev/gc/mux/keeper"
	"gascity.dev/gc/store"
	"golang.org/x/sys/unix"
)

// server owns the sessions and the API. It may die at any moment: the keeper
// and mux.db have everything that must survive.
//
// mu guards the parts that say so. It is taken before a session's mu.
type server struct {
	settings settings
	loop     *loop.Loop
	db       *store.DB
	clock    *clock.Clock // for all times that are compared later
	lifetime lifetime
	keeper   keeperLink
	journals journals
	events   eventFeed
	meta     muxdb.Metadata
	sessions sessionTable
	reaper   reaper
	api      apiServer
	endpoint *endpoint.Endpoint
	queue    *queue.Queue
	outbox   *outbox.Outbox
	cities   *cities.Relay
	commands *exec.Commands
	nesting  *attached.Nesting
	screens  *screens.Hub

	compactor compactor
	counts    counts

	mu sync.Mutex
}

// settings are what a server is started with.
type settings struct {
	paths   api.Paths
	version string
	since   time.Time
	killed  bool // the previous server crashed or was killed: see storage.guilty
	dialogs []rule.Dialog
	times   timing
}

// lifetime is the server's beginning and end.
type lifetime struct {
	ready chan struct{} // closed once the keeper knows that the server is ready
	done  chan struct{} // closed when the server should end
	once  sync.Once
	work  sync.WaitGroup // goroutines of the server
	owed  debts
}

// started reports whether the keeper knows that the server is ready.
func (l *lifetime) started() bool {
	select {
	case <-l.ready:
		return true
	default:
		return false
	}
}

// newServer returns a server without a loop, a database and a clock.
func newServer(set settings) *server {
	srv := &server{settings: set}
	srv.lifetime.ready, srv.lifetime.done = make(chan struct{}), make(chan struct{})
	srv.keeper = keeperLink{srv: srv, replaced: make(chan struct{})}
	srv.journals = journals{srv: srv, writer: journal.NewWriter()}
	srv.events.log = event.NewLog[api.Event](event.Options{})
	srv.sessions = sessionTable{srv: srv, byID: make(map[string]*session), byName: make(map[string]*session), creating: make(map[string]bool)}
	srv.sessions.created.L = &srv.mu
	srv.nesting = attached.NewNesting(srv.sessions.aroundAny)
	srv.outbox, srv.cities = outbox.New(srv.lifetime.done), cities.New(srv.lifetime.done)
	srv.screens = screens.NewHub(live{&srv.sessions})
	srv.reaper = reaper{srv: srv, ended: make(chan *session, 1024)}
	srv.api.srv = srv
	srv.endpoint = endpoint.New(set.paths.Socket, srv.keeper.current, srv.api.handler())
	srv.compactor.trim = trim.Trimmer{Worth: trim.Worth}
	return srv
}

// Run is the whole life of the server. args: dir, socket, version, and ServerKilled if it
// applies.
func Run(args []string) int {
	if len(args) < 3 {
		return 2
	}
	keeper.DropImage(keeper.ServerLockFD + 1)
	sys.SetProcessName(keeper.ServerName)
	debug.SetGCPercent(recoveryGC)
	unix.Umask(0o077)
	if _, err := keeper.LiftLimits(); err != nil { // an older keeper did not
		slog.Warn("cannot raise limits", "error", err)
	}
	signals := make(chan os.Signal, 8)
	signal.Notify(signals, unix.SIGHUP, unix.SIGINT, unix.SIGQUIT, unix.SIGUSR1, unix.SIGTSTP, unix.SIGTTIN, unix.SIGTTOU)
	control := sys.MoveFD(keeper.ServerControlFD)
	lock := sys.MoveFD(keeper.ServerLockFD) // held as long as this process lives
	srv := newServer(settings{
		paths: api.Paths{Dir: args[0], Socket: args[1]}, version: args[2], since: time.Now(),
		killed: slices.Contains(args[3:], keeper.ServerKilled), dialogs: rule.Dialogs(), times: readTiming(args[0]),
	})
	srv.keeper.lock = statedir.Lock(lock)
	srv.commands = newCommands(srv)
	left := &adoption{srv: srv}
	if err := srv.open(control, left); err != nil {
		slog.Error("cannot start", "error", err)
		srv.leave() // the keeper may end by the refusal: none is to take its place
		if srv.keeper.link != nil {
			_ = srv.keeper.link.Tell(keeper.KindRefuse, err.Error())
		}
		return 1
	}
	go func() {
		for sig := range signals {
			if sig == unix.SIGUSR1 {
				srv.endpoint.Relisten()
			}
		}
	}()
	srv.serve(left)
	return 0
}

// serverGC is the collector's target: screens live long, so a small heap costs little.
const serverGC = 50

// open adopts everything that the keeper holds and makes the rest.
func (srv *server) open(control int, left *adoption) error {
	link, err := keeper.NewLink(control, srv.sessions.exitNoticed, srv.keeper.lost)
	if err != nil {
		return err
	}
	srv.keeper.link = link
	if err := link.Hello(); err != nil {
		return err
	}
	entries, err := link.List()
	if err != nil {
		return err
	}
	if err := srv.keeper.adoptLock(entries); err != nil {
		return err
	}
	if srv.loop, err = loop.New(srv.lifetime.done); err != nil {
		return err
	}
	if srv.db, err = muxdb.Open(srv.settings.paths.Db()); err != nil {
		return err
	}
	srv.meta.DB = srv.db
	srv.clock = muxdb.ResumeClock(srv.db)
	srv.queue = newQueue(srv)
	srv.outbox.Open(srv.db, srv.clock)
	if err := srv.journals.open(entries); err != nil {
		return err
	}
	if err := srv.commands.Load(); err != nil {
		return err
	}
	left.add(entries)
	if err := srv.queue.Adopt(); err != nil {
		return err
	}
	srv.journals.sweep()
	srv.sweepControls()
	if err := srv.meta.Sweep(func(id string) bool { return srv.sessions.withID(id) != nil }); err != nil { // a full disk must not stop the server
		slog.Warn("cannot remove metadata of sessions that are gone", "error", err)
	}
	srv.commands.Reconcile()
	if err := srv.reaper.finishKills(left); err != nil {
		return err
	}
	if err := srv.endpoint.Listen(entries); err != nil {
		return err
	}
	srv.mu.Lock()
	srv.sessions.checkIdle()
	srv.mu.Unlock()
	return nil
}

// serve answers requests until the server should end.
func (srv *server) serve(left *adoption) {
	srv.lifetime.work.Go(srv.reaper.run)
	srv.lifetime.work.Go(func() { srv.journals.writer.Run(srv.lifetime.done) })
	for _, finish := range left.resumed {
		srv.lifetime.work.Go(func() { finish(context.Background()) })
	}
	left.resumed = nil
	srv.lifetime.work.Go(srv.queue.Run)
	srv.lifetime.work.Go(srv.commands.Run)
	srv.endpoint.Serve()
	srv.events.emitStart()
	left.restore()
	debug.SetGCPercent(serverGC)
	if err := srv.keeper.link.Tell(keeper.KindReady, ""); err != nil {
		slog.Warn("cannot report to the keeper", "error", err)
	}
	close(srv.lifetime.ready)
	srv.lifetime.work.Go(srv.watchState)
	compact := time.AfterFunc(trim.AfterStart, trim.Memory)
	defer compact.Stop()
	gone := time.AfterFunc(api.ReconnectWithin, srv.sessions.forgetSizes)
	defer gone.Stop()
	<-srv.lifetime.done
	srv.close()
}

// end lets serve return, and ends the keeper too.
func (srv *server) end() {
	srv.lifetime.once.Do(func() {
		_ = srv.keeper.current().Tell(keeper.KindStop, "")
		srv.endpoint.Remove() // the lock is still held, so no other server can have made it
		close(srv.lifetime.done)
	})
}

// leave lets serve return; the keeper starts the next server.
func (srv *server) leave() { srv.lifetime.once.Do(func() { close(srv.lifetime.done) }) }

// timing holds the server's periods.
type timing struct {
	idle     time.Duration // without a session, until the server ends itself
	keep     time.Duration // of an exited session
	keepMost int           // of exited sessions
}

var defaultTiming = timing{idle: 10 * time.Minute, keep: time.Hour, keepMost: 200}

// readTiming reads timing from a file in the state directory that only tests make.
func readTiming(dir string) timing {
	t := defaultTiming
	b, err := os.ReadFile(dir + "/timing")
	if err != nil {
		return t
	}
	var idle, keep time.Duration
	var most int
	if n, _ := fmt.Sscan(string(b), (*durationFlag)(&idle), (*durationFlag)(&keep), &most); n == 3 {
		t = timing{idle, keep, most}
	}
	return t
}

// durationFlag scans a duration such as "150ms".
type durationFlag time.Duration

// Scan reads one word.
func (d *durationFlag) Scan(st fmt.ScanState, _ rune) error {
	word, err := st.Token(true, nil)
	if err != nil {
		return err
	}
	v, err := time.ParseDuration(string(word))
	*d = durationFlag(v)
	return err
}

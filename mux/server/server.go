package server

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"os"
	"os/signal"
	"runtime/debug"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"golang.org/x/sys/unix"

	"gascity.dev/gc/internal/clock"
	"gascity.dev/gc/internal/event"
	"gascity.dev/gc/internal/rule"
	"gascity.dev/gc/mux/api"
	"gascity.dev/gc/mux/internal/statedir"
	"gascity.dev/gc/mux/internal/sys"
	"gascity.dev/gc/mux/internal/trim"
	"gascity.dev/gc/mux/journal"
	"gascity.dev/gc/mux/keeper"
	"gascity.dev/gc/store"
)

// server owns the sessions: their screens, input, metadata and the API. It
// may die at any moment; what must survive is with the keeper and in mux.db.
//
// mu guards everything below it. It is taken before a session's mu, never
// after.
type server struct {
	paths   api.Paths
	version string
	since   time.Time
	loop    *loop
	db      *store.DB
	clock   *clock.Clock // all times that are compared later are its
	queue   *deliveries
	execs   *execs
	resting resting
	trim    trim.Trimmer
	history *journal.Writer
	table   *journal.Table
	tableFD int
	lockFD  int
	killed  bool                    // the server before was: see session.guilty
	adopted []adopted               // until restore has made their screens
	resumed []func(context.Context) // nudges of the server before, to be finished
	events  *event.Log[api.Event]
	dialogs []rule.Dialog
	http    *http.Server
	conns   sync.WaitGroup // listeners, and connections that net/http serves
	watches watches
	nesting nesting
	changes atomic.Uint64 // of all sessions
	times   timing
	ready   chan struct{} // closed when the keeper was told that the server serves
	done    chan struct{} // closed when the server should end
	endOnce sync.Once
	work    sync.WaitGroup // goroutines of the server
	ended   chan *session  // sessions whose tree must be swept

	mu       sync.Mutex
	link     *keeper.Link
	relinked chan struct{} // closed when link is another one
	handing  bool          // a new keeper does not hold everything yet
	listener *net.UnixListener
	sock     socketID                     // what the listener's socket is in the file system
	sessions map[string]*session          // by id
	live     map[string]*session          // by name; nil while one is being created
	exited   []*session                   // oldest first
	idle     *time.Timer                  // runs while there is no session at all
	sweep    *time.Timer                  // runs while exited sessions are kept
	early    map[string]keeper.ExitNotice // exits that overtook their session
	creating int                          // sessions being created
	created  sync.Cond                    // with mu: one of them is there, or failed
	stopping bool
}

// timing are the server's periods.
type timing struct {
	idle     time.Duration // without a session until the server ends itself
	keep     time.Duration // an exited session
	keepMost int           // exited sessions
}

var defaultTiming = timing{idle: 10 * time.Minute, keep: time.Hour, keepMost: 200}

// Run is the server's life. args: dir, socket, version, and ServerKilled
// when it applies.
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
	srv := &server{
		paths: api.Paths{Dir: args[0], Socket: args[1]}, version: args[2], since: time.Now(),
		killed: slices.Contains(args[3:], keeper.ServerKilled),
		events: event.NewLog[api.Event](event.Options{}), dialogs: rule.Dialogs(), times: readTiming(args[0]),
		lockFD: lock, history: journal.NewWriter(), relinked: make(chan struct{}), ready: make(chan struct{}), done: make(chan struct{}), ended: make(chan *session, 1024),
		sessions: make(map[string]*session), live: make(map[string]*session), trim: trim.Trimmer{Worth: trim.Worth},
	}
	srv.created.L = &srv.mu
	srv.queue = newDeliveries(srv)
	srv.execs = newExecs(srv)
	if err := srv.open(control); err != nil {
		slog.Error("cannot start", "error", err)
		if srv.link != nil {
			_ = srv.link.Tell(keeper.KindRefuse, err.Error())
		}
		return 1
	}
	go func() {
		for sig := range signals {
			if sig == unix.SIGUSR1 {
				srv.relisten()
			}
		}
	}()
	srv.serve()
	return 0
}

// serverGC is the collector's target: screens live long, so that the heap
// stays small at little cost.
const serverGC = 50

// open adopts what the keeper holds and makes everything that is missing.
func (srv *server) open(control int) error {
	link, err := keeper.NewLink(control, srv.exitNoticed, srv.keeperLost)
	if err != nil {
		return err
	}
	srv.link = link
	if err := link.Hello(); err != nil {
		return err
	}
	entries, err := link.List()
	if err != nil {
		return err
	}
	if err := srv.adoptLock(entries); err != nil {
		return err
	}
	if srv.loop, err = newLoop(); err != nil {
		return err
	}
	if srv.db, err = openState(srv.paths.Db()); err != nil {
		return err
	}
	srv.clock = resumeClock(srv.db)
	if err := srv.openTable(entries); err != nil {
		return err
	}
	if err := srv.execs.load(); err != nil {
		return err
	}
	srv.adopt(entries)
	if err := srv.queue.adopt(); err != nil {
		return err
	}
	srv.sweepFiles()
	if err := srv.sweepMeta(); err != nil { // a full disk is no reason not to start
		slog.Warn("cannot remove metadata of sessions that are gone", "error", err)
	}
	srv.execs.reconcile()
	if err := srv.finishKills(); err != nil {
		return err
	}
	if err := srv.listen(entries); err != nil {
		return err
	}
	srv.mu.Lock()
	srv.checkIdle()
	srv.mu.Unlock()
	return nil
}

// serve answers requests until the server should end.
func (srv *server) serve() {
	srv.http = srv.newHTTP()
	srv.work.Go(srv.sweepTrees)
	srv.work.Go(func() { srv.history.Run(srv.done) })
	for _, finish := range srv.resumed {
		srv.work.Go(func() { finish(context.Background()) })
	}
	srv.resumed = nil
	srv.work.Go(func() { srv.queue.run(srv.done) })
	srv.work.Go(srv.execs.run)
	srv.serveOn(srv.listener)
	srv.emitServer()
	srv.restore()
	debug.SetGCPercent(serverGC)
	if err := srv.link.Tell(keeper.KindReady, ""); err != nil {
		slog.Warn("cannot report to the keeper", "error", err)
	}
	close(srv.ready)
	srv.work.Go(srv.watchState)
	rest := time.AfterFunc(trim.AfterStart, trim.Memory)
	defer rest.Stop()
	gone := time.AfterFunc(api.ReconnectWithin, srv.forgetSizes)
	defer gone.Stop()
	<-srv.done
	srv.close()
}

// serveOn accepts connections of one listener.
func (srv *server) serveOn(l *net.UnixListener) {
	srv.conns.Go(func() {
		err := srv.http.Serve(peerListener{l})
		if err != nil && !errors.Is(err, http.ErrServerClosed) && !errors.Is(err, net.ErrClosed) {
			slog.Error("cannot serve", "error", err)
		}
	})
}

// end lets serve return; the keeper ends too.
func (srv *server) end() {
	srv.endOnce.Do(func() {
		_ = srv.currentLink().Tell(keeper.KindStop, "")
		srv.mu.Lock()
		if statSocket(srv.paths.Socket) == srv.sock {
			_ = os.Remove(srv.paths.Socket) // the lock is still held: nobody makes another
		}
		srv.mu.Unlock()
		close(srv.done)
	})
}

// leave lets serve return; the keeper starts the next server.
func (srv *server) leave() { srv.endOnce.Do(func() { close(srv.done) }) }

func (srv *server) currentLink() *keeper.Link {
	srv.mu.Lock()
	defer srv.mu.Unlock()
	return srv.link
}

// peerListener refuses connections of other users.
type peerListener struct{ *net.UnixListener }

func (l peerListener) Accept() (net.Conn, error) {
	for {
		c, err := l.UnixListener.Accept()
		if err != nil {
			return nil, err
		}
		if err := sys.CheckPeer(c); err != nil {
			slog.Warn("connection refused", "error", err)
			c.Close()
			continue
		}
		return c, nil
	}
}

// socketID tells whether a path still is the socket that was made there.
type socketID struct{ dev, ino uint64 }

func statSocket(path string) socketID {
	var st unix.Stat_t
	if unix.Lstat(path, &st) != nil {
		return socketID{}
	}
	return socketID{uint64(st.Dev), st.Ino}
}

// listenerID is the keeper's entry of the listening socket. Its data is the
// socket's identity in the file system.
const listenerID = "listener"

// listen takes the listening socket that the keeper holds, so that nobody who
// connected during a restart is lost, or makes one.
func (srv *server) listen(entries []keeper.Entry) error {
	for _, e := range entries {
		if e.ID != listenerID || len(e.FDs) == 0 {
			continue
		}
		f := os.NewFile(uintptr(e.FDs[0]), "listener")
		l, err := net.FileListener(f)
		f.Close()
		ul, ok := l.(*net.UnixListener)
		if err != nil || !ok {
			slog.Warn("cannot use the listener from before", "error", err)
			continue
		}
		ul.SetUnlinkOnClose(false)
		var id socketID
		_, _ = fmt.Sscanf(string(e.Data), "%d:%d", &id.dev, &id.ino)
		srv.listener, srv.sock = ul, id
		if statSocket(srv.paths.Socket) == id {
			return nil
		}
		ul.Close()
	}
	return srv.newListener()
}

// newListener makes the socket and lets the keeper hold it.
func (srv *server) newListener() error {
	l, err := statedir.Listen(srv.paths.Socket)
	if err != nil {
		return fmt.Errorf("%w: listen at %s: %w", api.ErrStateDir, srv.paths.Socket, err)
	}
	raw, err := l.SyscallConn() // File() and Fd() would make the shared description blocking
	if err != nil {
		return err
	}
	id := statSocket(srv.paths.Socket)
	var depositErr error
	err = raw.Control(func(fd uintptr) {
		depositErr = srv.link.Deposit(listenerID, fmt.Appendf(nil, "%d:%d", id.dev, id.ino), int(fd))
	})
	if err := errors.Join(err, depositErr); err != nil {
		return err
	}
	srv.listener, srv.sock = l, id
	return nil
}

// relisten makes the socket again when it was unlinked or replaced.
func (srv *server) relisten() {
	srv.mu.Lock()
	defer srv.mu.Unlock()
	if srv.http == nil || srv.listener == nil || statSocket(srv.paths.Socket) == srv.sock {
		return
	}
	old := srv.listener
	if err := srv.newListener(); err != nil {
		slog.Error("cannot listen again", "error", err)
		return
	}
	srv.serveOn(srv.listener)
	old.Close()
}

// readTiming reads timing from the state directory, for tests: a file that
// nobody else makes.
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

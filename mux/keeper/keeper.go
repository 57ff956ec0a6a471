package keeper

import (
	"fmt"
	"maps"
	"os"
	"os/signal"
	goruntime "runtime"
	"runtime/debug"
	"strconv"
	"sync"
	"syscall"
	"time"

	"gascity.dev/gc/internal/fds"
	"gascity.dev/gc/internal/proctree"
	"gascity.dev/gc/internal/self"

	"gascity.dev/gc/internal/trim"
	"gascity.dev/gc/mux/internal/slack"
	"gascity.dev/gc/mux/internal/sys"
	"golang.org/x/sys/unix"
)

// keeper is the parent of every session's program and of the server. It does
// nothing that could fail for other reasons: it opens terminals, forks, reaps,
// holds descriptors, and restarts the server when it dies.
//
// mu guards everything below it. Spawning and reaping hold it: a child is in
// the table before its end can be noticed.
type keeper struct {
	dir, socket string
	since       int64
	lock        int           // the state directory's lock, shared with the server
	starters    []sys.Rlimit  // limits for programs, see LiftLimits
	slack       time.Duration // of timers, for programs and servers
	trimmer     trim.Trimmer

	mu       sync.Mutex
	table    map[string]*Entry
	byPID    map[int]*Entry
	image    program
	next     *program // of the upgrade under way
	lastFail string   // why the last upgrade failed
	server   *generation
	restarts int
	killed   bool // the last server was killed, see serverEnded
	stop     bool
	ready    *os.File // the starter's pipe, until the first server serves
	quit     chan int // exit status
}

// program is an image that a server is started from.
type program struct {
	fd   int    // open image, -1 if the system cannot execute one
	path string // used when fd is -1

	version string // for the server to report
}

// generation is one run of the server.
type generation struct {
	pid     int
	conn    *conn
	program program
	started time.Time
	ready   bool
	fails   int           // consecutive servers before it that ended without being ready
	exits   []*Entry      // to report; guarded by keeper.mu
	wake    chan struct{} // 1: exits is not empty
	done    chan struct{} // closed when the reader ended
	trial   *time.Timer   // of an upgrade
}

// Limits of the keeper's heap: the collector runs only near the limit, and a
// keeper of 1000 sessions stays far below it.
const keeperHeap = 8 << 20

// Descriptors that a keeper starts with.
const (
	keeperLockFD  = 3
	keeperReadyFD = 4 // the starter's pipe; or, for "adopt", the server's socket
)

// Run is the keeper's life. args: stage, dir, socket, version, and for
// the stage "adopt" the pid of the server that lost its keeper, and the limits
// that programs get.
func Run(args []string) int {
	if len(args) < 4 {
		return 2
	}
	switch args[0] {
	case "detach", "detach-adopt":
		return detachKeeper(args)
	}
	DropImage(keeperReadyFD + 1)
	debug.SetGCPercent(-1)
	debug.SetMemoryLimit(keeperHeap)
	goruntime.GOMAXPROCS(1)
	sys.SetSubreaper()
	sys.SetProcessName(Name)
	unix.Umask(0o077)
	k := &keeper{
		dir: args[1], socket: args[2], since: time.Now().UnixNano(),
		lock:  sys.MoveFD(keeperLockFD),
		table: make(map[string]*Entry), byPID: make(map[int]*Entry),
		quit: make(chan int, 1), slack: slack.Current(),
	}
	if k.slack >= slack.Keeper {
		k.slack -= slack.Keeper
	}
	k.image = ownProgram()
	k.image.version = args[3]
	first := sys.MoveFD(keeperReadyFD)
	found, err := LiftLimits()
	if args[0] == "adopt" {
		if len(args) < 5 {
			return 2
		}
		pid, _ := strconv.Atoi(args[4])
		if len(args) > 5 {
			k.starters, _ = parseRlimits(args[5]) // without limits rather than without a keeper
		}
		return k.run(func() error { return k.watchServer(pid, first) })
	}
	k.starters = found
	k.ready = os.NewFile(uintptr(first), "ready")
	return k.run(func() error {
		if err != nil {
			return err
		}
		return k.startServer(0)
	})
}

// detachKeeper starts the real keeper and ends, so that init becomes the
// keeper's parent and reaps it.
func detachKeeper(args []string) int {
	DropImage(keeperReadyFD + 1)
	fds.CloseOnExec(keeperReadyFD + 1) // inherited from the starter's shell
	p := ownProgram()
	stage := map[string]string{"detach": "run", "detach-adopt": "adopt"}[args[0]]
	argv := append([]string{Name, Mark, stage}, args[1:]...)
	var err error
	slack.Do(slack.Current()+slack.Keeper, func() {
		_, err = p.start(argv, []uintptr{0, 1, 2, keeperLockFD, keeperReadyFD}, nil, &syscall.SysProcAttr{Setsid: true})
	})
	if err != nil {
		if stage == "run" {
			fmt.Fprintf(os.NewFile(keeperReadyFD, "ready"), "error: keeper: %v", err)
		}
		return 1
	}
	return 0
}

// ownProgram is the image of gc, which this process runs unless it is gc-k8s. It stays open, so that a
// restart does not depend on what is at the path by then.
func ownProgram() program {
	path, err := self.Program()
	image, _ := self.Image() // on Linux it fails only with Program
	if err != nil {
		path = image
	}
	if goruntime.GOOS != "linux" {
		return program{fd: -1, path: path}
	}
	fd, err := unix.Open(image, unix.O_RDONLY|unix.O_CLOEXEC, 0)
	if err != nil {
		return program{fd: -1, path: path}
	}
	return program{fd: sys.MoveFD(fd), path: path}
}

// start executes the program in / with the descriptors and only env as its
// environment. On Linux the image is the descriptor after the last of files,
// because its number here may be another descriptor in the child.
func (p program) start(argv []string, files []uintptr, env []string, attr *syscall.SysProcAttr) (int, error) {
	path := p.path
	if p.fd >= 0 {
		path = "/proc/self/fd/" + strconv.Itoa(len(files))
		files = append(files, uintptr(p.fd))
	}
	return syscall.ForkExec(path, argv, &syscall.ProcAttr{Dir: "/", Env: env, Files: files, Sys: attr})
}

// DropImage closes the descriptor that this process was executed from; n is the
// number of its other inherited descriptors.
func DropImage(n int) {
	var a, b unix.Stat_t
	if unix.Fstat(n, &a) == nil && unix.Stat("/proc/self/exe", &b) == nil && a.Dev == b.Dev && a.Ino == b.Ino {
		unix.Close(n)
	}
}

// run starts or adopts the first server by begin and works until it is done.
func (k *keeper) run(begin func() error) int {
	signals := make(chan os.Signal, 64)
	// Caught and dropped, not ignored: children would inherit that.
	signal.Notify(signals, unix.SIGCHLD, unix.SIGHUP, unix.SIGINT, unix.SIGQUIT, unix.SIGTSTP, unix.SIGTTIN, unix.SIGTTOU)
	k.mu.Lock()
	err := begin()
	k.mu.Unlock()
	if err != nil {
		k.report("error: " + err.Error())
		return 1
	}
	for {
		select {
		case status := <-k.quit:
			return status
		case sig := <-signals:
			if sig == unix.SIGCHLD {
				k.reap()
				k.trimmer.Note()
			}
		}
	}
}

// reap reaps every child that ended.
func (k *keeper) reap() {
	k.mu.Lock()
	defer k.mu.Unlock()
	for pid, ws := range proctree.Reap() {
		if k.server != nil && pid == k.server.pid {
			k.serverEnded(fmt.Sprintf("status %#x", uint32(ws)), ws.Signaled() && ws.Signal() == unix.SIGKILL)
			continue
		}
		e := k.byPID[pid]
		if e == nil {
			continue // an orphan of a session
		}
		delete(k.byPID, pid)
		e.Exited, e.Status, e.Ended = true, uint32(ws), time.Now().UnixNano()
		k.notice(e)
	}
}

// notice queues an exit for the server. mu is held.
func (k *keeper) notice(e *Entry) {
	if g := k.server; g != nil {
		g.exits = append(g.exits, e)
		select {
		case g.wake <- struct{}{}:
		default:
		}
	}
}

// report replies to the starter, once. mu is not held.
func (k *keeper) report(text string) {
	k.mu.Lock()
	f := k.ready
	k.ready = nil
	k.mu.Unlock()
	if f != nil {
		_, _ = f.WriteString(text)
		f.Close()
	}
}

// forget closes an entry's descriptors and drops it. mu is held.
func (k *keeper) forget(id string) {
	e := k.table[id]
	if e == nil {
		return
	}
	sys.CloseAll(e.FDs)
	delete(k.table, id)
	if e.PID > 0 && k.byPID[e.PID] == e {
		delete(k.byPID, e.PID) // from now on it counts as an orphan
	}
}

// rows returns the table's entries. mu is held.
func (k *keeper) rows() []*Entry {
	out := make([]*Entry, 0, len(k.table))
	for e := range maps.Values(k.table) {
		out = append(out, e)
	}
	return out
}

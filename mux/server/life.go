package server

import (
	"time"

	"gascity.dev/gc/mux/api"
	"gascity.dev/gc/mux/keeper"
)

// life is a session's leader, from its start to the removal of every trace.
type life struct {
	s          *session
	pid        int
	start      uint64       // of pid, to detect its reuse
	born       int64        // when it began, by the server's clock
	spawner    *keeper.Link // to the keeper that started it; nil if it was adopted
	keptSince  time.Time    // when it became an exited session; guarded by server.mu
	collecting bool         // guarded by server.mu

	// guarded by session.mu
	watch     int           // descriptor of pid when a lost keeper was its parent, else -1
	stopping  bool          // Kill began
	killers   int           // Kills under way, or that ended the whole tree
	dead      *api.Exit     // the leader ended; output may still be drained
	exit      *api.Exit     // the session ended
	done      chan struct{} // closed at the end; nil while nobody waits
	drain     *time.Timer
	collected bool // no trace is left
}

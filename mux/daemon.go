package mux

import (
	"fmt"
	"log/slog"
	"os"
)

// IsDaemon reports whether the process was started as a keeper or a server.
// main asks before anything else.
func IsDaemon(argv []string) bool {
	return len(argv) > 1 && argv[1] == daemonMark &&
		(argv[0] == keeperName || argv[0] == serverName || argv[0] == spawnName)
}

// RunDaemon is the whole life of a keeper or a server; it returns the exit
// status.
func RunDaemon(argv []string) int {
	// A daemon's standard error is mux.log.
	slog.SetDefault(slog.New(slog.NewTextHandler(os.Stderr, nil)).With("process", argv[0], "pid", os.Getpid()))
	switch argv[0] {
	case keeperName:
		return runKeeper(argv[2:])
	case serverName:
		return runServer(argv[2:])
	case spawnName:
		return runSpawn(argv[2:])
	}
	fmt.Fprintln(os.Stderr, "gc: not a daemon:", argv[0])
	return 2
}

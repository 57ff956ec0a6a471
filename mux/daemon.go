package mux

import (
	"fmt"
	"log/slog"
	"os"

	"gascity.dev/gc/mux/keeper"
)

// IsDaemon reports whether the process was started as a keeper or a server.
// main asks before anything else.
func IsDaemon(argv []string) bool {
	return len(argv) > 1 && argv[1] == keeper.Mark &&
		(argv[0] == keeper.Name || argv[0] == keeper.ServerName || argv[0] == keeper.SpawnName)
}

// RunDaemon is the whole life of a keeper or a server; it returns the exit
// status.
func RunDaemon(argv []string) int {
	// A daemon's standard error is mux.log.
	slog.SetDefault(slog.New(slog.NewTextHandler(os.Stderr, nil)).With("process", argv[0], "pid", os.Getpid()))
	switch argv[0] {
	case keeper.Name:
		return keeper.Run(argv[2:])
	case keeper.ServerName:
		return runServer(argv[2:])
	case keeper.SpawnName:
		return keeper.RunSpawn(argv[2:])
	}
	fmt.Fprintln(os.Stderr, "gc: not a daemon:", argv[0])
	return 2
}

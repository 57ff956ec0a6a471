package mux

import (
	"fmt"
	"log/slog"
	"os"

	"gascity.dev/gc/mux/keeper"
	"gascity.dev/gc/mux/server"
)

// IsDaemon reports whether the process was started as a keeper or a server.
// main checks it first.
func IsDaemon(argv []string) bool { return keeper.IsDaemon(argv) }

// RunDaemon is the whole life of a keeper or a server; it returns the exit
// status.
func RunDaemon(argv []string) int {
	// A daemon's standard error is mux.log.
	slog.SetDefault(slog.New(slog.NewTextHandler(os.Stderr, nil)).With("process", argv[0], "pid", os.Getpid()))
	switch argv[0] {
	case keeper.Name:
		return keeper.Run(argv[2:])
	case keeper.ServerName:
		return server.Run(argv[2:])
	case keeper.SpawnName:
		return keeper.RunSpawn(argv[2:])
	}
	fmt.Fprintln(os.Stderr, "gc: not a daemon:", argv[0])
	return 2
}

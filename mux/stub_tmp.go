package mux

import (
	"context"
	"os"
)

func runKeeper([]string) int                                                        { return 1 }
func runServer([]string) int                                                        { return 1 }
func runSpawn([]string) int                                                         { return 1 }
func startKeeper(ctx context.Context, p Paths, version string, lock *os.File) error { return ErrStart }

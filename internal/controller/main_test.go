package controller

import (
	"context"
	"os"
	"testing"

	"go.uber.org/goleak"

	"gascity.dev/gc/internal/testenv"
	"gascity.dev/gc/mux"
)

func TestMain(m *testing.M) {
	if mux.IsDaemon(os.Args) {
		testenv.Exit(mux.RunDaemon(os.Args))
	}
	if os.Getenv(childEnv) != "" {
		os.Exit(childMain(context.Background()))
	}
	goleak.VerifyTestMain(m)
}

package keeper

import (
	"os"
	"testing"

	"go.uber.org/goleak"

	"gascity.dev/gc/internal/testenv"
)

// TestMain makes the test binary the keeper when it is executed as one.
func TestMain(m *testing.M) {
	switch {
	case os.Args[0] == Name:
		testenv.Exit(Run(os.Args[2:]))
	case os.Args[0] == SpawnName:
		testenv.Exit(RunSpawn(os.Args[2:]))
	}
	goleak.VerifyTestMain(m)
}

package vt_test

import (
	"flag"
	"os"
	"testing"
)

// TestMain draws the same inputs in every short run of the properties, so that
// the result does not depend on luck. The long form draws new ones:
//
//	go test ./vt -rapid.checks=100000
func TestMain(m *testing.M) {
	flag.Parse()
	checks, seed := flag.Lookup("rapid.checks"), flag.Lookup("rapid.seed")
	if checks != nil && seed != nil && checks.Value.String() == checks.DefValue && seed.Value.String() == seed.DefValue {
		if err := seed.Value.Set("20"); err != nil {
			panic(err)
		}
	}
	os.Exit(m.Run())
}

package attach

import (
	"testing"
	"time"

	"go.uber.org/goleak"
)

func TestMain(m *testing.M) {
	answerTime = 300 * time.Millisecond // most persons here answer nothing
	goleak.VerifyTestMain(m)
}

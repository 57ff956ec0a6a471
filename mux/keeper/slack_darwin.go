package keeper

import "time"

const keeperSlack = 0

func timerSlack() time.Duration { return 0 }

func withTimerSlack(_ time.Duration, do func()) { do() }

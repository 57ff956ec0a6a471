package agent

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"

	"gascity.dev/gc/runtime"
)

// hashes computes the fingerprints of a Config that holds only what config set.
func hashes(cfg runtime.Config) Hashes {
	h := func(v ...any) string {
		sum := sha256.Sum256(fmt.Appendf(nil, "%q", v))
		return hex.EncodeToString(sum[:])
	}
	return Hashes{
		Core:      h(cfg.Command, cfg.Env, cfg.FingerprintExtra, cfg.CopyFiles, cfg.Upstream),
		Launch:    h(cfg.Command, cfg.Upstream),
		Provision: h(cfg.Env, cfg.FingerprintExtra, cfg.CopyFiles),
		Live:      h(cfg.SessionLive),
	}
}

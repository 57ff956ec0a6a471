package agent

import "gascity.dev/gc/runtime"

// Hashes are the fingerprints of a spec; see the runtime contract.
type Hashes struct {
	Core, Launch, Provision, Live string
}

// hashes computes all of them; what gc itself sets is in none.
func hashes(cfg runtime.Config) Hashes {
	return Hashes{
		Core: runtime.CoreHash(cfg), Launch: runtime.LaunchHash(cfg),
		Provision: runtime.ProvisionHash(cfg), Live: runtime.LiveHash(cfg),
	}
}

package agent

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"

	"gascity.dev/gc/internal/config"
	"gascity.dev/gc/runtime"
)

// Hashes are the fingerprints of a spec: see runtime.CoreHash.
type Hashes struct {
	Core, Launch, Provision, Live string
}

// hashes computes all of them, without what gc itself sets.
func hashes(cfg runtime.Config) Hashes {
	return Hashes{
		Core: runtime.CoreHash(cfg), Launch: runtime.LaunchHash(cfg),
		Provision: runtime.ProvisionHash(cfg), Live: runtime.LiveHash(cfg),
	}
}

// digest covers everything the config says about an agent's start, including
// what is not part of the fingerprint, but nothing that depends on who starts
// the city.
func digest(r *config.Resolved, cfg runtime.Config) string {
	cfg.BaseEnv, cfg.Env = nil, nil // they have values from the starter's environment
	cfg.Record, cfg.RecordMax = false, 0
	b, err := json.Marshal(struct {
		Config           runtime.Config
		Env, ProviderEnv map[string]string
		Prompt           []string
	}{cfg, r.AgentEnv, r.ProviderEnv, append([]string{r.PromptMode, r.PromptFlag, r.PromptTemplate}, r.Fragments...)})
	if err != nil {
		return "" // changes are not detected then
	}
	sum := sha256.Sum256(b)
	return hex.EncodeToString(sum[:])
}

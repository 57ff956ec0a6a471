package program

import (
	"fmt"
	"slices"
	"strings"

	"gascity.dev/gc/mux/api"
	"gascity.dev/gc/mux/internal/limits"
	"gascity.dev/gc/mux/keys"
)

// maxRules is the maximum number of a session's status rules.
const maxRules = 100

// Check checks a request for a session.
func Check(r *api.CreateRequest) error {
	if err := api.CheckName(r.Name); err != nil {
		return err
	}
	if r.ID != "" {
		if err := api.CheckName(r.ID); err != nil {
			return fmt.Errorf("session id: %w", err)
		}
	}
	if r.Command != "" && len(r.Argv) > 0 {
		return fmt.Errorf("%w: command and argv are mutually exclusive", api.ErrRequest)
	}
	for _, s := range slices.Concat(r.Argv, r.Env, []string{r.Command, r.WorkDir}) {
		if strings.IndexByte(s, 0) >= 0 {
			return fmt.Errorf("%w: a NUL byte in the command, work dir or environment", api.ErrRequest)
		}
	}
	if err := limits.Check(r.Limits); err != nil {
		return err
	}
	if r.RecordingMax < 0 {
		return fmt.Errorf("%w: a recording of %d bytes", api.ErrRequest, r.RecordingMax)
	}
	if len(r.StatusRules) > maxRules {
		return fmt.Errorf("%w: %d status rules, at most %d", api.ErrTooLarge, len(r.StatusRules), maxRules)
	}
	if _, err := keys.Encode(nil, r.InterruptKeys, keys.Modes{}); err != nil {
		return fmt.Errorf("interrupt keys: %w", err)
	}
	for i := range r.StatusRules {
		if err := r.StatusRules[i].Check(); err != nil {
			return fmt.Errorf("%w: %w", api.ErrRequest, err)
		}
	}
	if len(r.LimitRules) > maxRules {
		return fmt.Errorf("%w: %d limit rules, at most %d", api.ErrTooLarge, len(r.LimitRules), maxRules)
	}
	for i := range r.LimitRules {
		if err := r.LimitRules[i].Check(); err != nil {
			return fmt.Errorf("%w: %w", api.ErrRequest, err)
		}
	}
	if _, err := keys.Encode(nil, r.Composer.Clear, keys.Modes{}); err != nil {
		return fmt.Errorf("%w: composer: %w", api.ErrRequest, err)
	}
	return api.CheckSize(r.Cols, r.Rows)
}

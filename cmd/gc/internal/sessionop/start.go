package sessionop

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"gascity.dev/gc/internal/clock"
	"gascity.dev/gc/internal/proctree"
	"gascity.dev/gc/mux/api"
	"gascity.dev/gc/runtime"
	"gascity.dev/gc/runtime/driver"
)

// startConfig is the start config of the protocol.
type startConfig struct {
	WorkDir   string            `json:"work_dir"`
	Command   string            `json:"command"`
	Env       map[string]string `json:"env"`
	Lifecycle string            `json:"lifecycle"`
	Cols      int               `json:"cols"`
	Rows      int               `json:"rows"`

	PreStart           []string `json:"pre_start"`
	SessionSetup       []string `json:"session_setup"`
	SessionSetupScript string   `json:"session_setup_script"`
	SessionLive        []string `json:"session_live"`

	PackOverlayDirs     []string   `json:"pack_overlay_dirs"`
	OverlayDir          string     `json:"overlay_dir"`
	ProviderName        string     `json:"provider_name"` // these three select overlays
	ProviderOverlayName string     `json:"provider_overlay_name"`
	InstallAgentHooks   []string   `json:"install_agent_hooks"`
	CopyFiles           []copyFile `json:"copy_files"`

	Nudge             string       `json:"nudge"`
	ReadyPromptPrefix string       `json:"ready_prompt_prefix"` // for wait-idle and the nudge; start does not wait
	ReadyDelay        clock.Millis `json:"ready_delay_ms"`      // before a nudge without a prefix to wait for
}

type copyFile struct {
	Src    string `json:"src"`
	RelDst string `json:"rel_dst"`
}

// forCallers are fields that only concern the caller, who reads the screen for
// readiness and dialogs, and compares fingerprints.
var forCallers = []string{"process_names", "emits_permission_warning", "accept_startup_dialogs", "mouse_on", "fingerprint_extra"}

// config reads the start config. It names unknown fields on standard error.
func (c *call) config() (startConfig, error) {
	data, err := c.stdin()
	if err != nil {
		return startConfig{}, err
	}
	var o startConfig
	if len(strings.TrimSpace(string(data))) == 0 {
		return o, nil
	}
	if err := json.Unmarshal(data, &o); err != nil {
		return o, fmt.Errorf("start config: %w", err)
	}
	var given map[string]json.RawMessage
	if err := json.Unmarshal(data, &given); err != nil {
		return o, fmt.Errorf("start config: %w", err)
	}
	c.nameUnknown(o, given)
	if o.WorkDir == "" {
		return o, nil
	}
	o.WorkDir, err = filepath.Abs(o.WorkDir)
	return o, err
}

func (c *call) nameUnknown(o startConfig, given map[string]json.RawMessage) {
	data, err := json.Marshal(o)
	if err != nil {
		return
	}
	var known map[string]json.RawMessage
	if json.Unmarshal(data, &known) != nil {
		return
	}
	for _, k := range slices.Sorted(maps.Keys(given)) {
		if _, ok := known[k]; !ok && !slices.Contains(forCallers, k) {
			c.say("start config: ignored unknown field %q", k)
		}
	}
}

// say tells the caller about something that does not end the operation.
func (c *call) say(format string, args ...any) {
	text := strings.ReplaceAll(fmt.Sprintf(format, args...), c.name, c.label)
	fmt.Fprintf(c.Err, "%s: %s: %s\n", c.Program, c.label, strings.ReplaceAll(text, "\n", "; "))
}

// runtimeConfig is the part for the start sequence: commands and files, without
// waiting for readiness.
func (o *startConfig) runtimeConfig() runtime.Config {
	cfg := runtime.Config{
		WorkDir: o.WorkDir, Command: o.Command, Env: o.Env, Lifecycle: o.Lifecycle,
		PreStart: o.PreStart, SessionSetup: o.SessionSetup, SessionSetupScript: o.SessionSetupScript, SessionLive: o.SessionLive,
		PackOverlayDirs: o.PackOverlayDirs, OverlayDir: o.OverlayDir,
		ProviderName: o.ProviderName, ProviderOverlayName: o.ProviderOverlayName, InstallAgentHooks: o.InstallAgentHooks,
	}
	for _, f := range o.CopyFiles {
		cfg.CopyFiles = append(cfg.CopyFiles, runtime.CopyFile{Src: f.Src, RelDst: f.RelDst})
	}
	return cfg
}

// opStart carries out the start config in order: pre-start commands, overlays,
// files, the session, setup and live commands, the nudge. Readiness and dialogs
// are left to the caller.
func opStart(c *call) error {
	o, err := c.config()
	if err != nil {
		return err
	}
	if running, err := c.p.IsRunning(c.ctx, c.name); err != nil {
		return c.startError(err)
	} else if running {
		return fmt.Errorf("start %s: %w", c.label, runtime.ErrSessionExists)
	}
	id := ""
	err = driver.RunStart(c.ctx, c.label, o.runtimeConfig(), driver.Hooks{
		Create:  func(ctx context.Context) (err error) { id, err = c.create(ctx, &o); return err },
		Destroy: func(ctx context.Context) error { return c.p.Stop(ctx, c.name) },
		Report: func(s runtime.Step) {
			if s.Warning {
				c.say("%s: %v", s.Name, s.Err)
			}
		},
	})
	if err != nil {
		return c.startError(err)
	}
	if o.Nudge != "" {
		if err := c.startNudge(id, &o); err != nil {
			c.say("nudge: %v", err)
		}
	}
	return forgetBox(c.name) // the session is the box now
}

func (c *call) startError(err error) error {
	if errors.Is(err, api.ErrUnreachable) {
		return &statusError{statusTemporary, err}
	}
	return fmt.Errorf("start %s: %w", c.label, err)
}

// create creates the session and returns its id. A GC_SESSION_ID of the caller
// is passed to the program and is never that id: callers count from 1.
func (c *call) create(ctx context.Context, o *startConfig) (string, error) {
	client, err := c.p.EnsureClient(ctx)
	if err != nil {
		return "", err
	}
	info, err := client.Create(ctx, api.CreateRequest{
		Name: c.name, Command: o.Command, WorkDir: o.WorkDir, Env: runtime.Environment(os.Environ(), o.Env),
		Cols: o.Cols, Rows: o.Rows, ReadyPrefix: o.ReadyPromptPrefix, KeepSessionID: o.Env[proctree.SessionVar] != "",
		Meta: map[string]string{metaName: c.label, metaScope: string(cityScope(o.Env))},
	})
	return info.ID, err
}

// Waits before the nudge of a start that has no ready prompt.
const (
	paintedQuiet = 400 * time.Millisecond // the screen has not changed for so long
	paintedLimit = 3 * time.Second
	delayLimit   = time.Minute
	dialogLimit  = 3 * time.Second // the caller answers dialogs after the start
)

// startNudge types the nudge when the program is ready. With a ready prompt it
// queues the nudge, and the multiplexer types it after all dialogs.
func (c *call) startNudge(id string, o *startConfig) error {
	client, err := c.p.Client(c.ctx)
	if err != nil {
		return err
	}
	if o.ReadyPromptPrefix != "" {
		_, err := client.Enqueue(c.ctx, api.QueueRequest{Target: c.name, Session: id, Text: o.Nudge, Policy: api.PolicyWaitIdle})
		return err
	}
	if delay := min(time.Duration(o.ReadyDelay), delayLimit); delay > 0 {
		if err := clock.Sleep(c.ctx, delay); err != nil {
			return err
		}
	} else {
		painted, cancel := context.WithTimeout(c.ctx, paintedLimit)
		_, _ = client.Wait(painted, id, api.WaitRequest{Conditions: []api.Condition{{Quiet: paintedQuiet}, {Exit: true}}})
		cancel()
	}
	r, err := client.Nudge(c.ctx, id, api.NudgeRequest{Text: o.Nudge, Timeout: dialogLimit})
	if err == nil && r.State != api.Submitted {
		err = fmt.Errorf("%s %s: %s", r.State, r.By, r.Detail)
	}
	return err
}

// opRelaunch replaces the program with the command of the start config.
func opRelaunch(c *call) error {
	o, err := c.config()
	if err != nil {
		return err
	}
	cfg := o.runtimeConfig()
	cfg.ReadyPromptPrefix = o.ReadyPromptPrefix
	return c.p.Relaunch(c.ctx, c.name, cfg)
}

// opRunLive runs the live commands again. It reports failures and continues.
func opRunLive(c *call) error {
	o, err := c.config()
	if err != nil {
		return err
	}
	if gone, err := c.gone(); gone || err != nil {
		return err
	}
	cfg := o.runtimeConfig()
	driver.RunLive(c.ctx, c.label, cfg, nil, func(s runtime.Step) {
		if s.Err != nil {
			c.say("session_live: %v", s.Err)
		}
	})
	return nil
}

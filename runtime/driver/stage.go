package driver

import (
	"context"
	"errors"
	"fmt"
	"os"
	"slices"

	"gascity.dev/gc/internal/staging"
	"gascity.dev/gc/runtime"
)

// StageLocal stages into a work dir on this machine: overlays, then CopyFiles. A
// path that leads out of its tree is ErrPathEscapes.
func StageLocal(ctx context.Context, cfg runtime.Config) error {
	if cfg.WorkDir == "" {
		return errors.New("files to stage, but no work dir")
	}
	if info, err := os.Stat(cfg.WorkDir); err != nil {
		return fmt.Errorf("work dir: %w", err)
	} else if !info.IsDir() {
		return fmt.Errorf("work dir %s: not a directory", cfg.WorkDir)
	}
	p := StagePlan(cfg)
	if err := staging.Overlay(ctx, cfg.WorkDir, p.Overlays, p.Slots); err != nil {
		return StagingError(err)
	}
	return StagingError(staging.CopyAll(ctx, cfg.WorkDir, p.Copies))
}

// StagePlan returns what to stage for a session.
func StagePlan(cfg runtime.Config) staging.Plan {
	dirs := slices.Clone(cfg.PackOverlayDirs)
	if cfg.OverlayDir != "" {
		dirs = append(dirs, cfg.OverlayDir)
	}
	p := staging.Plan{Overlays: dirs, Slots: staging.Slots(dirs, cfg.ProviderOverlayName, cfg.ProviderName, cfg.InstallAgentHooks)}
	for _, c := range cfg.CopyFiles {
		p.Copies = append(p.Copies, staging.Copy{Src: c.Src, RelDst: c.RelDst, Optional: c.Probed})
	}
	return p
}

// CopyLocal is CopyTo for a work dir on this machine: nil for a missing
// source, ErrPathEscapes for a path or link that leads out of its tree.
func CopyLocal(ctx context.Context, workDir, src, relDst string) error {
	return StagingError(staging.CopyAll(ctx, workDir, []staging.Copy{{Src: src, RelDst: relDst, Optional: true}}))
}

// StagingError makes staging's errors those of the contract.
func StagingError(err error) error {
	if errors.Is(err, staging.ErrEscapes) {
		return fmt.Errorf("%w: %w", runtime.ErrPathEscapes, err)
	}
	return err
}

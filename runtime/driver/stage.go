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
	dirs := slices.Clone(cfg.PackOverlayDirs)
	if cfg.OverlayDir != "" {
		dirs = append(dirs, cfg.OverlayDir)
	}
	slots := staging.Slots(dirs, cfg.ProviderOverlayName, cfg.ProviderName, cfg.InstallAgentHooks)
	if err := staging.Overlay(ctx, cfg.WorkDir, dirs, slots); err != nil {
		return stagingError(err)
	}
	copies := make([]staging.Copy, len(cfg.CopyFiles))
	for i, c := range cfg.CopyFiles {
		copies[i] = staging.Copy{Src: c.Src, RelDst: c.RelDst, Optional: c.Probed}
	}
	return stagingError(staging.CopyAll(ctx, cfg.WorkDir, copies))
}

// CopyLocal is CopyTo for a work dir on this machine: nil for a missing
// source, ErrPathEscapes for a path or link that leads out of its tree.
func CopyLocal(ctx context.Context, workDir, src, relDst string) error {
	return stagingError(staging.CopyAll(ctx, workDir, []staging.Copy{{Src: src, RelDst: relDst, Optional: true}}))
}

func stagingError(err error) error {
	if errors.Is(err, staging.ErrEscapes) {
		return fmt.Errorf("%w: %w", runtime.ErrPathEscapes, err)
	}
	return err
}

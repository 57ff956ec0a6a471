package image

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"os"
	"slices"
	"time"
)

// programs is where programs are in an image.
const programs = "usr/local/bin/"

const (
	passwd = "root:x:0:0:root:/:/sbin/nologin\nagent:x:1000:1000:agent:/home/agent:/bin/sh\n"
	group  = "root:x:0:\nagent:x:1000:\n"
)

// layer returns the one layer of an image, compressed, and the digest of its tar.
func layer(p Platform) (data []byte, diff string, err error) {
	var out bytes.Buffer
	z := gzip.NewWriter(&out)
	sum := sha256.New()
	w := tree{tar.NewWriter(io.MultiWriter(z, sum))}
	if err := w.write(p); err != nil {
		return nil, "", err
	}
	if err := w.tar.Close(); err != nil {
		return nil, "", err
	}
	if err := z.Close(); err != nil {
		return nil, "", err
	}
	return out.Bytes(), "sha256:" + hex.EncodeToString(sum.Sum(nil)), nil
}

// tree is the files of a layer.
type tree struct{ tar *tar.Writer }

func (t tree) write(p Platform) error {
	for _, e := range []struct {
		name  string
		mode  int64
		owner int
		text  string // of a file
	}{
		{"etc/", 0o755, 0, ""}, {"etc/group", 0o644, 0, group}, {"etc/passwd", 0o644, 0, passwd},
		{"home/", 0o755, 0, ""}, {"home/agent/", 0o755, 1000, ""}, {"tmp/", 0o1777, 0, ""},
		{"usr/", 0o755, 0, ""}, {"usr/local/", 0o755, 0, ""}, {programs, 0o755, 0, ""},
	} {
		h := &tar.Header{Typeflag: tar.TypeDir, Name: e.name, Mode: e.mode, Uid: e.owner, Gid: e.owner}
		if e.text != "" {
			h.Typeflag, h.Size = tar.TypeReg, int64(len(e.text))
		}
		if err := t.header(h); err != nil {
			return err
		}
		if _, err := io.WriteString(t.tar, e.text); err != nil {
			return err
		}
	}
	for _, name := range slices.Sorted(maps.Keys(p.Programs)) {
		if err := t.program(name, p.Programs[name], p.Arch); err != nil {
			return err
		}
	}
	return nil
}

func (t tree) header(h *tar.Header) error {
	h.ModTime, h.Format = time.Unix(0, 0), tar.FormatUSTAR
	return t.tar.WriteHeader(h)
}

func (t tree) program(name, file, arch string) error {
	f, err := os.Open(file)
	if err != nil {
		return err
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil {
		return err
	}
	if got, err := Arch(f); err != nil {
		return fmt.Errorf("%s: %w", file, err)
	} else if got != arch {
		return fmt.Errorf("%s: a program for linux/%s, want linux/%s", file, got, arch)
	}
	if _, err := f.Seek(0, io.SeekStart); err != nil {
		return err
	}
	if err := t.header(&tar.Header{Typeflag: tar.TypeReg, Name: programs + name, Mode: int64(fs.FileMode(0o755)), Size: info.Size()}); err != nil {
		return err
	}
	if _, err = io.Copy(t.tar, f); err != nil {
		return fmt.Errorf("%s: %w", file, err)
	}
	return nil
}

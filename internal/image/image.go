// Package image writes a container image with gc in it, without a container tool.
//
// Its invariant: the same programs and name give the same bytes. What it writes is an OCI
// image layout in a tar, with the file by which older tools find the first platform's image.
// It knows programs as files and runs none. gc image build calls it.
package image

import (
	"archive/tar"
	"bytes"
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"io"
	"regexp"
	"slices"
	"strings"
	"sync"
	"time"
)

// Image is an image for one or more platforms of Linux. It holds the programs, in
// /usr/local/bin, an empty /tmp and /home/agent, and a user 1000.
type Image struct {
	Name      string // with a tag, and a registry unless it is Docker's: "gc.local/gc:1"
	Version   string // of gc
	Platforms []Platform
}

// Platform is the image for one architecture.
type Platform struct {
	Arch     string            // Go's word: amd64
	Programs map[string]string // name: file of this machine
}

// Media types of the OCI image specification, version 1.
const (
	typeIndex    = "application/vnd.oci.image.index.v1+json"
	typeManifest = "application/vnd.oci.image.manifest.v1+json"
	typeConfig   = "application/vnd.oci.image.config.v1+json"
	typeLayer    = "application/vnd.oci.image.layer.v1.tar+gzip"
)

// Labels and annotations that tools read.
const (
	labelTitle   = "org.opencontainers.image.title"
	labelVersion = "org.opencontainers.image.version"
	noteTag      = "org.opencontainers.image.ref.name"
	noteName     = "io.containerd.image.name"
)

type descriptor struct {
	MediaType   string            `json:"mediaType"`
	Digest      string            `json:"digest"`
	Size        int               `json:"size"`
	Platform    *osArch           `json:"platform,omitempty"`
	Annotations map[string]string `json:"annotations,omitempty"`
}

type osArch struct {
	OS   string `json:"os"`
	Arch string `json:"architecture"`
}

type manifest struct {
	SchemaVersion int          `json:"schemaVersion"`
	MediaType     string       `json:"mediaType"`
	Config        descriptor   `json:"config"`
	Layers        []descriptor `json:"layers"`
}

type index struct {
	SchemaVersion int          `json:"schemaVersion"`
	MediaType     string       `json:"mediaType"`
	Manifests     []descriptor `json:"manifests"`
}

type config struct {
	Created string   `json:"created"`
	OS      string   `json:"os"`
	Arch    string   `json:"architecture"`
	Config  settings `json:"config"`
	RootFS  struct {
		Type  string   `json:"type"`
		Diffs []string `json:"diff_ids"`
	} `json:"rootfs"`
}

type settings struct {
	User       string
	Env        []string
	Entrypoint []string
	WorkingDir string
	Labels     map[string]string
}

// dockerManifest is the list of images that Docker before version 25 reads.
type dockerManifest struct {
	Config   string
	RepoTags []string
	Layers   []string
}

// Write writes the image and returns its digest. An error names the name or the program that
// is wrong.
func (i Image) Write(w io.Writer) (digest string, err error) {
	name, err := ParseName(i.Name)
	if err != nil {
		return "", err
	}
	a := &layout{tar: tar.NewWriter(w)}
	platforms := slices.SortedFunc(slices.Values(i.Platforms), func(a, b Platform) int { return cmp.Compare(a.Arch, b.Arch) })
	var all []descriptor
	for n, p := range platforms {
		if n > 0 && p.Arch == platforms[n-1].Arch {
			return "", fmt.Errorf("two programs for linux/%s", p.Arch)
		}
		d, err := a.platform(p, i.Version, name)
		if err != nil {
			return "", err
		}
		all = append(all, d)
	}
	if len(all) == 0 {
		return "", fmt.Errorf("an image needs a program")
	}
	top := all[0]
	if len(all) > 1 {
		top = a.json(typeIndex, index{2, typeIndex, all})
	}
	digest = top.Digest
	top.Annotations = map[string]string{noteName: name.full(), noteTag: name.Tag}
	a.file("index.json", encode(index{2, typeIndex, []descriptor{top}}))
	a.file("manifest.json", encode([]dockerManifest{a.docker}))
	a.file("oci-layout", encode(map[string]string{"imageLayoutVersion": "1.0.0"}))
	return digest, a.close()
}

// layout is an OCI image layout that is being written.
type layout struct {
	tar    *tar.Writer
	docker dockerManifest // of the first platform
	dirs   bool           // they were written
	seen   []string       // digests
	err    error          // of the first write that failed
}

func (a *layout) platform(p Platform, version string, name Name) (descriptor, error) {
	layer, diff, err := layer(p)
	if err != nil {
		return descriptor{}, err
	}
	c := config{
		Created: time.Unix(0, 0).UTC().Format(time.RFC3339), OS: "linux", Arch: p.Arch,
		Config: settings{
			User: "1000:1000", Env: []string{"PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"},
			Entrypoint: []string{"/" + programs + "gc"}, WorkingDir: "/",
			Labels: map[string]string{labelTitle: "gc", labelVersion: version},
		},
	}
	c.RootFS.Type, c.RootFS.Diffs = "layers", []string{diff}
	m := manifest{2, typeManifest, a.json(typeConfig, c), []descriptor{a.blob(typeLayer, layer)}}
	if a.docker.Config == "" {
		a.docker = dockerManifest{blobPath(m.Config.Digest), []string{name.String()}, []string{blobPath(m.Layers[0].Digest)}}
	}
	d := a.json(typeManifest, m)
	d.Platform = &osArch{"linux", p.Arch}
	return d, nil
}

func (a *layout) json(mediaType string, v any) descriptor { return a.blob(mediaType, encode(v)) }

// blob writes data under its digest.
func (a *layout) blob(mediaType string, data []byte) descriptor {
	if !a.dirs {
		a.dirs = true
		for _, dir := range []string{"blobs/", "blobs/sha256/"} {
			a.header(&tar.Header{Typeflag: tar.TypeDir, Name: dir, Mode: 0o755})
		}
	}
	d := descriptor{MediaType: mediaType, Digest: digestOf(data), Size: len(data)}
	if !slices.Contains(a.seen, d.Digest) {
		a.seen = append(a.seen, d.Digest)
		a.file(blobPath(d.Digest), data)
	}
	return d
}

func (a *layout) file(name string, data []byte) {
	a.header(&tar.Header{Typeflag: tar.TypeReg, Name: name, Mode: 0o644, Size: int64(len(data))})
	if a.err == nil {
		_, a.err = a.tar.Write(data)
	}
}

func (a *layout) header(h *tar.Header) {
	h.ModTime, h.Format = time.Unix(0, 0), tar.FormatUSTAR
	if a.err == nil {
		a.err = a.tar.WriteHeader(h)
	}
}

func (a *layout) close() error {
	if a.err != nil {
		return a.err
	}
	return a.tar.Close()
}

func blobPath(digest string) string { return "blobs/" + strings.Replace(digest, ":", "/", 1) }

func digestOf(data []byte) string {
	sum := sha256.Sum256(data)
	return "sha256:" + hex.EncodeToString(sum[:])
}

// encode returns JSON; maps are in the order of their keys.
func encode(v any) []byte {
	var b bytes.Buffer
	_ = json.NewEncoder(&b).Encode(v) // no value here can fail
	return bytes.TrimRight(b.Bytes(), "\n")
}

// Name is the name of an image.
type Name struct {
	Repository string // as written
	Tag        string
}

// String is the name as written.
func (n Name) String() string { return n.Repository + ":" + n.Tag }

// full is the name as containerd and a kubelet write it.
func (n Name) full() string {
	first, _, more := strings.Cut(n.Repository, "/")
	switch {
	case more && (strings.ContainsAny(first, ".:") || first == "localhost"):
		return n.String()
	case more:
		return "docker.io/" + n.String()
	}
	return "docker.io/library/" + n.String()
}

// nameForm is a repository of the OCI distribution specification, with an optional registry,
// and a tag.
var nameForm = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`^((?:[A-Za-z0-9.-]+(?::[0-9]+)?/)?[a-z0-9]+(?:(?:\.|_|__|-+)[a-z0-9]+)*(?:/[a-z0-9]+(?:(?:\.|_|__|-+)[a-z0-9]+)*)*):([A-Za-z0-9_][A-Za-z0-9_.-]{0,127})$`)
})

// ParseName parses the name of an image, which must have a tag.
func ParseName(s string) (Name, error) {
	m := nameForm().FindStringSubmatch(s)
	if m == nil || len(s) > 255 {
		return Name{}, fmt.Errorf("image name %q: want REGISTRY/NAME:TAG", s)
	}
	return Name{m[1], m[2]}, nil
}

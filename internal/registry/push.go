//go:build k8s

package registry

import (
	"archive/tar"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"path"

	"github.com/google/go-containerregistry/pkg/authn"
	"github.com/google/go-containerregistry/pkg/name"
	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/layout"
	"github.com/google/go-containerregistry/pkg/v1/remote"
	"github.com/google/go-containerregistry/pkg/v1/remote/transport"
)

// ErrDenied is the error of a registry that wants other credentials.
var ErrDenied = errors.New("the registry denies access")

// Options say how to reach a registry.
type Options struct {
	PlainHTTP bool   // without TLS; a registry on this machine needs no option
	UserAgent string // of the requests
}

// Push sends an image to the registry in its name and returns its digest. archive writes the
// image as an OCI layout in a tar, with one image or one index. The credentials are those of
// docker login (DOCKER_CONFIG, ~/.docker/config.json and its helpers) or podman login.
func Push(ctx context.Context, ref string, archive func(io.Writer) error, o Options) (digest string, err error) {
	var parsing []name.Option
	if o.PlainHTTP {
		parsing = append(parsing, name.Insecure)
	}
	to, err := name.ParseReference(ref, parsing...)
	if err != nil {
		return "", err
	}
	dir, err := os.MkdirTemp("", "gc-image-")
	if err != nil {
		return "", err
	}
	defer os.RemoveAll(dir)
	if err := unpack(dir, archive); err != nil {
		return "", err
	}
	pushed, err := send(to, dir, remote.WithContext(ctx), remote.WithUserAgent(o.UserAgent), remote.WithAuthFromKeychain(authn.DefaultKeychain))
	if err != nil {
		return "", failure(to, err)
	}
	return pushed.String(), nil
}

// unpack writes the files of the archive below dir.
func unpack(dir string, archive func(io.Writer) error) error {
	root, err := os.OpenRoot(dir)
	if err != nil {
		return err
	}
	defer root.Close()
	from, to := io.Pipe()
	go func() { to.CloseWithError(archive(to)) }()
	defer from.Close() // ends the writer
	for r := tar.NewReader(from); ; {
		h, err := r.Next()
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err == nil && h.Typeflag == tar.TypeReg {
			err = writeFile(root, h.Name, r)
		}
		if err != nil {
			return err
		}
	}
}

func writeFile(root *os.Root, file string, from io.Reader) error {
	if err := root.MkdirAll(path.Dir(file), 0o700); err != nil {
		return err
	}
	f, err := root.Create(file)
	if err != nil {
		return err
	}
	_, err = io.Copy(f, from)
	return errors.Join(err, f.Close())
}

// send sends the one image, or index, of a layout.
func send(to name.Reference, dir string, options ...remote.Option) (v1.Hash, error) {
	all, err := layout.ImageIndexFromPath(dir)
	if err != nil {
		return v1.Hash{}, err
	}
	manifest, err := all.IndexManifest()
	if err != nil {
		return v1.Hash{}, err
	}
	if n := len(manifest.Manifests); n != 1 {
		return v1.Hash{}, fmt.Errorf("an archive with %d images, want one", n)
	}
	top := manifest.Manifests[0]
	if top.MediaType.IsIndex() {
		index, err := all.ImageIndex(top.Digest)
		if err != nil {
			return v1.Hash{}, err
		}
		return top.Digest, remote.WriteIndex(to, index, options...)
	}
	image, err := all.Image(top.Digest)
	if err != nil {
		return v1.Hash{}, err
	}
	return top.Digest, remote.Write(to, image, options...)
}

// failure maps an error of a registry.
func failure(to name.Reference, err error) error {
	var refused *transport.Error
	if errors.As(err, &refused) && (refused.StatusCode == http.StatusUnauthorized || refused.StatusCode == http.StatusForbidden) {
		return fmt.Errorf("push %s: %w: %w", to, ErrDenied, err)
	}
	return fmt.Errorf("push %s: %w", to, err)
}

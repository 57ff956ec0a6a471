//go:build linux

package k8snode

import (
	"archive/tar"
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	goruntime "runtime"
	"sort"
	"strings"
)

// Image is a container image of one layer. Its pods must not set
// imagePullPolicy: Always, because no registry has it.
type Image struct {
	Name  string            // with a tag: "gc.local/box:1"
	Files map[string]string // path in the image: file of this machine, executable
	Links map[string]string // path in the image: target
	Texts map[string]string // path in the image: content
	Cmd   []string
}

// Busybox is an image with a shell and every applet of the machine's static
// busybox, and user 1000.
func Busybox(ctx context.Context, name string) (Image, error) {
	box, err := lookPath("busybox")
	if err != nil {
		return Image{}, err
	}
	list, err := output(ctx, "", box, "--list")
	if err != nil {
		return Image{}, err
	}
	image := Image{
		Name:  name,
		Files: map[string]string{"bin/busybox": box},
		Links: map[string]string{},
		Texts: accounts("/bin/sh"),
		Cmd:   []string{"/bin/sh"},
	}
	for _, applet := range strings.Fields(list) {
		if applet != "busybox" {
			image.Links["bin/"+applet] = "busybox"
		}
	}
	return image, nil
}

// Bare is an image without a shell: one static program of this machine, at
// /bin/BASE, and user 1000.
func Bare(name, program string) Image {
	at := "bin/" + filepath.Base(program)
	return Image{Name: name, Files: map[string]string{at: program}, Texts: accounts("/nonexistent"), Cmd: []string{"/" + at}}
}

func accounts(shell string) map[string]string {
	return map[string]string{
		"etc/passwd": "root:x:0:0::/:" + shell + "\nuser:x:1000:1000::/home/user:" + shell + "\n",
		"etc/group":  "root:x:0:\nuser:x:1000:\n",
	}
}

// Import makes an image known to the node.
func (n *Node) Import(ctx context.Context, image Image) error {
	data, err := image.archive()
	if err != nil {
		return err
	}
	file := filepath.Join(n.dir, "image.tar")
	if err := os.WriteFile(file, data, 0o600); err != nil {
		return err
	}
	defer os.Remove(file)
	return n.ImportFile(ctx, file)
}

// ImportFile makes the images in an archive known to the node.
func (n *Node) ImportFile(ctx context.Context, file string) error {
	_, err := output(ctx, "", "ctr", "--address", n.socket(), "--namespace", "k8s.io", "images", "import", file)
	return err
}

// archive returns the image as `docker save` writes it. The same image gives
// the same bytes.
func (i Image) archive() ([]byte, error) {
	layer, err := i.layer()
	if err != nil {
		return nil, err
	}
	sum := sha256.Sum256(layer)
	config, err := json.Marshal(map[string]any{
		"os": "linux", "architecture": goruntime.GOARCH,
		"config": map[string]any{"Cmd": i.Cmd, "Env": []string{"PATH=/usr/local/bin:/usr/bin:/bin"}},
		"rootfs": map[string]any{"type": "layers", "diff_ids": []string{"sha256:" + hex.EncodeToString(sum[:])}},
	})
	if err != nil {
		return nil, err
	}
	manifest, err := json.Marshal([]map[string]any{{"Config": "config.json", "RepoTags": []string{i.Name}, "Layers": []string{"layer.tar"}}})
	if err != nil {
		return nil, err
	}
	w := newArchive()
	w.file("config.json", 0o644, config)
	w.file("layer.tar", 0o644, layer)
	w.file("manifest.json", 0o644, manifest)
	return w.finish()
}

func (i Image) layer() ([]byte, error) {
	w := newArchive()
	w.dir("tmp", fs.ModeSticky|0o777, 0)
	w.dir("home/user", 0o755, 1000)
	for _, name := range sorted(i.Files) {
		data, err := os.ReadFile(i.Files[name])
		if err != nil {
			return nil, err
		}
		w.file(name, 0o755, data)
	}
	for _, name := range sorted(i.Texts) {
		w.file(name, 0o644, []byte(i.Texts[name]))
	}
	for _, name := range sorted(i.Links) {
		w.add(&tar.Header{Typeflag: tar.TypeSymlink, Name: name, Linkname: i.Links[name]}, nil)
	}
	return w.finish()
}

// archiver writes a tar with every directory before what is in it.
type archiver struct {
	out  bytes.Buffer
	tar  *tar.Writer
	dirs map[string]bool
	err  error
}

func newArchive() *archiver {
	a := &archiver{dirs: map[string]bool{".": true}}
	a.tar = tar.NewWriter(&a.out)
	return a
}

func (a *archiver) file(name string, mode int64, data []byte) {
	a.add(&tar.Header{Typeflag: tar.TypeReg, Name: name, Mode: mode, Size: int64(len(data))}, data)
}

func (a *archiver) dir(name string, mode fs.FileMode, owner int) {
	bits := int64(mode.Perm())
	if mode&fs.ModeSticky != 0 {
		bits |= 0o1000
	}
	a.add(&tar.Header{Typeflag: tar.TypeDir, Name: name + "/", Mode: bits, Uid: owner, Gid: owner}, nil)
	a.dirs[name] = true
}

func (a *archiver) add(h *tar.Header, data []byte) {
	if parent := path.Dir(strings.TrimSuffix(h.Name, "/")); !a.dirs[parent] {
		a.dir(parent, 0o755, 0)
	}
	if a.err == nil {
		a.err = a.tar.WriteHeader(h)
	}
	if a.err == nil {
		_, a.err = a.tar.Write(data)
	}
}

func (a *archiver) finish() ([]byte, error) {
	if a.err != nil {
		return nil, fmt.Errorf("write an image: %w", a.err)
	}
	err := a.tar.Close()
	return a.out.Bytes(), err
}

func sorted(m map[string]string) []string {
	names := make([]string, 0, len(m))
	for name := range m {
		names = append(names, name)
	}
	sort.Strings(names)
	return names
}

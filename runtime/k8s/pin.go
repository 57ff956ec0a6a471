//go:build k8s

package k8s

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"

	"gascity.dev/gc/runtime"
)

// pin remembers the cluster of a city by the UID of its namespace. A context that was
// switched to another cluster, where no session of the city runs, would otherwise look as
// if all of them had ended.
type pin struct {
	file      string
	namespace string
	client    kubernetes.Interface

	mu sync.Mutex
	at time.Time // of the last check that succeeded
}

// pinAge is how long a check holds for what ends sessions.
const pinAge = 10 * time.Second

// again is check unless the last one was a moment ago.
func (p *pin) again(ctx context.Context) error {
	p.mu.Lock()
	fresh := !p.at.IsZero() && time.Since(p.at) < pinAge
	p.mu.Unlock()
	if fresh {
		return nil
	}
	return p.check(ctx)
}

// check compares the cluster with the remembered one, and remembers the first.
func (p *pin) check(ctx context.Context) error {
	namespace, err := p.client.CoreV1().Namespaces().Get(ctx, p.namespace, metav1.GetOptions{})
	switch {
	case apierrors.IsNotFound(err):
		return &noNamespace{p.namespace}
	case err != nil:
		return fmt.Errorf("%w: %w", runtime.ErrBackendUnreachable, err)
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	if err := p.compare(string(namespace.UID)); err != nil {
		return err
	}
	p.at = time.Now()
	return nil
}

// compare compares a UID with the file's, or writes it.
func (p *pin) compare(uid string) error {
	if p.file == "" {
		return nil
	}
	kept, err := os.ReadFile(p.file)
	if errors.Is(err, fs.ErrNotExist) {
		return writeFile(p.file, uid+"\n")
	}
	if err != nil {
		return err
	}
	if strings.TrimSpace(string(kept)) != uid {
		return &OtherCluster{Namespace: p.namespace, File: p.file}
	}
	return nil
}

// OtherCluster is the error of a cluster that is not the one where the city's pods are. It
// matches runtime.ErrBackendUnreachable: nothing is known about them.
type OtherCluster struct{ Namespace, File string }

// Error is one line.
func (e *OtherCluster) Error() string {
	return fmt.Sprintf("%v: namespace %s is not the one that the city's pods were started in", runtime.ErrBackendUnreachable, e.Namespace)
}

// Hint is the next step.
func (e *OtherCluster) Hint() string {
	return "select the city's cluster (kubectl config use-context), or remove " + e.File + " if it is gone for good"
}

// Is makes errors.Is(err, runtime.ErrBackendUnreachable) true.
func (e *OtherCluster) Is(target error) bool { return target == runtime.ErrBackendUnreachable }

// noNamespace is the error of a cluster without the city's namespace. It matches
// runtime.ErrBackendUnreachable, as OtherCluster does.
type noNamespace struct{ name string }

func (e *noNamespace) Error() string {
	return fmt.Sprintf("%v: the cluster has no namespace %s", runtime.ErrBackendUnreachable, e.name)
}

// Hint is the next step.
func (e *noNamespace) Hint() string {
	return "kubectl create namespace " + e.name + ", or change namespace in [session.k8s]"
}

// Is makes errors.Is(err, runtime.ErrBackendUnreachable) true.
func (e *noNamespace) Is(target error) bool { return target == runtime.ErrBackendUnreachable }

// writeFile writes a file, which is whole or absent.
func writeFile(path, text string) error {
	f, err := os.CreateTemp(filepath.Dir(path), "."+filepath.Base(path)+"-*")
	if err != nil {
		return err
	}
	_, err = f.WriteString(text)
	if err = errors.Join(err, f.Close()); err == nil {
		err = os.Rename(f.Name(), path)
	}
	if err != nil {
		os.Remove(f.Name())
	}
	return err
}

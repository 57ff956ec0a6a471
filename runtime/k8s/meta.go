//go:build k8s

package k8s

import (
	"context"
	"fmt"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"gascity.dev/gc/runtime"
	"gascity.dev/gc/runtime/driver"
	"gascity.dev/gc/runtime/k8s/internal/names"
	"gascity.dev/gc/runtime/k8s/internal/podstate"
)

// SetMeta implements runtime.Provider. The pod's multiplexer has the value too, for
// programs in the pod.
func (p *Provider) SetMeta(ctx context.Context, name, key, value string) error {
	err := p.setMeta(ctx, name, key, &value)
	if err != nil {
		return fmt.Errorf("set meta of %s: %w", name, err)
	}
	return nil
}

// RemoveMeta implements runtime.Provider.
func (p *Provider) RemoveMeta(ctx context.Context, name, key string) error {
	return driver.BestEffort("remove meta of", name, p.setMeta(ctx, name, key, nil))
}

// setMeta sets a value, or removes it.
func (p *Provider) setMeta(ctx context.Context, name, key string, value *string) error {
	pod, err := p.get(ctx, name)
	if err != nil {
		return err
	}
	if pod == nil || !p.runs(pod) {
		return runtime.ErrSessionNotFound
	}
	annotation := names.MetadataName(key)
	var text *string
	if value != nil {
		if err := names.CheckMetadata(pod.Annotations, key, *value); err != nil {
			return err
		}
		_, encoded := names.Encode(key, *value)
		text = &encoded
		err = p.Forward.SetMeta(ctx, name, key, *value)
	} else {
		err = p.Forward.RemoveMeta(ctx, name, key)
	}
	if err != nil {
		return err
	}
	return p.annotate(ctx, pod.Name, string(pod.UID), annotation, text)
}

// annotate sets or removes an annotation of a pod and returns once the cache has it.
func (p *Provider) annotate(ctx context.Context, pod, uid, name string, text *string) error {
	at := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Name: pod, UID: types.UID(uid)}}
	if _, err := p.pods.Annotate(ctx, at, map[string]*string{name: text}); err != nil {
		return err
	}
	_, err := p.pods.Await(ctx, pod, func(seen *corev1.Pod) bool {
		if seen == nil || string(seen.UID) != uid {
			return true
		}
		now, is := seen.Annotations[name]
		return is == (text != nil) && (text == nil || now == *text)
	})
	return err
}

// GetMeta implements runtime.Provider. It makes no request.
func (p *Provider) GetMeta(ctx context.Context, name, key string) (string, error) {
	pod, err := p.get(ctx, name)
	if err != nil {
		return "", fmt.Errorf("meta of %s: %w", name, err)
	}
	if pod == nil || podstate.Stopped(pod) {
		return "", nil
	}
	text, is := pod.Annotations[names.MetadataName(key)]
	if !is {
		return "", nil
	}
	value, err := names.Decode(map[string]string{names.MetadataName(key): text})
	if err != nil {
		return "", fmt.Errorf("meta of %s: %w", name, err)
	}
	return value[key], nil
}

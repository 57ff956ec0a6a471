// Package filewatch tells that a file was changed, by the operating system and not by polling.
// It follows the file's directory, as a file that is replaced loses its own watch. It reads
// nothing. The controller follows city.toml with it, gc web its keys.
package filewatch

import (
	"errors"
	"fmt"
	"path/filepath"

	"github.com/fsnotify/fsnotify"
)

// Watch follows one file until Close.
type Watch struct {
	// C gets a value after the file was written, made, replaced or removed, or if that may have
	// been missed. Several changes may be one value. It is never closed.
	C <-chan struct{}

	fs   *fsnotify.Watcher
	done chan struct{}
}

// New follows a file, which need not exist, in a directory that does.
func New(path string) (*Watch, error) {
	fs, err := fsnotify.NewWatcher()
	if err != nil {
		return nil, fmt.Errorf("watch %s: %w", path, err)
	}
	if err := fs.Add(filepath.Dir(path)); err != nil {
		return nil, fmt.Errorf("watch %s: %w", path, errors.Join(err, fs.Close()))
	}
	changed := make(chan struct{}, 1)
	w := &Watch{C: changed, fs: fs, done: make(chan struct{})}
	go w.run(filepath.Base(path), changed)
	return w, nil
}

func (w *Watch) run(name string, changed chan<- struct{}) {
	defer close(w.done)
	for {
		select {
		case ev, ok := <-w.fs.Events:
			if !ok {
				return
			}
			if filepath.Base(ev.Name) != name || ev.Op == fsnotify.Chmod {
				continue
			}
		case _, ok := <-w.fs.Errors: // an overflow
			if !ok {
				return
			}
		}
		select {
		case changed <- struct{}{}:
		default:
		}
	}
}

// Close ends the watch.
func (w *Watch) Close() {
	_ = w.fs.Close()
	<-w.done
}

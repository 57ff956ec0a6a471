package tmuxshim

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"os"
	"path/filepath"

	"gascity.dev/gc/internal/tmuxshim/world"
)

var bufferCommands = []*command{
	{name: "set-buffer", alias: "setb", spec: "ab:t:n:w", most: 1, run: setBuffer},
	{name: "load-buffer", alias: "loadb", spec: "b:t:w", least: 1, most: 1, run: loadBuffer},
	{name: "save-buffer", alias: "saveb", spec: "ab:", least: 1, most: 1, run: saveBuffer},
	{name: "show-buffer", alias: "showb", spec: "b:", run: showBuffer},
	{name: "list-buffers", alias: "lsb", spec: "F:f:", run: listBuffers},
	{name: "delete-buffer", alias: "deleteb", spec: "b:", run: deleteBuffer},
	{name: "paste-buffer", alias: "pasteb", spec: "db:prs:t:", run: pasteBuffer},
}

// buffer is the one of -b, or the newest.
func (c *call) buffer(w *world.World) (*world.Buffer, error) {
	b := w.Buffer(c.value('b'))
	switch {
	case b == nil && c.has('b') && c.command.name == "delete-buffer":
		return nil, fmt.Errorf("unknown buffer: %s", clean(c.value('b')))
	case b == nil && c.has('b'):
		return nil, fmt.Errorf("no buffer %s", clean(c.value('b')))
	case b == nil:
		return nil, fmt.Errorf("no buffers")
	}
	return b, nil
}

func setBuffer(ctx context.Context, c *call) error {
	return c.change(ctx, func(w *world.World) error {
		if c.has('n') {
			b, err := c.buffer(w)
			if err != nil {
				return err
			}
			b.Name, b.Auto = clean(c.value('n')), false
			return nil
		}
		if len(c.rest) == 0 {
			return fmt.Errorf("no data specified")
		}
		data := []byte(c.arg(0))
		if old := w.Buffer(c.value('b')); c.has('a') && old != nil { // without -b, to the newest
			old.Data = append(old.Data, data...)
			return nil
		}
		w.SetBuffer(c.value('b'), data)
		return nil
	})
}

func loadBuffer(ctx context.Context, c *call) error {
	path := c.arg(0)
	if abs, err := filepath.Abs(path); err == nil && path != "-" {
		path = abs
	}
	data, err := c.read(path)
	if err != nil {
		return err
	}
	return c.change(ctx, func(w *world.World) error {
		w.SetBuffer(c.value('b'), data)
		return nil
	})
}

// read reads a file, or standard input for "-".
func (c *call) read(path string) ([]byte, error) {
	if path == "-" {
		return io.ReadAll(c.In)
	}
	data, err := os.ReadFile(path)
	if err != nil {
		return nil, fmt.Errorf("%s: %s", path, reason(err))
	}
	return data, nil
}

func saveBuffer(ctx context.Context, c *call) error {
	w, err := c.world(ctx)
	if err != nil {
		return err
	}
	b, err := c.buffer(w)
	if err != nil {
		return err
	}
	if c.arg(0) == "-" {
		_, err := c.Out.Write(b.Data)
		return err
	}
	how := os.O_CREATE | os.O_WRONLY | os.O_TRUNC
	if c.has('a') {
		how = os.O_CREATE | os.O_WRONLY | os.O_APPEND
	}
	f, err := os.OpenFile(c.arg(0), how, 0o666)
	if err != nil {
		return fmt.Errorf("%s: %s", c.arg(0), reason(err))
	}
	_, err = f.Write(b.Data)
	if closed := f.Close(); err == nil {
		err = closed
	}
	return err
}

func showBuffer(ctx context.Context, c *call) error {
	w, err := c.world(ctx)
	if err != nil {
		return err
	}
	b, err := c.buffer(w)
	if err != nil {
		return err
	}
	_, err = c.Out.Write(b.Data)
	return err
}

func listBuffers(ctx context.Context, c *call) error {
	w, err := c.world(ctx)
	if err != nil {
		return err
	}
	for _, b := range w.Buffers {
		s := c.source(w, world.Place{})
		s.buffer = b
		f := `#{buffer_name}: #{buffer_size} bytes: "#{buffer_sample}"`
		if c.has('F') {
			f = c.value('F')
		}
		c.listed(s, f)
	}
	return nil
}

func deleteBuffer(ctx context.Context, c *call) error {
	return c.change(ctx, func(w *world.World) error {
		b, err := c.buffer(w)
		if err != nil {
			return err
		}
		w.DeleteBuffer(b)
		return nil
	})
}

// pasteBuffer types a buffer; line ends become -s, or carriage returns.
func pasteBuffer(ctx context.Context, c *call) error {
	w, p, err := c.look(ctx, world.KindPane)
	if err != nil {
		return err
	}
	b, err := c.buffer(w)
	if err != nil {
		if c.has('b') {
			return err
		}
		return nil
	}
	data := b.Data
	if !c.has('r') {
		sep := "\r"
		if c.has('s') {
			sep = c.value('s')
		}
		data = bytes.ReplaceAll(data, []byte("\n"), []byte(sep))
	}
	if c.has('p') {
		err = c.mux.Paste(ctx, p.Pane.Mux, b.Data)
	} else {
		err = c.mux.Keys(ctx, p.Pane.Mux, []string{string(data)}, true)
	}
	if err != nil || !c.has('d') {
		return err
	}
	return c.change(ctx, func(w *world.World) error {
		w.DeleteBuffer(w.Buffer(b.Name))
		return nil
	})
}

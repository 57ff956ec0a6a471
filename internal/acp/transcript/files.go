package transcript

import (
	"io"
	"os"
	"path/filepath"
)

// files are two files of lines that take turns. They are for one goroutine.
type files struct {
	current, previous string // paths
	f                 *os.File
	size              int64
}

// openFiles opens the current file of the directory, which it makes.
func openFiles(dir, current, previous string) (*files, error) {
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return nil, err
	}
	f := &files{current: filepath.Join(dir, current), previous: filepath.Join(dir, previous)}
	return f, f.open()
}

// open opens the current file. A line that a killed host left unfinished is ended.
func (f *files) open() error {
	file, err := os.OpenFile(f.current, os.O_RDWR|os.O_CREATE|os.O_APPEND, 0o600)
	if err != nil {
		return err
	}
	if f.size, err = file.Seek(0, io.SeekEnd); err == nil && f.size > 0 {
		last := make([]byte, 1)
		if _, err = file.ReadAt(last, f.size-1); err == nil && last[0] != '\n' {
			_, err = file.Write([]byte{'\n'})
			f.size++
		}
	}
	if err != nil {
		file.Close()
		return err
	}
	f.f = file
	return nil
}

// add appends a line, given without its end.
func (f *files) add(line []byte) error {
	if f.size >= maxFile {
		if err := f.turn(); err != nil {
			return err
		}
	}
	if f.f == nil {
		return os.ErrClosed
	}
	n, err := f.f.Write(append(line, '\n'))
	f.size += int64(n)
	return err
}

// turn makes the current file the previous one.
func (f *files) turn() error {
	if err := os.Rename(f.current, f.previous); err != nil {
		return err
	}
	f.close()
	return f.open()
}

func (f *files) close() error {
	if f.f == nil {
		return nil
	}
	err := f.f.Close()
	f.f = nil
	return err
}

package mail

import (
	"cmp"
	"errors"
	"iter"
	"slices"
	"time"
)

// Bounds of a city's mail.
const (
	MaxLetters = 20_000
	MaxBytes   = 256 << 20 // of texts
)

// rigKept is how long a letter to a rig is kept that some of its agents have
// acknowledged: nobody knows which others ever will.
const rigKept = 7 * 24 * time.Hour

// ErrFull means that no letter is settled and could make room.
var ErrFull = errors.New("the city's mail is full")

// Book holds all letters of a city.
type Book struct {
	all   []*Letter // by id
	byKey map[string]*Letter
	byTo  map[Address][]*Letter // by id
	bytes int
}

// NewBook returns a book with letters in the order of their ids.
func NewBook(letters []Letter) *Book {
	b := &Book{byKey: map[string]*Letter{}, byTo: map[Address][]*Letter{}}
	for _, l := range letters {
		b.Add(l)
	}
	return b
}

// Add adds the newest letter.
func (b *Book) Add(l Letter) {
	p := &l
	b.all, b.byKey[l.Key], b.byTo[l.To] = append(b.all, p), p, append(b.byTo[l.To], p)
	b.bytes += l.Size
}

// Len is the number of letters.
func (b *Book) Len() int { return len(b.all) }

// Sent returns the letter that was sent with a key.
func (b *Book) Sent(key string) (Letter, bool) {
	if p := b.byKey[key]; p != nil {
		return *p, true
	}
	return Letter{}, false
}

// Get returns the letter with an id.
func (b *Book) Get(id string) (Letter, bool) {
	if p := find(b.all, id); p != nil {
		return *p, true
	}
	return Letter{}, false
}

// Set replaces a letter by one with other marks.
func (b *Book) Set(l Letter) {
	if p := find(b.all, l.ID); p != nil {
		*p = l
	}
}

// Remove forgets a letter.
func (b *Book) Remove(id string) {
	p := find(b.all, id)
	if p == nil {
		return
	}
	is := func(l *Letter) bool { return l == p }
	b.all = slices.DeleteFunc(b.all, is)
	b.byTo[p.To] = slices.DeleteFunc(b.byTo[p.To], is)
	delete(b.byKey, p.Key)
	b.bytes -= p.Size
}

// Room returns the letters to forget for a new one of a size: the oldest that are
// done. ErrFull if they are not enough.
func (b *Book) Room(size int, now time.Time) ([]string, error) {
	count, bytes := len(b.all)+1, b.bytes+size
	var out []string
	for _, p := range b.all {
		if count <= MaxLetters && bytes <= MaxBytes {
			break
		}
		if p.settled(now) {
			out = append(out, p.ID)
			count, bytes = count-1, bytes-p.Size
		}
	}
	if count > MaxLetters || bytes > MaxBytes {
		return nil, ErrFull
	}
	return out, nil
}

// settled reports whether the letter may be forgotten.
func (l *Letter) settled(now time.Time) bool {
	return l.Done() && (l.To.Kind != Rig || now.Sub(l.Sent) > rigKept)
}

// All returns all letters in the order of their ids.
func (b *Book) All() []Letter { return values(b.all) }

// Of returns the letters that reach a reader, in the order of their ids.
func (b *Book) Of(r Reader) []Letter {
	var list []*Letter
	for _, to := range r.addresses() {
		list = append(list, b.byTo[to]...)
	}
	slices.SortFunc(list, func(a, b *Letter) int { return cmp.Compare(a.ID, b.ID) })
	return values(list)
}

// News returns the unread letters of a reader after one id and before another; "" is
// no bound.
func (b *Book) News(r Reader, after, before string) []Letter {
	var list []*Letter
	for l := range b.news(r, after, before) {
		list = append(list, l)
	}
	slices.SortFunc(list, func(a, b *Letter) int { return cmp.Compare(a.ID, b.ID) })
	return values(list)
}

// HasNews reports whether News returns any.
func (b *Book) HasNews(r Reader, after, before string) bool {
	for range b.news(r, after, before) {
		return true
	}
	return false
}

func (b *Book) news(r Reader, after, before string) iter.Seq[*Letter] {
	return func(yield func(*Letter) bool) {
		for _, to := range r.addresses() {
			all := b.byTo[to]
			at, found := slices.BinarySearchFunc(all, after, compareID)
			if found {
				at++
			}
			for _, l := range all[at:] {
				if before != "" && l.ID >= before {
					break
				}
				if l.Unread(r.Agent) && !yield(l) {
					return
				}
			}
		}
	}
}

func compareID(l *Letter, id string) int { return cmp.Compare(l.ID, id) }

func find(list []*Letter, id string) *Letter {
	if at, found := slices.BinarySearchFunc(list, id, compareID); found {
		return list[at]
	}
	return nil
}

func values(list []*Letter) []Letter {
	out := make([]Letter, len(list))
	for i, p := range list {
		out[i] = *p
	}
	return out
}

package session

import (
	"fmt"

	"gascity.dev/gc/internal/mail"
	"gascity.dev/gc/store"
)

var (
	letters = store.NewBucket[mail.Letter]("mail")
	texts   = store.NewBucket[string]("mail-text")
	boxes   = store.NewBucket[mail.Box]("mail-box")
)

// NewLetter gives a letter its id, which sorts after all earlier ones.
func (b *Store) NewLetter(l mail.Letter) mail.Letter {
	l.ID = b.nextID()
	return l
}

// AddLetter queues a letter with its text, and the removal of those that make room for
// it, as one write.
func (b *Store) AddLetter(l mail.Letter, text string, forget []string) *Commit {
	return b.put("mail "+l.ID, func(tx *store.Tx) error {
		for _, id := range forget {
			if err := deleteLetter(tx, id); err != nil {
				return err
			}
		}
		if err := texts.Put(tx, l.ID, text); err != nil {
			return err
		}
		return letters.Put(tx, l.ID, l)
	})
}

// SaveLetters queues letters with other marks, as one write.
func (b *Store) SaveLetters(list []mail.Letter) *Commit {
	return b.put("", func(tx *store.Tx) error {
		for _, l := range list {
			_, kept, err := letters.Get(tx, l.ID)
			if err == nil && kept { // else it was forgotten meanwhile
				err = letters.Put(tx, l.ID, l)
			}
			if err != nil {
				return err
			}
		}
		return nil
	})
}

// DeleteLetter queues the removal of a letter.
func (b *Store) DeleteLetter(id string) *Commit {
	return b.put("mail "+id, func(tx *store.Tx) error { return deleteLetter(tx, id) })
}

func deleteLetter(tx *store.Tx, id string) error {
	if err := texts.Delete(tx, id); err != nil {
		return err
	}
	return letters.Delete(tx, id)
}

// Letters returns all letters in the order of their ids.
func (b *Store) Letters() (out []mail.Letter, err error) {
	err = b.db.View(func(tx *store.Tx) error {
		return letters.Each(tx, "", func(_ string, l mail.Letter) error {
			out = append(out, l)
			return nil
		})
	})
	if err != nil {
		return nil, fmt.Errorf("read the mail: %w", err)
	}
	return out, nil
}

// Text returns the text of a letter that is on disk.
func (b *Store) Text(id string) (text string, err error) {
	err = b.db.View(func(tx *store.Tx) (err error) {
		text, _, err = texts.Get(tx, id)
		return err
	})
	if err != nil {
		return "", fmt.Errorf("read letter %s: %w", id, err)
	}
	return text, nil
}

// SaveBox queues what an agent has been told.
func (b *Store) SaveBox(box mail.Box) *Commit {
	return b.put("mail box "+box.Agent, func(tx *store.Tx) error { return boxes.Put(tx, box.Agent, box) })
}

// Boxes returns what each agent has been told.
func (b *Store) Boxes() (map[string]mail.Box, error) {
	out := map[string]mail.Box{}
	err := b.db.View(func(tx *store.Tx) error {
		return boxes.Each(tx, "", func(agent string, box mail.Box) error {
			out[agent] = box
			return nil
		})
	})
	if err != nil {
		return nil, fmt.Errorf("read the mail boxes: %w", err)
	}
	return out, nil
}

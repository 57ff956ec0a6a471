package screens

import (
	"slices"
	"time"
)

// view is one viewer of a hub. The hub's mu guards it.
type view struct {
	hub    *Hub
	looks  map[string]*looking
	fresh  []*looking    // those with news
	wake   chan struct{} // gets a value when there may be news
	closed chan struct{}
	ended  bool
}

// looking is one viewer's interest in one session.
type looking struct {
	view   *view
	watch  *watch
	look   Look
	queued bool      // in view.fresh
	sent   *Screen   // what the viewer has; nil before the first
	part   part      // of it
	at     time.Time // of the last update
}

var _ Viewer = (*view)(nil)

// View returns a new viewer, which looks at nothing yet.
func (h *Hub) View() Viewer {
	return &view{hub: h, looks: map[string]*looking{}, wake: make(chan struct{}, 1), closed: make(chan struct{})}
}

// rate returns the updates a second that the viewer wants.
func (l *looking) rate() float64 {
	if r := l.look.Rate; r > 0 {
		return min(max(r, minRate), MaxRate)
	}
	return DefaultRate
}

// news notes that there is another screen.
func (l *looking) news() {
	if !l.queued {
		l.queued = true
		l.view.fresh = append(l.view.fresh, l)
	}
	select {
	case l.view.wake <- struct{}{}:
	default:
	}
}

// Look implements [Viewer].
func (v *view) Look(looks []Look) error {
	if err := CheckLooks(looks); err != nil {
		return err
	}
	v.hub.mu.Lock()
	defer v.hub.mu.Unlock()
	if v.ended {
		return ErrClosed
	}
	wanted := make(map[string]Look, len(looks))
	for _, l := range looks {
		wanted[l.ID] = l
	}
	var left []*looking
	for id, l := range v.looks {
		if _, stays := wanted[id]; !stays {
			left = append(left, l)
			delete(v.looks, id)
		}
	}
	for id, look := range wanted {
		l := v.looks[id]
		if l == nil {
			l = &looking{view: v, look: look}
			v.looks[id] = l
			v.hub.join(l)
		} else {
			if l.look.Crop != look.Crop {
				l.sent = nil
			}
			l.look = look
			l.watch.setRate()
		}
		if l.watch.newest != nil && l.sent != l.watch.newest {
			l.news()
		}
	}
	for _, l := range left {
		v.hub.leave(l)
	}
	v.fresh = slices.DeleteFunc(v.fresh, func(l *looking) bool { return v.looks[l.look.ID] != l })
	return nil
}

// Next implements [Viewer].
func (v *view) Next() (Update, error) {
	for {
		l, s, wait, err := v.pick(time.Now())
		switch {
		case err != nil:
			return Update{}, err
		case l != nil:
			if u, news := l.update(s); news {
				return u, nil
			}
			continue
		}
		if err := v.sleep(wait); err != nil {
			return Update{}, err
		}
	}
}

// sleep waits for news, at most so long; 0 has no limit.
func (v *view) sleep(wait time.Duration) error {
	var due <-chan time.Time
	if wait > 0 {
		t := time.NewTimer(wait)
		defer t.Stop()
		due = t.C
	}
	select {
	case <-v.wake:
	case <-due:
	case <-v.closed:
		return ErrClosed
	case <-v.hub.ctx.Done():
		return ErrClosed
	}
	return nil
}

// pick returns a session with news that is due, and its screen; else how long until one
// is, 0 if none has news.
func (v *view) pick(now time.Time) (l *looking, s *Screen, wait time.Duration, err error) {
	v.hub.mu.Lock()
	defer v.hub.mu.Unlock()
	if v.ended {
		return nil, nil, 0, ErrClosed
	}
	first := -1
	for i, one := range v.fresh {
		left := one.due().Sub(now)
		if first < 0 || left < wait {
			first, wait = i, left
		}
	}
	if first < 0 || wait > 0 {
		return nil, nil, max(wait, 0), nil
	}
	l = v.fresh[first]
	v.fresh = slices.Delete(v.fresh, first, first+1)
	l.queued, l.at = false, now
	return l, l.watch.newest, 0, nil
}

// due is when the viewer may get another update.
func (l *looking) due() time.Time {
	if l.sent == nil {
		return time.Time{}
	}
	return l.at.Add(interval(l.rate()))
}

// update returns what of a screen is news to the viewer, if anything.
func (l *looking) update(s *Screen) (Update, bool) {
	l.view.hub.mu.Lock()
	sent, was, look := l.sent, l.part, l.look
	is := partOf(s, look.Crop)
	l.sent, l.part = s, is
	l.view.hub.mu.Unlock()
	u := newUpdate(look.ID, s, is)
	if sent == nil || was != is || sent.Cols != s.Cols || sent.Rows != s.Rows || sent.Incarnation != s.Incarnation {
		u.Full = true
		u.Changed = is.rows(s, nil)
		return u, true
	}
	u.Changed = is.rows(s, sent)
	if look.Crop == (Crop{}) || len(u.Changed) > 0 {
		return u, true
	}
	before := newUpdate(look.ID, sent, was)
	return u, u.State != before.State || u.Why != before.Why || u.Title != before.Title || u.Cursor != before.Cursor || u.Reverse != before.Reverse
}

// Close implements [Viewer].
func (v *view) Close() error {
	v.hub.mu.Lock()
	defer v.hub.mu.Unlock()
	if v.ended {
		return nil
	}
	v.ended = true
	close(v.closed)
	for _, l := range v.looks {
		v.hub.leave(l)
	}
	v.looks, v.fresh = nil, nil
	return nil
}

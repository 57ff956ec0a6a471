package access

import (
	"net/netip"
	"sync"
	"time"
)

// limiter slows down whoever sends wrong tokens: each address has ten, and
// regains one every six seconds.
type limiter struct {
	mu    sync.Mutex
	wrong map[netip.Prefix]wrong
}

type wrong struct {
	used int
	last time.Time
}

const (
	wrongBurst   = 10
	wrongRegain  = 6 * time.Second
	maxAddresses = 1024
)

// take counts one try of the address, unless it has none left.
func (l *limiter) take(address string, now time.Time) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.wrong == nil {
		l.wrong = map[netip.Prefix]wrong{}
	}
	key := network(address)
	if _, known := l.wrong[key]; !known && len(l.wrong) >= maxAddresses {
		l.forget(now)
	}
	w := l.regained(key, now)
	if w.used >= wrongBurst {
		return false
	}
	l.wrong[key] = wrong{used: w.used + 1, last: now}
	return true
}

// giveBack returns a try that was not wrong.
func (l *limiter) giveBack(address string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	key := network(address)
	w := l.wrong[key]
	w.used = max(0, w.used-1)
	l.wrong[key] = w
}

func (l *limiter) regained(key netip.Prefix, now time.Time) wrong {
	w := l.wrong[key]
	back := int(now.Sub(w.last) / wrongRegain)
	w.used = max(0, w.used-back)
	return w
}

// forget removes addresses that have regained everything; if none has, the one
// that failed longest ago.
func (l *limiter) forget(now time.Time) {
	var oldest netip.Prefix
	var since time.Time
	for key, w := range l.wrong {
		if l.regained(key, now).used == 0 {
			delete(l.wrong, key)
		} else if since.IsZero() || w.last.Before(since) {
			oldest, since = key, w.last
		}
	}
	if len(l.wrong) >= maxAddresses {
		delete(l.wrong, oldest)
	}
}

// network is the address, of IPv6 its /64, which one machine usually owns; the
// zero value for clients of a Unix socket.
func network(address string) netip.Prefix {
	ap, err := netip.ParseAddrPort(address)
	if err != nil {
		return netip.Prefix{}
	}
	a := ap.Addr().Unmap().WithZone("")
	bits := 32
	if a.Is6() {
		bits = 64
	}
	p, _ := a.Prefix(bits) // the length is valid
	return p
}

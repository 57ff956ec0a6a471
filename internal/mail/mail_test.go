package mail

import (
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"gascity.dev/gc/internal/delivery"
)

var noon = time.Date(2026, 1, 2, 12, 0, 0, 0, time.UTC)

func id(n int) string { return fmt.Sprintf("%020d", n) }

func letter(n int, to Address) Letter {
	return Letter{ID: id(n), Key: fmt.Sprint("k", n), From: "agent b", To: to, Size: 10, Sent: noon}
}

func ids(list []Letter) string {
	var out []string
	for _, l := range list {
		out = append(out, ShortID(l.ID))
	}
	return strings.Join(out, " ")
}

func TestLettersReachTheirReaders(t *testing.T) {
	b := NewBook([]Letter{
		letter(1, Address{Agent, "a"}), letter(2, Address{Pool, "p"}), letter(3, Address{Rig, "r"}), letter(4, Address{Agent, "p"}), letter(5, Address{Pool, "p"}),
	})
	one, two := Reader{Agent: "p-1", Pool: "p", Rig: "r"}, Reader{Agent: "p-2", Pool: "p"}
	for _, c := range []struct {
		r    Reader
		want string
	}{{Reader{Agent: "a"}, "1"}, {one, "2 3 5"}, {two, "2 5"}, {Reader{Agent: "p"}, "4"}, {Reader{Agent: "x"}, ""}} {
		if got := ids(b.Of(c.r)); got != c.want {
			t.Errorf("%+v gets %q, want %q", c.r, got, c.want)
		}
	}
	l, _ := b.Get(id(2))
	b.Set(l.With("p-1", Mark{Acked: noon})) // settles it for the pool
	l, _ = b.Get(id(3))
	b.Set(l.With("other", Mark{Acked: noon})) // settles it only for the other
	if got := ids(b.News(one, "", "")) + "/" + ids(b.News(two, "", "")); got != "3 5/5" {
		t.Errorf("news %s", got)
	}
	if got := ids(b.News(one, id(3), "")) + "/" + ids(b.News(one, "", id(5))); got != "5/3" {
		t.Errorf("news within bounds %s", got)
	}
	if b.HasNews(two, id(5), "") || !b.HasNews(two, id(4), "") {
		t.Error("HasNews differs from News")
	}
}

// A mark on a copy changes no letter that is on its way to the disk.
func TestMarksAreCopied(t *testing.T) {
	l := letter(1, Address{Agent, "a"}).With("a", Mark{Read: noon})
	more := l.With("b", Mark{Read: noon})
	if len(l.Marks) != 1 || len(more.Marks) != 2 {
		t.Errorf("%v, %v", l.Marks, more.Marks)
	}
}

func TestRoomIsMadeByWhatIsDone(t *testing.T) {
	b := NewBook(nil)
	for n := range MaxLetters {
		b.Add(letter(n+1, Address{Agent, "a"}))
	}
	if _, err := b.Room(10, noon); !errors.Is(err, ErrFull) {
		t.Errorf("a full book: %v", err)
	}
	l, _ := b.Get(id(7))
	b.Set(l.With("a", Mark{Acked: noon}))
	forget, err := b.Room(10, noon)
	if err != nil || len(forget) != 1 || forget[0] != id(7) {
		t.Errorf("%v, %v", forget, err)
	}
	b.Remove(id(7))
	if _, known := b.Sent("k7"); known || b.Len() != MaxLetters-1 {
		t.Error("it is still there")
	}
	if _, err := b.Room(MaxBytes, noon); !errors.Is(err, ErrFull) {
		t.Errorf("too many bytes: %v", err)
	}
}

func TestCheck(t *testing.T) {
	for _, c := range []struct {
		key, subject, text string
		ok                 bool
	}{
		{"k", "s", "t", true},
		{"k", "", strings.Repeat("x", MaxText), true},
		{"k", "", "\x1b[31mred\x00", true}, // kept as it is; what prints it makes it harmless
		{"", "", "t", false},
		{strings.Repeat("k", MaxKey+1), "", "t", false},
		{"k", "two\nlines", "t", false},
		{"k", strings.Repeat("s", MaxSubject+1), "t", false},
		{"k", "", "", false},
		{"k", "", strings.Repeat("x", MaxText+1), false},
		{"k", "", "\xff", false},
	} {
		if err := Check(c.key, c.subject, c.text); (err == nil) != c.ok || err != nil && !errors.Is(err, ErrLetter) {
			t.Errorf("%.20q %.20q %.20q: %v", c.key, c.subject, c.text, err)
		}
	}
}

func TestNoticeIsOneLineWithoutForeignText(t *testing.T) {
	list := []Letter{letter(1, Address{Agent, "a"}), letter(9, Address{Agent, "a"})}
	list[0].Subject, list[1].From = "rm -rf /\x1b", "terminal pts/3"
	got := Notice(list, "abc")
	if want := "You have mail: 2 new letters, 1 to 9, from agent b, terminal pts/3. gc mail read shows it, gc mail ack marks it as done. [gc:mail abc]"; got != want {
		t.Errorf("%q", got)
	}
	for n := range 9 {
		l := letter(10+n, Address{Agent, "a"})
		l.From = fmt.Sprint("agent ", n)
		list = append(list, l)
	}
	if got := Notice(list, "abc"); !strings.Contains(got, "from agent b, terminal pts/3, agent 0, 8 others.") {
		t.Errorf("%q", got)
	}
}

// Whatever happens in whatever order, no letter is in two notices that were delivered,
// and one that was not delivered is in the next notice.
func TestEveryLetterIsToldOnce(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		book, box, me := NewBook(nil), NewBox("a"), Reader{Agent: "a"}
		now, count := noon, 0
		var claimed []Letter
		told := map[string]int{}
		for range 60 {
			now = now.Add(10 * time.Minute)
			switch rapid.SampledFrom([]string{"send", "claim", "delivered", "dead", "pending"}).Draw(t, "step") {
			case "send":
				count++
				book.Add(letter(count, Address{Agent, "a"}))
			case "claim":
				news := book.News(me, box.Told, "")
				if len(news) > 0 && box.Claim(now, news, "b") == nil {
					claimed = news
				}
			case "delivered", "dead":
				state := rapid.SampledFrom([]delivery.State{delivery.Delivered, delivery.Dead}).Draw(t, "state")
				if box.Settle(now, state, "") != nil {
					continue
				}
				for _, l := range claimed {
					if told[l.ID]++; told[l.ID] > 1 {
						t.Fatalf("letter %s is told twice", l.ID)
					}
				}
				claimed = nil
			case "pending":
				if box.Settle(now, delivery.Pending, "") == nil {
					claimed = nil
				}
			}
		}
		if box.Claimed() {
			return
		}
		for _, l := range book.Of(me) {
			if (l.ID > box.Told) != (told[l.ID] == 0) {
				t.Fatalf("letter %s: told %d times, the box says up to %s", l.ID, told[l.ID], box.Told)
			}
		}
	})
}

package names

import (
	"errors"
	"maps"
	"regexp"
	"strings"
	"testing"

	"pgregory.net/rapid"
)

var (
	dnsLabel   = regexp.MustCompile(`^[a-z0-9]([a-z0-9-]*[a-z0-9])?$`)
	labelValue = regexp.MustCompile(`^([A-Za-z0-9]([A-Za-z0-9._-]*[A-Za-z0-9])?)?$`)
	labelName  = regexp.MustCompile(`^([a-z0-9.-]+/)?[A-Za-z0-9]([A-Za-z0-9._-]{0,61}[A-Za-z0-9])?$`)
)

func TestNamesAreValidForEveryText(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		s := Session{
			City: rapid.String().Draw(t, "city"), Name: rapid.String().Draw(t, "name"),
			Agent: rapid.String().Draw(t, "agent"), Incarnation: "i1",
		}
		if name := Pod(s.City, s.Name); !dnsLabel.MatchString(name) || len(name) > 63 {
			t.Fatalf("pod name %q", name)
		}
		for name, value := range s.Labels() {
			if !labelName.MatchString(name) || !labelValue.MatchString(value) || len(value) > 63 {
				t.Fatalf("label %q = %q", name, value)
			}
		}
		if s.Annotations()[AnnotationSession] != s.Name {
			t.Fatalf("annotations %q", s.Annotations())
		}
	})
}

// What people see: the name starts as the session's does.
func TestPodNameIsReadable(t *testing.T) {
	for session, want := range map[string]string{
		"coder":                  `^gc-coder-[a-z2-7]{10}$`,
		"My.Agent_1":             `^gc-my-agent-1-[a-z2-7]{10}$`,
		"_":                      `^gc-[a-z2-7]{10}$`,
		strings.Repeat("ab", 90): `^gc-(ab){20}-[a-z2-7]{10}$`,
	} {
		if got := Pod("city", session); !regexp.MustCompile(want).MatchString(got) {
			t.Errorf("%s: %q, want %s", session, got, want)
		}
	}
}

// Names that look alike after sanitising, and cities in one namespace, differ.
func TestPodNamesDoNotCollide(t *testing.T) {
	seen := map[string]string{}
	for _, pair := range [][2]string{{"a", "x.y"}, {"a", "x-y"}, {"a", "X-Y"}, {"b", "x-y"}, {"a", "bc"}, {"ab", "c"}, {"", "abc"}} {
		name := Pod(pair[0], pair[1])
		if other, taken := seen[name]; taken {
			t.Errorf("%q and %q are both %s", pair, other, name)
		}
		seen[name] = pair[0] + "/" + pair[1]
	}
}

func TestSelectorOfACity(t *testing.T) {
	labels := Session{City: "c1", Name: "s", Incarnation: "i"}.Labels()
	matches := func(city string) bool {
		for name, value := range CitySelector(city) {
			if labels[name] != value {
				return false
			}
		}
		return true
	}
	if !matches("c1") || matches("c2") {
		t.Errorf("a pod of c1 is selected by c1: %t, by c2: %t", matches("c1"), matches("c2"))
	}
}

func TestMetadataComeBack(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		metadata := rapid.MapOf(rapid.String(), rapid.String()).Draw(t, "metadata")
		annotations := map[string]string{"kubernetes.io/other": "x", AnnotationSession: "s"}
		for key, value := range metadata {
			name, text := Encode(key, value)
			if !labelName.MatchString(name) {
				t.Fatalf("annotation name %q", name)
			}
			annotations[name] = text
		}
		got, err := Decode(annotations)
		if err != nil || !maps.Equal(got, metadata) {
			t.Fatalf("%q, %v; want %q", got, err, metadata)
		}
	})
}

func TestMetadataKeepBytes(t *testing.T) {
	name, text := Encode("k", "\xff\x00.\n")
	if got, err := Decode(map[string]string{name: text}); err != nil || got["k"] != "\xff\x00.\n" {
		t.Errorf("%q, %v", got, err)
	}
}

func TestDamagedMetadata(t *testing.T) {
	name, text := Encode("good", "v")
	other, _ := Encode("bad", "v")
	for _, damaged := range []string{"", "no separator", "!.!", text} {
		got, err := Decode(map[string]string{name: text, other: damaged})
		if err == nil || got["good"] != "v" || len(got) != 1 {
			t.Errorf("%q: %q, %v", damaged, got, err)
		}
	}
}

func TestMetadataLimit(t *testing.T) {
	annotations := map[string]string{"kubernetes.io/other": strings.Repeat("x", MaxMetadata)}
	set := func(key string, size int) error {
		value := strings.Repeat("v", size)
		if err := CheckMetadata(annotations, key, value); err != nil {
			return err
		}
		name, text := Encode(key, value)
		annotations[name] = text
		return nil
	}
	if err := set("a", 90<<10); err != nil {
		t.Errorf("90 KiB: %v", err)
	}
	if err := set("b", 10<<10); !errors.Is(err, ErrMetadataTooLarge) {
		t.Errorf("100 KiB as base64 are more than the limit: %v", err)
	}
	if err := set("a", 80<<10); err != nil {
		t.Errorf("a smaller value of the same key: %v", err)
	}
	if err := set("b", 10<<10); err != nil {
		t.Errorf("then there is space: %v", err)
	}
	if err := set("c", 200<<10); !errors.Is(err, ErrMetadataTooLarge) {
		t.Errorf("200 KiB: %v", err)
	}
}

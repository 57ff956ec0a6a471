// Package names makes the names, labels and annotations of the objects that a
// session is in a cluster. Its invariant: two sessions, of one city or of two in
// one namespace, never get the same pod name, and what was encoded is decoded
// unchanged. Pure functions; runtime/k8s calls them and nothing else makes names.
package names

import (
	"crypto/sha256"
	"encoding/base32"
	"strings"
)

// Labels of a session's pod. Every list and watch selects on them, so that
// cities share a namespace safely.
const (
	LabelName        = "app.kubernetes.io/name"
	LabelManagedBy   = "app.kubernetes.io/managed-by"
	LabelComponent   = "app.kubernetes.io/component"
	LabelCity        = Domain + "/city"
	LabelSession     = Domain + "/session"
	LabelIncarnation = Domain + "/incarnation"
	LabelAgent       = Domain + "/agent"
	LabelProtocol    = Domain + "/protocol" // how gc talks to the agent, if not by a terminal
)

// Annotations of a session's pod: the names as they are, which a label cannot
// hold. Metadata have a prefix of their own, see [Encode].
const (
	AnnotationCity    = Domain + "/city-uid"
	AnnotationSession = Domain + "/session-name"

	AnnotationCityPath = Domain + "/city-path"  // GC_CITY_PATH of the agent
	AnnotationEpoch    = Domain + "/epoch"      // GC_RUNTIME_EPOCH
	AnnotationStarted  = Domain + "/session-id" // set once the session exists: its id
	AnnotationStopped  = Domain + "/stopped"    // set once the session was ended for good
	AnnotationStarter  = Domain + "/starter"    // the process that starts the session
	AnnotationHost     = Domain + "/host"       // the machine of the city's controller
	AnnotationNodeLoss = Domain + "/node-loss"  // what the agent's own settings say about a lost node
)

// Domain owns the names of labels and annotations that are ours.
const Domain = "gascity.dev"

// ProtocolACP is the Agent Client Protocol.
const ProtocolACP = "acp"

const (
	program   = "gc"
	component = "session"
	maxSlug   = 40 // of a pod's name
	maxLabel  = 63 // bytes of a label's value
)

// Session identifies one incarnation of a session.
type Session struct {
	City        string // the city's UID, any text
	Name        string // the session's name
	Incarnation string // random for each start; a label's value
	Agent       string // the agent's name, any text; may be empty
	Protocol    string // ProtocolACP; "" for a terminal
}

// Pod returns the name of a session's pod. It depends only on the city and the
// session's name, so that creating the pod is the lock of the session.
func Pod(city, session string) string {
	hash := digest(city, session)[:10]
	slug := Slug(session, maxSlug)
	if slug == "" {
		return program + "-" + hash
	}
	if !strings.HasPrefix(slug, program+"-") { // as the names of a city's sessions have
		slug = program + "-" + slug
	}
	return slug + "-" + hash
}

// Labels returns the labels of a session's pod.
func (s Session) Labels() map[string]string {
	labels := CitySelector(s.City)
	labels[LabelName] = program
	labels[LabelSession] = digest(s.City, s.Name)
	labels[LabelIncarnation] = s.Incarnation
	if agent := Slug(s.Agent, maxLabel); agent != "" {
		labels[LabelAgent] = agent
	}
	if s.Protocol != "" {
		labels[LabelProtocol] = s.Protocol
	}
	return labels
}

// Annotations returns the annotations of a session's pod.
func (s Session) Annotations() map[string]string {
	return map[string]string{AnnotationCity: s.City, AnnotationSession: s.Name}
}

// CitySelector returns the labels that all session pods of a city have, and no
// other pods.
func CitySelector(city string) map[string]string {
	return map[string]string{
		LabelManagedBy: program,
		LabelComponent: component,
		LabelCity:      cityLabel(city),
	}
}

// cityLabel is the UID itself where a label can hold it, for people; else its
// digest.
func cityLabel(uid string) string {
	if uid != "" && len(uid) <= maxLabel && Slug(uid, maxLabel) == uid {
		return uid
	}
	return digest(uid)
}

// Slug returns s in lower case with every run of other characters than a-z and
// 0-9 as one "-", without one at either end, and at most limit bytes.
func Slug(s string, limit int) string {
	var b strings.Builder
	gap := false
	for _, c := range strings.ToLower(s) {
		if c < '0' || c > '9' && c < 'a' || c > 'z' {
			gap = b.Len() > 0
			continue
		}
		if gap {
			b.WriteByte('-')
			gap = false
		}
		b.WriteRune(c)
	}
	slug := b.String()
	return strings.TrimRight(slug[:min(len(slug), limit)], "-")
}

var alphabet = base32.NewEncoding("abcdefghijklmnopqrstuvwxyz234567").WithPadding(base32.NoPadding)

// digest returns 52 letters and digits that differ for different parts. Each part is hashed
// by itself first: ("a", "bc") and ("ab", "c") differ.
func digest(parts ...string) string {
	sum := sha256.New()
	for _, part := range parts {
		hashed := sha256.Sum256([]byte(part))
		sum.Write(hashed[:])
	}
	return alphabet.EncodeToString(sum.Sum(nil))
}

package journal

import (
	"hash/fnv"

	"gascity.dev/gc/mux/api"
)

// Stages of a nudge in its NudgeEntry, in the order of the transaction. Those from
// stageReceipt on are its end.
const (
	StageTyping  = 1 // bytes of the text may have been written
	StageEntered = 2 // Enter may have been written

	stageReceipt = 16 // plus the index of the receipt's state
)

// receiptStates are the states in the order of their stages; states are only added.
var receiptStates = []string{api.Submitted, api.Drafted, api.Blocked, api.Refused, api.Dead, api.Unverified}

// Receipt returns the outcome of a nudge that has an entry. Without an entry, no byte of
// the nudge was typed.
func (s *Header) Receipt(key uint64) (api.Receipt, bool) {
	m := s.Nudge(key)
	if m == nil {
		return api.Receipt{}, false
	}
	switch stage := m.Stage.Load(); {
	case stage == StageTyping:
		return api.Receipt{State: api.Drafted, Detail: "the server was restarted while the text was typed"}, true
	case stage == StageEntered:
		return api.Receipt{State: api.Unverified, Detail: "typed and entered; the server was restarted before it was verified"}, true
	case stage >= stageReceipt && stage-stageReceipt < uint64(len(receiptStates)):
		r := api.Receipt{State: receiptStates[stage-stageReceipt], Typed: true}
		r.Detail = map[string]string{
			api.Drafted:    "typed, not submitted",
			api.Refused:    "the program took only a part of it",
			api.Dead:       "the program ended before the text was seen to be submitted",
			api.Unverified: "typed and entered; nothing could be seen",
		}[r.State]
		return r, true
	}
	return api.Receipt{}, false
}

// ReceiptStage returns the stage of a receipt; 0 if nothing was typed, so that the nudge
// can be tried again.
func ReceiptStage(r api.Receipt) uint64 {
	if !r.Typed && r.State != api.Submitted {
		return 0
	}
	for i, state := range receiptStates {
		if state == r.State {
			return stageReceipt + uint64(i)
		}
	}
	return StageEntered
}

// NudgeKey returns the hash of an id; never 0.
func NudgeKey(id string) uint64 {
	h := fnv.New64a()
	_, _ = h.Write([]byte(id)) // never fails
	return max(h.Sum64(), 1)
}

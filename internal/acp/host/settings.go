package host

import (
	"fmt"
	"slices"
	"strings"

	"gascity.dev/gc/internal/acp/control"
	"gascity.dev/gc/internal/acp/conversation"
	"gascity.dev/gc/internal/acp/protocol"
	"gascity.dev/gc/internal/acp/wire"
)

// settings are the agent's mode and model.
type settings struct{ h *host }

// set changes mode and then model; "" leaves one unchanged.
func (s *settings) set(mode, model string, then func(*control.Error)) {
	s.setOne("mode", mode, func(e *control.Error) {
		if e != nil {
			then(e)
			return
		}
		s.setOne("model", model, func(e *control.Error) {
			s.h.changed()
			then(e)
		})
	})
}

// setOne sets the mode or the model: by the configuration option of that category,
// else a mode by session/set_mode.
func (s *settings) setOne(what, want string, then func(*control.Error)) {
	list, current := s.h.conv.Modes(), s.h.conv.Mode()
	if what == "model" {
		list, current = s.h.conv.Models(), s.h.conv.Model()
	}
	if want == "" || s.h.peer.session == "" {
		then(nil)
		return
	}
	i := slices.IndexFunc(list, func(c conversation.Choice) bool { return c.ID == want || strings.EqualFold(c.Name, want) })
	if i < 0 {
		then(&control.Error{Code: control.CodeNotFound, Message: fmt.Sprintf("the agent has no %s %q", what, clean(want)), Valid: ids(list)})
		return
	}
	id := list[i].ID
	if id == current {
		then(nil)
		return
	}
	method, params := s.setter(what, id)
	if method == "" {
		then(&control.Error{Code: control.CodeNotFound, Message: "the agent's " + what + " cannot be changed"})
		return
	}
	s.h.peer.call(method, params, func(m wire.Message) {
		var r protocol.ConfigResult
		if err := decode(method, m, &r); err != nil {
			then(&control.Error{Code: control.CodeAgent, Message: err.Error()})
			return
		}
		s.h.conv.Set(what, id, r)
		then(nil)
	})
}

// setter is the request that sets the mode or the model, "" if there is none.
func (s *settings) setter(what, id string) (method string, params any) {
	if option := s.h.conv.OptionOf(what); option != "" {
		return "session/set_config_option", protocol.SetConfigOptionRequest{SessionID: s.h.peer.session, ConfigID: option, Value: id}
	}
	if what == "mode" {
		return "session/set_mode", protocol.SetModeRequest{SessionID: s.h.peer.session, ModeID: id}
	}
	return "", nil
}

func ids(list []conversation.Choice) []string {
	out := make([]string, 0, len(list))
	for _, c := range list {
		out = append(out, c.ID)
	}
	return out
}

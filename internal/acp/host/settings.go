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
type settings struct {
	h      *host
	chosen *chosen
}

// begin sets them for the session that was opened: those of the config, or those that
// were chosen for the conversation that it continues. One of these that the agent no
// longer has does not fail the start.
func (s *settings) begin(then func(*control.Error)) {
	configured := s.h.launch
	mode, model := configured.Mode, configured.Model
	if s.h.start.resumed {
		mode, model = s.chosen.of(s.h.peer.session, mode, model)
	}
	s.set(mode, model, func(e *control.Error) {
		if e == nil || mode == configured.Mode && model == configured.Model {
			then(e)
			return
		}
		s.h.conv.AddNotice("not as gc agent set left it: " + e.Message)
		s.set(configured.Mode, configured.Model, then)
	})
}

// choose is set for a person. The choice lasts as long as the conversation.
func (s *settings) choose(mode, model string, then func(*control.Error)) {
	s.setOne("mode", mode, func(e *control.Error) {
		if e != nil {
			then(e)
			return
		}
		s.remember(mode, "")
		s.setOne("model", model, func(e *control.Error) {
			if e == nil {
				s.remember("", model)
			}
			s.h.changed()
			s.h.flush() // who asked may ask for the state next
			then(e)
		})
	})
}

// remember keeps a choice for a later host, under the agent's id of it.
func (s *settings) remember(mode, model string) {
	if mode != "" {
		mode = s.h.conv.Mode()
	}
	if model != "" {
		model = s.h.conv.Model()
	}
	if mode == "" && model == "" {
		return
	}
	if err := s.chosen.note(s.h.peer.session, mode, model, s.h.launch.Mode, s.h.launch.Model); err != nil {
		s.h.conv.AddNotice("the mode and the model are lost when the agent ends: " + err.Error())
	}
}

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
// else by session/set_mode or session/set_model.
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

// setter is the request that sets the mode or the model. Gemini offers models in the
// older form only.
func (s *settings) setter(what, id string) (method string, params any) {
	if option := s.h.conv.OptionOf(what); option != "" {
		return "session/set_config_option", protocol.SetConfigOptionRequest{SessionID: s.h.peer.session, ConfigID: option, Value: id}
	}
	if what == "mode" {
		return "session/set_mode", protocol.SetModeRequest{SessionID: s.h.peer.session, ModeID: id}
	}
	return "session/set_model", protocol.SetModelRequest{SessionID: s.h.peer.session, ModelID: id}
}

func ids(list []conversation.Choice) []string {
	out := make([]string, 0, len(list))
	for _, c := range list {
		out = append(out, c.ID)
	}
	return out
}

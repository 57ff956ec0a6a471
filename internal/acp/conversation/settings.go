package conversation

import (
	"slices"

	"gascity.dev/gc/internal/acp/protocol"
)

// Limits of an agent's offers.
const (
	maxChoices  = 1000
	maxCommands = 500
)

// setting is the mode or the model.
type setting struct {
	current string
	choices []Choice
	option  string // the configuration option that sets it, "" if there is none
}

// Mode returns the id of the mode, "" if the agent has none.
func (c *Conversation) Mode() string { return c.mode.current }

// Modes returns the modes that the agent offers.
func (c *Conversation) Modes() []Choice { return c.mode.choices }

// Model returns the id of the model, "" if the agent does not say.
func (c *Conversation) Model() string { return c.model.current }

// Models returns the models that the agent offers.
func (c *Conversation) Models() []Choice { return c.model.choices }

// OptionOf returns the id of the configuration option that sets the "mode" or the
// "model", "" if there is none.
func (c *Conversation) OptionOf(what string) string {
	if s := c.settingOf(what); s != nil {
		return s.option
	}
	return ""
}

func (c *Conversation) settingOf(what string) *setting {
	switch what {
	case protocol.CategoryMode:
		return &c.mode
	case protocol.CategoryModel:
		return &c.model
	}
	return nil
}

// Open applies the agent's reply about a session that it has begun or continued.
// Configuration options count before the older forms.
func (c *Conversation) Open(s protocol.SessionResult) {
	if m := s.Modes; m != nil {
		c.mode = setting{current: name(m.Current)}
		for _, x := range m.Available {
			c.mode.offer(x.ID, x.Name, x.Description)
		}
	}
	if m := s.Models; m != nil {
		c.model = setting{current: name(m.Current)}
		for _, x := range m.Available {
			c.model.offer(x.ID, x.Name, x.Description)
		}
	}
	c.setOptions(s.ConfigOptions)
	c.changedState()
}

// Set records that the agent has accepted a "mode" or a "model". Its answer need not say
// which one is on, and no update need follow.
func (c *Conversation) Set(what, id string, r protocol.ConfigResult) {
	c.setOptions(r.ConfigOptions)
	if s := c.settingOf(what); s != nil && len(r.ConfigOptions) == 0 {
		c.choose(s, id)
	}
}

func (c *Conversation) choose(s *setting, id string) {
	if id = name(id); id != "" && id != s.current {
		s.current = id
		c.changedState()
	}
}

func (c *Conversation) setOptions(list protocol.List[protocol.ConfigOption]) {
	for _, what := range []string{protocol.CategoryMode, protocol.CategoryModel} {
		i := slices.IndexFunc(list, func(o protocol.ConfigOption) bool { return o.Category == what && len(o.Choices) > 0 })
		if i < 0 {
			continue
		}
		s := setting{current: name(list[i].Value), option: list[i].ID}
		for _, x := range list[i].Choices {
			s.offer(x.Value, x.Name, x.Description)
		}
		*c.settingOf(what) = s
		c.changedState()
	}
}

// offer adds a choice. An id that cannot be shown as it is cannot be chosen.
func (s *setting) offer(id, label, description string) {
	if name(id) != id || len(s.choices) == maxChoices {
		return
	}
	s.choices = append(s.choices, Choice{id, line(label), line(description)})
}

func (c *Conversation) setCommands(list protocol.List[protocol.Command]) {
	c.commands = nil
	for _, x := range list[:min(len(list), maxCommands)] {
		if name(x.Name) == x.Name {
			c.commands = append(c.commands, Choice{ID: x.Name, Name: x.Name, Description: line(x.Description)})
		}
	}
	c.changedState()
}

func (c *Conversation) setUsage(u protocol.ContextUsage) {
	next := Usage{Used: u.Used, Size: u.Size, Cost: c.usage.Cost, Currency: c.usage.Currency}
	if u.Currency != "" {
		next.Cost, next.Currency = u.Cost, line(u.Currency)
	}
	if next != c.usage {
		c.usage = next
		c.changedState()
	}
}

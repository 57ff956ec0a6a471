package host

import (
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
)

// chosen are the mode and the model that a person chose for a conversation while the
// agent ran. They are kept on disk: they belong to the conversation, and a later host
// that continues it sets them again, unless the config has changed since.
type chosen struct {
	path string

	Conversation string `json:"conversation"`
	Mode         string `json:"mode,omitempty"` // "": that of the config
	Model        string `json:"model,omitempty"`
	ConfigMode   string `json:"config_mode,omitempty"`
	ConfigModel  string `json:"config_model,omitempty"`
}

// openChosen reads the choices of the directory. A file that cannot be read has none.
func openChosen(dir string) *chosen {
	c := &chosen{path: filepath.Join(dir, "chosen.json")}
	if b, err := os.ReadFile(c.path); err == nil {
		_ = json.Unmarshal(b, c) // else it is empty
	}
	return c
}

// of returns the mode and the model for a conversation that continues, the config's where
// nothing was chosen.
func (c *chosen) of(conversation, mode, model string) (string, string) {
	if c.Conversation != conversation {
		return mode, model
	}
	wantMode, wantModel := mode, model
	if c.Mode != "" && c.ConfigMode == mode {
		wantMode = c.Mode
	}
	if c.Model != "" && c.ConfigModel == model {
		wantModel = c.Model
	}
	return wantMode, wantModel
}

// note records what was chosen for a conversation; "" leaves one unchanged.
func (c *chosen) note(conversation, mode, model, configMode, configModel string) error {
	if c.Conversation != conversation {
		*c = chosen{path: c.path, Conversation: conversation}
	}
	if mode != "" {
		c.Mode, c.ConfigMode = mode, configMode
	}
	if model != "" {
		c.Model, c.ConfigModel = model, configModel
	}
	return c.save()
}

func (c *chosen) save() error {
	b, err := json.Marshal(c)
	if err != nil {
		return err
	}
	f, err := os.CreateTemp(filepath.Dir(c.path), "chosen-*")
	if err != nil {
		return err
	}
	defer os.Remove(f.Name()) // fails once it is renamed
	_, err = f.Write(b)
	if err = errors.Join(err, f.Close()); err != nil {
		return err
	}
	return os.Rename(f.Name(), c.path)
}

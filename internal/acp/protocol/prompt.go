package protocol

import (
	"encoding/base64"
	"encoding/json"
	"net/url"
	"os"
	"path/filepath"
	"strings"
)

// PromptRequest sends a message; with MethodSteering, into the turn that runs.
type PromptRequest struct {
	SessionID string  `json:"sessionId"`
	Prompt    []Block `json:"prompt"`
}

// Types of blocks.
const (
	BlockText     = "text"
	BlockImage    = "image"
	BlockAudio    = "audio"
	BlockLink     = "resource_link"
	BlockResource = "resource"
)

// Block is a part of a message or of a tool's output.
type Block struct {
	Type     string    `json:"type"`
	Text     string    `json:"text,omitempty"`
	Name     string    `json:"name,omitempty"` // BlockLink
	URI      string    `json:"uri,omitempty"`
	MimeType string    `json:"mimeType,omitempty"`
	Data     string    `json:"data,omitempty"`     // BlockImage, BlockAudio: base64
	Resource *Resource `json:"resource,omitempty"` // BlockResource
}

// Resource is the content of a file, as text or base64.
type Resource struct {
	URI      string `json:"uri"`
	MimeType string `json:"mimeType,omitempty"`
	Text     string `json:"text,omitempty"`
	Blob     string `json:"blob,omitempty"`
}

// UnmarshalJSON never fails. A string counts as text.
func (b *Block) UnmarshalJSON(raw []byte) error {
	type plain Block
	*b = Block{}
	if raw[0] == '"' {
		b.Type = BlockText
		lenient(raw, &b.Text)
		return nil
	}
	lenient(raw, (*plain)(b))
	return nil
}

// Size returns the number of bytes of an image or a sound.
func (b Block) Size() int {
	return base64.StdEncoding.DecodedLen(len(b.Data)) - strings.Count(b.Data[max(0, len(b.Data)-2):], "=")
}

// TextBlock returns text.
func TextBlock(text string) Block { return Block{Type: BlockText, Text: text} }

// maxImage is the size of the largest image that is sent.
const maxImage = 4 << 20

// imageTypes are the types of images that agents take, by the file's extension.
var imageTypes = map[string]string{
	".png": "image/png", ".jpg": "image/jpeg", ".jpeg": "image/jpeg", ".gif": "image/gif", ".webp": "image/webp",
}

// FileBlock returns a link to a file, which every agent accepts; or, if images are
// offered and it is one that can be read, the image.
func FileBlock(path string, images bool) Block {
	link := Block{
		Type: BlockLink, Name: filepath.Base(path),
		URI: (&url.URL{Scheme: "file", Path: path}).String(),
	}
	mime := imageTypes[strings.ToLower(filepath.Ext(path))]
	info, err := os.Stat(path)
	if !images || mime == "" || err != nil || !info.Mode().IsRegular() || info.Size() > maxImage {
		return link
	}
	data, err := os.ReadFile(path)
	if err != nil {
		return link
	}
	return Block{Type: BlockImage, MimeType: mime, Data: base64.StdEncoding.EncodeToString(data), URI: link.URI}
}

// Stop reasons.
const (
	StopEndTurn   = "end_turn"
	StopMaxTokens = "max_tokens"
	StopRequests  = "max_turn_requests"
	StopRefusal   = "refusal"
	StopCancelled = "cancelled"
)

// PromptResult is how a turn ended.
type PromptResult struct {
	StopReason string // one of the above, or one that the protocol does not know
	Usage      Usage
}

// Usage is the number of tokens that a turn took, 0 where the agent does not say.
type Usage struct {
	Input, Output, Total int64
}

// tokens is Usage as agents write it.
type tokens struct {
	InputTokens, OutputTokens, TotalTokens count
	Input                                  count `json:"input_tokens"`
	Output                                 count `json:"output_tokens"`
	Total                                  count `json:"total_tokens"`
}

func (t tokens) usage() Usage {
	return Usage{int64(max(t.InputTokens, t.Input)), int64(max(t.OutputTokens, t.Output)), int64(max(t.TotalTokens, t.Total))}
}

// UnmarshalJSON never fails. Agents have the usage in different places.
func (r *PromptResult) UnmarshalJSON(raw []byte) error {
	var w struct {
		StopReason string
		Usage      tokens
		Meta       struct {
			Usage tokens
			Quota struct {
				Tokens tokens `json:"token_count"`
			}
		} `json:"_meta"`
	}
	lenient(raw, &w)
	*r = PromptResult{StopReason: w.StopReason}
	for _, t := range []tokens{w.Usage, w.Meta.Quota.Tokens, w.Meta.Usage} {
		if r.Usage = t.usage(); r.Usage != (Usage{}) {
			break
		}
	}
	return nil
}

// Injected is the outcome of a message that reached the running turn.
const Injected = "injected"

// SteeringResult answers MethodSteering.
type SteeringResult struct {
	Outcome string `json:"outcome"`
}

// CancelNotification ends the turn.
type CancelNotification struct {
	SessionID string `json:"sessionId"`
}

// CancelRequest withdraws a request.
type CancelRequest struct {
	RequestID json.RawMessage `json:"requestId"`
}

//go:build e2e && k8s && linux

package e2e

import (
	"io"
	"log"
	"net/http/httptest"
	"os/exec"
	"strings"

	"github.com/google/go-containerregistry/pkg/registry"
)

// push: a node pulls what gc image push sent to a registry, and runs it.
func (c *cluster) push() {
	server := httptest.NewServer(registry.New(registry.Logger(log.New(io.Discard, "", 0))))
	c.Cleanup(server.Close)
	name := strings.TrimPrefix(server.URL, "http://") + "/team/gc:v1"
	push := exec.Command(gcBin, "image", "push", name)
	out, err := push.CombinedOutput()
	if err != nil || !strings.HasPrefix(string(out), name+"@sha256:") {
		c.Fatalf("%v\n%s", err, out)
	}
	overrides := `{"spec":{"securityContext":{"runAsNonRoot":true,"runAsUser":1000,"seccompProfile":{"type":"RuntimeDefault"}},` +
		`"containers":[{"name":"pushed","image":"` + name + `","args":["version"],"securityContext":{"allowPrivilegeEscalation":false,"capabilities":{"drop":["ALL"]}}}]}}`
	c.kubectl("run", "-n", "agents", "pushed", "--restart=Never", "--image="+name, "--overrides="+overrides)
	c.kubectl("wait", "-n", "agents", "pod/pushed", "--for=jsonpath={.status.phase}=Succeeded", "--timeout=60s")
	if out := c.kubectl("logs", "-n", "agents", "pushed"); !strings.HasPrefix(out, "gc ") {
		c.Errorf("%q", out)
	}
}

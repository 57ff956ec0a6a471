//go:build linux

package k8snode

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/json"
	"encoding/pem"
	"math/big"
	"net"
	"os"
	"path/filepath"
	"time"
)

// authority signs the certificates of one node. It lives as long as the node:
// every start makes another.
type authority struct {
	dir  string
	cert *x509.Certificate
	key  *ecdsa.PrivateKey
}

// identity names whom a client's certificate is for.
type identity struct {
	file   string // of the certificate and the kubeconfig
	user   string
	groups []string
}

func newAuthority(dir string) (*authority, error) {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return nil, err
	}
	a := &authority{dir: dir, key: key}
	template := lasting(pkix.Name{CommonName: "gc test node"})
	template.IsCA, template.BasicConstraintsValid = true, true
	template.KeyUsage = x509.KeyUsageCertSign | x509.KeyUsageDigitalSignature
	der, err := x509.CreateCertificate(rand.Reader, template, template, &key.PublicKey, key)
	if err != nil {
		return nil, err
	}
	if a.cert, err = x509.ParseCertificate(der); err != nil {
		return nil, err
	}
	if err := writePEM(a.path("ca.crt"), "CERTIFICATE", der); err != nil {
		return nil, err
	}
	return a, writeKey(a.path("ca.key"), key)
}

func (a *authority) path(name string) string { return filepath.Join(a.dir, name) }

// server issues NAME.crt and NAME.key for a server on loopback.
func (a *authority) server(name string, names ...string) error {
	template := lasting(pkix.Name{CommonName: name})
	template.ExtKeyUsage = []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth}
	template.DNSNames = append(names, "localhost")
	template.IPAddresses = []net.IP{net.IPv4(127, 0, 0, 1), net.ParseIP(serviceAddress)}
	return a.issue(name, template)
}

// client issues a client's certificate.
func (a *authority) client(who identity) error {
	template := lasting(pkix.Name{CommonName: who.user, Organization: who.groups})
	template.ExtKeyUsage = []x509.ExtKeyUsage{x509.ExtKeyUsageClientAuth}
	return a.issue(who.file, template)
}

func (a *authority) issue(name string, template *x509.Certificate) error {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return err
	}
	der, err := x509.CreateCertificate(rand.Reader, template, a.cert, &key.PublicKey, a.key)
	if err != nil {
		return err
	}
	if err := writePEM(a.path(name+".crt"), "CERTIFICATE", der); err != nil {
		return err
	}
	return writeKey(a.path(name+".key"), key)
}

// kubeconfig writes NAME.kubeconfig for a client that has a certificate and
// returns its path. It holds keys, not paths, so that it can be copied.
func (a *authority) kubeconfig(name, server string) (string, error) {
	read := map[string][]byte{}
	for _, file := range []string{"ca.crt", name + ".crt", name + ".key"} {
		data, err := os.ReadFile(a.path(file))
		if err != nil {
			return "", err
		}
		read[file] = data
	}
	type object = map[string]any
	config, err := json.MarshalIndent(object{
		"apiVersion": "v1", "kind": "Config", "current-context": "node",
		"clusters": []object{{"name": "node", "cluster": object{"server": server, "certificate-authority-data": read["ca.crt"]}}},
		"users":    []object{{"name": name, "user": object{"client-certificate-data": read[name+".crt"], "client-key-data": read[name+".key"]}}},
		"contexts": []object{{"name": "node", "context": object{"cluster": "node", "user": name}}},
	}, "", " ")
	if err != nil {
		return "", err
	}
	path := a.path(name + ".kubeconfig")
	return path, os.WriteFile(path, config, 0o600)
}

func lasting(subject pkix.Name) *x509.Certificate {
	serial, _ := rand.Int(rand.Reader, new(big.Int).Lsh(big.NewInt(1), 100)) // crypto/rand does not fail
	return &x509.Certificate{
		SerialNumber: serial,
		Subject:      subject,
		NotBefore:    time.Now().Add(-time.Hour),
		NotAfter:     time.Now().Add(48 * time.Hour),
		KeyUsage:     x509.KeyUsageDigitalSignature,
	}
}

func writeKey(path string, key *ecdsa.PrivateKey) error {
	der, err := x509.MarshalECPrivateKey(key)
	if err != nil {
		return err
	}
	return writePEM(path, "EC PRIVATE KEY", der)
}

func writePEM(path, kind string, der []byte) error {
	return os.WriteFile(path, pem.EncodeToMemory(&pem.Block{Type: kind, Bytes: der}), 0o600)
}

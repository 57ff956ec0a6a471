package access

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/sha256"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"errors"
	"fmt"
	"io/fs"
	"math/big"
	"net/netip"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"
)

// SelfSigned returns a certificate for the host names and addresses. It is kept
// in the directory, so that a browser that trusts it need not be asked again, and
// replaced when it expires within a month or lacks a host.
func SelfSigned(dir string, hosts []string) (tls.Certificate, error) {
	path := filepath.Join(dir, "self-signed.pem")
	cert, err := tls.LoadX509KeyPair(path, path)
	if err == nil && serves(cert.Leaf, hosts, time.Now()) {
		return cert, nil
	} else if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return cert, fmt.Errorf("%s: %w", path, err)
	}
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return cert, err
	}
	text, err := generate(hosts, time.Now())
	if err != nil {
		return cert, err
	}
	if err := os.WriteFile(path+".new", text, 0o600); err != nil {
		return cert, err
	}
	if err := os.Rename(path+".new", path); err != nil {
		return cert, err
	}
	return tls.X509KeyPair(text, text)
}

func serves(leaf *x509.Certificate, hosts []string, now time.Time) bool {
	return now.AddDate(0, 1, 0).Before(leaf.NotAfter) &&
		!slices.ContainsFunc(hosts, func(h string) bool { return leaf.VerifyHostname(h) != nil })
}

func generate(hosts []string, now time.Time) ([]byte, error) {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return nil, err
	}
	serial, err := rand.Int(rand.Reader, new(big.Int).Lsh(big.NewInt(1), 127))
	if err != nil {
		return nil, err
	}
	// Browsers refuse certificates that are valid for more than 825 days.
	c := &x509.Certificate{
		SerialNumber: serial, Subject: pkix.Name{CommonName: "gc web"},
		NotBefore: now.Add(-time.Hour), NotAfter: now.AddDate(0, 0, 820),
		KeyUsage: x509.KeyUsageDigitalSignature, ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth},
		BasicConstraintsValid: true,
	}
	for _, h := range hosts {
		if a, err := netip.ParseAddr(h); err == nil {
			c.IPAddresses = append(c.IPAddresses, a.AsSlice())
		} else {
			c.DNSNames = append(c.DNSNames, h)
		}
	}
	der, err := x509.CreateCertificate(rand.Reader, c, c, key.Public(), key)
	if err != nil {
		return nil, err
	}
	private, err := x509.MarshalPKCS8PrivateKey(key)
	if err != nil {
		return nil, err
	}
	text := pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der})
	return append(text, pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: private})...), nil
}

// Fingerprint is the SHA-256 of the certificate as browsers show it.
func Fingerprint(c tls.Certificate) string {
	sum := sha256.Sum256(c.Certificate[0])
	var b strings.Builder
	for i, x := range sum {
		if i > 0 {
			b.WriteByte(':')
		}
		fmt.Fprintf(&b, "%02X", x)
	}
	return b.String()
}

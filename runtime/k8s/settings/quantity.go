package settings

import (
	"math/big"
	"sync"
)

var quantity = compiled(`^([0-9]+(?:\.[0-9]*)?|\.[0-9]+)([numkMGTPE]|[KMGTPE]i)?$`)

// factors are the suffixes of amounts in Kubernetes, without exponents such as 1e3.
var factors = sync.OnceValue(func() map[string]*big.Rat {
	return map[string]*big.Rat{
		"": power(10, 0), "n": power(10, -9), "u": power(10, -6), "m": power(10, -3),
		"k": power(10, 3), "M": power(10, 6), "G": power(10, 9), "T": power(10, 12), "P": power(10, 15), "E": power(10, 18),
		"Ki": power(2, 10), "Mi": power(2, 20), "Gi": power(2, 30), "Ti": power(2, 40), "Pi": power(2, 50), "Ei": power(2, 60),
	}
})

func power(base, exponent int64) *big.Rat {
	n := new(big.Int).Exp(big.NewInt(base), big.NewInt(max(exponent, -exponent)), nil)
	if exponent < 0 {
		return new(big.Rat).SetFrac(big.NewInt(1), n)
	}
	return new(big.Rat).SetInt(n)
}

// maxQuantity is far more digits than an amount has; it bounds the arithmetic.
const maxQuantity = 40

func parseQuantity(s string) (*big.Rat, bool) {
	m := quantity().FindStringSubmatch(s)
	if m == nil || len(s) > maxQuantity {
		return nil, false
	}
	number, ok := new(big.Rat).SetString(m[1])
	if !ok {
		return nil, false
	}
	return number.Mul(number, factors()[m[2]]), true
}

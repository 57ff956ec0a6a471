// Package nearest suggests the word meant by a misspelt one.
package nearest

// Of returns the candidate closest to word by edit distance, or "" when
// none is close enough. The first of equally close ones in byte order wins.
func Of(word string, candidates []string) string {
	best, bestDist := "", len(word)/2+1
	for _, c := range candidates {
		if d := distance(word, c, bestDist); d < bestDist || d == bestDist && best != "" && c < best {
			best, bestDist = c, d
		}
	}
	return best
}

// distance is the Damerau-Levenshtein distance (optimal string alignment) of
// two byte strings; anything above limit may be reported as limit+1.
func distance(a, b string, limit int) int {
	if len(a)-len(b) > limit || len(b)-len(a) > limit || len(a) > 200 {
		return limit + 1
	}
	var before []int
	prev := make([]int, len(b)+1)
	for j := range prev {
		prev[j] = j
	}
	for i := 1; i <= len(a); i++ {
		cur := make([]int, len(b)+1)
		cur[0] = i
		for j := 1; j <= len(b); j++ {
			cost := 1
			if a[i-1] == b[j-1] {
				cost = 0
			}
			cur[j] = min(prev[j]+1, cur[j-1]+1, prev[j-1]+cost)
			if i > 1 && j > 1 && a[i-1] == b[j-2] && a[i-2] == b[j-1] {
				cur[j] = min(cur[j], before[j-2]+1)
			}
		}
		before, prev = prev, cur
	}
	return prev[len(b)]
}

// Distance is the number of letters that must be changed, added, removed or
// swapped with their neighbour to turn a into b.
func Distance(a, b string) int { return distance(a, b, len(a)+len(b)) }

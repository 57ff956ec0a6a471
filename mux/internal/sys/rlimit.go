package sys

// Rlimit is a resource limit as setrlimit(2) takes it: resource, soft, hard.
type Rlimit = [3]uint64

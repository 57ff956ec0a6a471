package mux

const rlimitNproc = 7 // RLIMIT_NPROC, sys/resource.h

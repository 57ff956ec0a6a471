package stuck

import (
	"encoding/binary"
	"errors"
	"fmt"
	"os"
	"slices"
	"strconv"
	"strings"
	"unsafe"

	"golang.org/x/sys/unix"
)

// traffic returns what the processes' connections carried. The kernel counts the bytes of a
// TCP connection (sock_diag(7)); other sockets only count as being there.
func traffic(pids []int) (Traffic, error) {
	var t Traffic
	own, err := os.Readlink("/proc/self/ns/net")
	if err != nil {
		return t, err
	}
	for _, pid := range pids {
		list, err := socketsOf(pid)
		switch {
		case errors.Is(err, os.ErrNotExist): // the process ended
			continue
		case err != nil:
			return t, err
		case len(list) == 0:
			continue
		}
		ns, err := os.Readlink(fmt.Sprintf("/proc/%d/ns/net", pid))
		if err != nil || ns != own {
			return t, fmt.Errorf("process %d has a network of its own", pid)
		}
		t.Sockets = append(t.Sockets, list...)
	}
	if len(t.Sockets) == 0 {
		return t, nil
	}
	for _, family := range []uint8{unix.AF_INET, unix.AF_INET6} {
		n, err := tcpBytes(family, func(inode uint64) bool { return slices.Contains(t.Sockets, inode) })
		if err != nil {
			return t, err
		}
		t.Bytes += n
	}
	return t, nil
}

// socketsOf returns the inodes of a process's sockets.
func socketsOf(pid int) ([]uint64, error) {
	dir := "/proc/" + strconv.Itoa(pid) + "/fd"
	entries, err := os.ReadDir(dir)
	if err != nil {
		return nil, err
	}
	var list []uint64
	for _, e := range entries {
		target, err := os.Readlink(dir + "/" + e.Name())
		if err != nil { // closed meanwhile
			continue
		}
		number, ok := strings.CutPrefix(target, "socket:[")
		if inode, err := strconv.ParseUint(strings.TrimSuffix(number, "]"), 10, 64); ok && err == nil {
			list = append(list, inode)
		}
	}
	return list, nil
}

// Layout of the messages of sock_diag(7), linux/inet_diag.h.
const (
	requestSize = 56 // struct inet_diag_req_v2
	inodeAt     = 68 // in struct inet_diag_msg
	messageSize = 72
	infoAttr    = 2 // INET_DIAG_INFO: struct tcp_info
)

// tcpBytes adds up the bytes of the TCP connections with such inodes.
func tcpBytes(family uint8, ours func(inode uint64) bool) (uint64, error) {
	fd, err := unix.Socket(unix.AF_NETLINK, unix.SOCK_DGRAM|unix.SOCK_CLOEXEC, unix.NETLINK_SOCK_DIAG)
	if err != nil {
		return 0, err
	}
	defer unix.Close(fd)
	b := make([]byte, unix.NLMSG_HDRLEN+requestSize)
	binary.NativeEndian.PutUint32(b, uint32(len(b)))
	binary.NativeEndian.PutUint16(b[4:], unix.SOCK_DIAG_BY_FAMILY)
	binary.NativeEndian.PutUint16(b[6:], unix.NLM_F_REQUEST|unix.NLM_F_DUMP)
	r := b[unix.NLMSG_HDRLEN:]
	r[0], r[1], r[2] = family, unix.IPPROTO_TCP, 1<<(infoAttr-1)
	binary.NativeEndian.PutUint32(r[4:], ^uint32(0)) // of every state
	if err := unix.Sendto(fd, b, 0, &unix.SockaddrNetlink{Family: unix.AF_NETLINK}); err != nil {
		return 0, err
	}
	var sum uint64
	buf := make([]byte, 64<<10)
	for {
		n, _, err := unix.Recvfrom(fd, buf, 0)
		if errors.Is(err, unix.EINTR) {
			continue
		}
		if err != nil {
			return 0, err
		}
		add, done, err := addUp(buf[:n], ours)
		if err != nil || done {
			return sum + add, err
		}
		sum += add
	}
}

// addUp reads one datagram of replies.
func addUp(b []byte, ours func(inode uint64) bool) (sum uint64, done bool, err error) {
	for len(b) >= unix.NLMSG_HDRLEN {
		size, kind := int(binary.NativeEndian.Uint32(b)), binary.NativeEndian.Uint16(b[4:])
		if size < unix.NLMSG_HDRLEN || size > len(b) {
			break
		}
		body := b[unix.NLMSG_HDRLEN:size]
		switch {
		case kind == unix.NLMSG_DONE:
			return sum, true, nil
		case kind == unix.NLMSG_ERROR && len(body) >= 4:
			return sum, true, unix.Errno(-int32(binary.NativeEndian.Uint32(body)))
		case kind == unix.SOCK_DIAG_BY_FAMILY && len(body) >= messageSize && ours(uint64(binary.NativeEndian.Uint32(body[inodeAt:]))):
			sum += bytesOf(body[messageSize:])
		}
		b = b[min((size+3)&^3, len(b)):]
	}
	return sum, false, nil
}

// bytesOf returns the bytes that the attributes of one connection count.
func bytesOf(b []byte) uint64 {
	const acked, received = unsafe.Offsetof(unix.TCPInfo{}.Bytes_acked), unsafe.Offsetof(unix.TCPInfo{}.Bytes_received)
	for len(b) >= 4 {
		size, kind := int(binary.NativeEndian.Uint16(b)), binary.NativeEndian.Uint16(b[2:])
		if size < 4 || size > len(b) {
			break
		}
		if info := b[4:size]; kind == infoAttr && len(info) >= int(received)+8 {
			return binary.NativeEndian.Uint64(info[acked:]) + binary.NativeEndian.Uint64(info[received:])
		}
		b = b[min((size+3)&^3, len(b)):]
	}
	return 0
}

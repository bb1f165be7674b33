package plugintest

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"regexp"
	"strings"
	"syscall"
	"testing"
	"time"
	"unicode/utf8"

	"golang.org/x/sys/unix"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// pseudoTerminal is a terminal whose user is the test. Programs open screen, and the test reads and writes keys.
type pseudoTerminal struct {
	*testing.T
	keys, screen *os.File
	shown        bytes.Buffer // everything since the beginning
}

func newPseudoTerminal(t *testing.T, columns int) *pseudoTerminal {
	t.Helper()
	keys, err := os.OpenFile("/dev/ptmx", os.O_RDWR|unix.O_NOCTTY, 0)
	if err != nil {
		t.Fatal(err)
	}
	p := &pseudoTerminal{T: t, keys: keys}
	t.Cleanup(func() { _ = keys.Close() })
	var number int
	p.control(func(fd int) (err error) {
		if err = unix.IoctlSetPointerInt(fd, unix.TIOCSPTLCK, 0); err != nil {
			return err
		}
		number, err = unix.IoctlGetInt(fd, unix.TIOCGPTN)
		return err
	})
	if p.screen, err = os.OpenFile(fmt.Sprintf("/dev/pts/%d", number), os.O_RDWR|unix.O_NOCTTY, 0); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = p.screen.Close() })
	p.resize(columns)
	return p
}

// control calls a function with the descriptor, without making reads from it block.
func (p *pseudoTerminal) control(call func(fd int) error) {
	p.Helper()
	connection, err := p.keys.SyscallConn()
	if err != nil {
		p.Fatal(err)
	}
	var failure error
	if err := errors.Join(connection.Control(func(fd uintptr) { failure = call(int(fd)) }), failure); err != nil {
		p.Fatal(err)
	}
}

func (p *pseudoTerminal) resize(columns int) {
	p.Helper()
	p.control(func(fd int) error {
		return unix.IoctlSetWinsize(fd, unix.TIOCSWINSZ, &unix.Winsize{Row: 50, Col: uint16(columns)})
	})
}

// settings are those of the terminal, such as echo.
func (p *pseudoTerminal) settings() (settings unix.Termios) {
	p.Helper()
	p.control(func(fd int) error {
		got, err := unix.IoctlGetTermios(fd, unix.TCGETS)
		if err == nil {
			settings = *got
		}
		return err
	})
	return settings
}

// await reads until what is shown since from has a text, and returns that.
func (p *pseudoTerminal) await(from int, text string) string {
	p.Helper()
	if err := p.keys.SetReadDeadline(time.Now().Add(time.Minute)); err != nil {
		p.Fatal(err)
	}
	for part := make([]byte, 4096); !strings.Contains(p.shown.String()[from:], text); {
		n, err := p.keys.Read(part)
		p.shown.Write(part[:n])
		if err != nil {
			p.Fatalf("the terminal does not show %q (%v):\n%s", text, err, p.shown.String()[from:])
		}
	}
	return p.shown.String()[from:]
}

// start starts a command on the terminal. Progress and hints go elsewhere.
func (r *rig) start(ctx context.Context, on *pseudoTerminal, environment []string, args ...string) *exec.Cmd {
	r.Helper()
	cmd := exec.CommandContext(ctx, r.program, append(args, "--token="+r.token)...)
	cmd.Env = append(environment, "KUBECONFIG="+r.kubeconfig, "HOME="+r.TempDir(), "TERM=xterm-256color")
	cmd.Stdin, cmd.Stdout = on.screen, on.screen
	r.must(cmd.Start())
	return cmd
}

// sequences matches control sequences.
func sequences() *regexp.Regexp { return regexp.MustCompile(`\x1b\[[0-9;?]*[A-Za-z]`) }

// home moves to the top of the screen.
const home = "\x1b[H"

// requireWidth checks that all lines fit the terminal.
func requireWidth(t *testing.T, shown string, columns int) {
	t.Helper()
	shown = strings.ReplaceAll(shown, home, "\n")
	for line := range strings.SplitSeq(sequences().ReplaceAllString(shown, ""), "\n") {
		if line = strings.TrimRight(line, "\r"); utf8.RuneCountInString(line) > columns {
			t.Errorf("a line is wider than %d columns: %s", columns, line)
		}
	}
}

// longName is as long as names of Services can be.
func longName() string { return strings.Repeat("long-", 12) + "one" }

// addLongNames adds objects whose names take most of a line.
func (r *rig) addLongNames() {
	r.Helper()
	_, err := r.cluster.CoreV1().Nodes().Create(r.Context(), &corev1.Node{
		ObjectMeta: metav1.ObjectMeta{Name: longName()}}, metav1.CreateOptions{})
	r.must(err)
	_, err = r.cluster.CoreV1().Services("default").Create(r.Context(), &corev1.Service{
		ObjectMeta: metav1.ObjectMeta{Name: longName()}, Spec: corev1.ServiceSpec{
			Type: corev1.ServiceTypeLoadBalancer, Ports: []corev1.ServicePort{{Port: 80}}}}, metav1.CreateOptions{})
	r.must(err)
}

// testTerminal: what commands show fits the terminal, and has colours only there, and not if NO_COLOR is set.
func (r *rig) testTerminal() {
	r.addLongNames()
	for command, want := range map[string]string{"plan -A": "create load balancer", "doctor": "Configuration",
		"nodes": "NODE", "orphans": "Every object", "top --once -A": "IN SYNC"} {
		args := strings.Fields(command)
		for _, columns := range []int{80, 200} {
			shown := r.shown(columns, nil, args)
			if !strings.Contains(shown, want) || !strings.Contains(shown, "\x1b[") {
				r.Errorf("%s in %d columns lacks %q or colours:\n%s", command, columns, want, shown)
			}
			requireWidth(r.T, shown, columns)
		}
		if shown := r.shown(80, []string{"NO_COLOR=1"}, args); strings.Contains(shown, "\x1b") {
			r.Errorf("%s with NO_COLOR shows colours: %q", command, shown)
		}
		if output, _ := r.run(args...); strings.Contains(output, "\x1b") {
			r.Errorf("%s without a terminal writes control sequences: %q", command, output)
		}
	}
	r.testTop(newPseudoTerminal(r.T, 80))
}

// shown returns what a command that ends by itself shows on a terminal.
func (r *rig) shown(columns int, environment, args []string) string {
	r.Helper()
	ctx, cancel := context.WithTimeout(r.Context(), time.Minute)
	defer cancel()
	on := newPseudoTerminal(r.T, columns)
	cmd := r.start(ctx, on, environment, args...)
	read := make(chan error, 1)
	go func() {
		_, err := io.Copy(&on.shown, on.keys)
		read <- err
	}()
	err := cmd.Wait()
	if _, failed := errors.AsType[*exec.ExitError](err); !failed {
		r.must(err)
	}
	r.must(on.screen.Close())
	// Linux reports that nobody has the other side open as an error of input.
	if err := <-read; !errors.Is(err, syscall.EIO) {
		r.must(err)
	}
	return on.shown.String()
}

// testTop: it refreshes in place, follows the size of the terminal, and q ends it and restores the terminal.
func (r *rig) testTop(on *pseudoTerminal) {
	ctx, cancel := context.WithTimeout(r.Context(), 3*time.Minute)
	defer cancel()
	before := on.settings()
	cmd := r.start(ctx, on, nil, "top", "-A", "--interval=1s")
	on.await(0, "…")
	first := on.await(on.shown.Len(), home)
	if on.settings() == before {
		on.Error("the terminal echoes keys and waits for lines")
	}
	requireWidth(on.T, first, 80)
	on.resize(200)
	wide := on.await(on.shown.Len(), longName())
	requireWidth(on.T, wide, 200)
	on.await(on.shown.Len(), home) // the next refresh is in place, too
	_, err := on.keys.WriteString("q")
	r.must(err)
	on.await(0, "\x1b[?1049l") // the screen before is back
	r.must(cmd.Wait())
	if on.settings() != before {
		on.Error("the settings of the terminal are not as before")
	}
}

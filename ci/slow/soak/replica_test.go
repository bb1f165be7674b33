package soak

import (
	"context"
	"crypto/tls"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"time"

	"github.com/thalassa-cloud/thalassa-ccm/ci/host"
	"github.com/thalassa-cloud/thalassa-ccm/src/emulator"
	"github.com/thalassa-cloud/thalassa-ccm/tools/poll"
	"github.com/thalassa-cloud/thalassa-ccm/tools/process"
)

// config returns the cloud-config of a seed. Calls that hang end soon. With an odd seed no check for drift repairs what
// was lost, and lists of load balancers are read as seldom as possible. With an even seed both happen every few seconds
// instead of every few minutes. The route table is the cluster's, so that routes are also deleted whose Nodes went
// while no process ran.
func config(seed uint64) string {
	drift, age := 2, 4
	if seed%2 == 1 {
		drift, age = 0, 3600
	}
	return fmt.Sprintf(`{
"cloudCredentials": {"personalAccessToken": "%s"},
"loadBalancer": {"creationPollInterval": 1, "driftPeriod": %d, "removeOrphans": true},
"instancesV2": {"removalGracePeriod": 5, "maxRemovals": 100, "removalWindow": 60},
"inventory": {"machineAge": 1, "balancerAge": %d},
"clusterCIDR": "10.244.0.0/16",
"routes": {"enabled": true, "table": "default", "exclusive": true, "driftPeriod": %d},
"api": {"callTimeout": 2, "requestsPerSecond": 200}}`, emulator.DefaultToken, drift, age, drift)
}

// replica is one of the cloud controller managers. Its process is replaced when it ends.
type replica struct {
	name    string
	listen  string // host:port
	process *process.Process
	starts  int
	// recent says that it was started in this round, so that it may not be complete.
	recent bool
}

// startReplicas starts two cloud controller managers, of which one is the leader.
func (s *soak) startReplicas(seed uint64) {
	s.Helper()
	s.evidence = s.ArtifactDir()
	set := map[string]any{}
	s.must(json.Unmarshal([]byte(config(seed)), &set))
	maps.Copy(set, s.cloud.Config("soak"))
	text, err := json.Marshal(set)
	s.must(err)
	s.must(os.WriteFile(s.path("cloud-config"), text, 0o600))
	s.program = host.Program(s)
	for _, name := range []string{"one", "two"} {
		r := &replica{name: name, listen: host.FreeAddress(s)}
		s.replicas = append(s.replicas, r)
		s.must(s.start(r))
		s.Cleanup(func() {
			if s.Failed() {
				s.Logf("the end of the log of replica %s:\n%s", name, r.process.Tail())
				s.check(s.keepProfiles(r))
			}
			s.check(r.process.Stop(waitLimit))
		})
	}
}

func (s *soak) path(name string) string { return filepath.Join(s.folder, name) }

// start starts the process of a replica.
func (s *soak) start(r *replica) (err error) {
	address, port, err := net.SplitHostPort(r.listen)
	if err != nil {
		return err
	}
	kubeconfig := s.plane.Kubeconfig()
	r.starts, r.recent = r.starts+1, true
	// The context of the test ends before its evidence is kept.
	r.process, err = process.Start(context.WithoutCancel(s.Context()), process.Spec{
		Name: "replica " + r.name, Path: s.program,
		Args: []string{"--cloud-config=" + s.path("cloud-config"), "--kubeconfig=" + kubeconfig,
			"--authentication-kubeconfig=" + kubeconfig, "--authorization-kubeconfig=" + kubeconfig,
			"--authorization-always-allow-paths=/metrics,/debug/pprof/*", "--profiling=true",
			"--bind-address=" + address, "--secure-port=" + port, "--leader-elect-lease-duration=10s",
			"--leader-elect-renew-deadline=8s", "--leader-elect-retry-period=1s", "--node-monitor-period=1s",
			"--node-status-update-frequency=1s"},
		Env: []string{"HOME=" + s.folder}, LogPath: filepath.Join(s.evidence, r.name+".log"),
	})
	return err
}

// mostLost is how many processes may lose their lease because this machine is too busy.
const mostLost = 3

// leaseLost is what a process says that ends because it could not renew its lease in time.
const leaseLost = `err="lease lost: `

// restartLost starts processes again that have lost their lease because this machine is too busy, as a kubelet does. No
// other process may end that nobody ends.
func (s *soak) restartLost() error {
	for _, r := range s.replicas {
		select {
		case <-r.process.Done():
		default:
			continue
		}
		if !strings.Contains(r.process.Tail(), leaseLost) {
			return poll.Final(fmt.Errorf("replica %s ended on its own: %w", r.name, r.process.Wait()))
		}
		if s.lost++; s.lost > mostLost {
			return poll.Final(fmt.Errorf("%d processes have lost their lease although nothing froze them, at most %d "+
				"may: the machine is too busy for this test, or they do not renew it in time", s.lost, mostLost))
		}
		fmt.Printf("replica %s has lost its lease, and is started again\n", r.name)
		if err := s.start(r); err != nil {
			return poll.Final(err)
		}
	}
	return nil
}

// end ends the processes of replicas with a signal, and starts them again. Those that are asked to end exit with 0.
func (s *soak) end(ctx context.Context, signal syscall.Signal, replicas ...*replica) error {
	for _, r := range replicas {
		if err := s.until(ctx, "replica "+r.name+" answers", func(ctx context.Context) error {
			_, err := r.measure(ctx, false)
			return errors.Join(err, s.restartLost())
		}); err != nil {
			return err
		}
	}
	for _, r := range replicas {
		if err := r.process.Signal(signal); err != nil && !errors.Is(err, os.ErrProcessDone) {
			return err
		}
	}
	for _, r := range replicas {
		if err := r.awaitEnd(ctx); err != nil {
			return err
		}
		if err := r.process.Wait(); err != nil && signal == syscall.SIGTERM &&
			!strings.Contains(r.process.Tail(), leaseLost) {
			return fmt.Errorf("replica %s was asked to end: %w", r.name, err)
		}
		if err := s.start(r); err != nil {
			return err
		}
	}
	return nil
}

// awaitEnd waits for the end of a process that was asked to end.
func (r *replica) awaitEnd(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, waitLimit)
	defer cancel()
	select {
	case <-r.process.Done():
		return nil
	case <-ctx.Done():
		return fmt.Errorf("replica %s has not ended within %s; the end of its log:\n%s", r.name, waitLimit,
			r.process.Tail())
	}
}

// roles returns the leader, and the other replica.
func (s *soak) roles(ctx context.Context) (leader, other *replica, err error) {
	err = s.until(ctx, "a replica leads", func(ctx context.Context) error {
		for i, r := range s.replicas {
			now, err := r.measure(ctx, false)
			if err == nil && now.leads {
				leader, other = r, s.replicas[1-i]
				return nil
			}
		}
		if err := s.restartLost(); err != nil {
			return err
		}
		return errors.New("none does")
	})
	return leader, other, err
}

// freeze stops the leader as a machine without memory does, until the other one leads. It has to end when it goes on.
func (s *soak) freeze(ctx context.Context) error {
	leader, other, err := s.roles(ctx)
	if err != nil {
		return err
	}
	if err := leader.process.Signal(syscall.SIGSTOP); err != nil {
		return err
	}
	err = s.until(ctx, "the other replica leads", func(ctx context.Context) error {
		now, err := other.measure(ctx, false)
		if err == nil && !now.leads {
			err = errors.New("it does not")
		}
		return errors.Join(err, s.restartLost())
	})
	if err := errors.Join(err, leader.process.Signal(syscall.SIGCONT)); err != nil {
		return err
	}
	if err := leader.awaitEnd(ctx); err != nil {
		return err
	}
	if !strings.Contains(leader.process.Tail(), leaseLost) {
		return fmt.Errorf("replica %s, whose lease another one has, ended otherwise: %w", leader.name,
			leader.process.Wait())
	}
	return s.start(leader)
}

// measure reads what a process needs, after a collection of its garbage.
func (r *replica) measure(ctx context.Context, collect bool) (sample, error) {
	if collect {
		if _, err := r.get(ctx, "/debug/pprof/heap?gc=1"); err != nil {
			return sample{}, err
		}
	}
	text, err := r.get(ctx, "/metrics")
	if err != nil {
		return sample{}, err
	}
	values := map[string]float64{}
	for line := range strings.Lines(text) {
		name, value, found := strings.Cut(strings.TrimSpace(line), " ")
		if number, err := strconv.ParseFloat(value, 64); found && err == nil {
			values[name] = number
		}
	}
	if values["go_goroutines"] == 0 || values["go_gc_heap_live_bytes"] == 0 {
		return sample{}, fmt.Errorf("replica %s does not say what it needs: %d metrics", r.name, len(values))
	}
	return sample{
		process:    fmt.Sprintf("%s, start %d", r.name, r.starts),
		leads:      values[`leader_election_master_status{name="cloud-controller-manager"}`] == 1,
		goroutines: int(values["go_goroutines"]), heap: int(values["go_gc_heap_live_bytes"]),
		files: int(values["process_open_fds"]),
	}, nil
}

// keepProfiles writes what a process is doing, and what its memory is needed for, beside its log.
func (s *soak) keepProfiles(r *replica) error {
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute) // the test's own may have ended
	defer cancel()
	for file, path := range map[string]string{"goroutines.txt": "goroutine?debug=1", "heap": "heap?gc=1"} {
		text, err := r.get(ctx, "/debug/pprof/"+path)
		if err != nil {
			return err
		}
		if err := os.WriteFile(filepath.Join(s.evidence, r.name+"-"+file), []byte(text), 0o600); err != nil {
			return err
		}
	}
	return nil
}

// get reads a page of the process. It keeps no connection, which would be a goroutine of the process.
func (r *replica) get(ctx context.Context, path string) (string, error) {
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, "https://"+r.listen+path, nil)
	if err != nil {
		return "", err
	}
	client := http.Client{Timeout: 30 * time.Second, Transport: &http.Transport{DisableKeepAlives: true,
		TLSClientConfig: &tls.Config{InsecureSkipVerify: true}}}
	response, err := client.Do(request)
	if err != nil {
		return "", err
	}
	defer response.Body.Close()
	body, err := io.ReadAll(response.Body)
	if err == nil && response.StatusCode != http.StatusOK {
		err = fmt.Errorf("%s answers %s: %s", path, response.Status, body)
	}
	return string(body), err
}

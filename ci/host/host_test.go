package host_test

import (
	"context"
	"net/netip"
	"os"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/thalassa-cloud/thalassa-ccm/ci/host"
	"github.com/thalassa-cloud/thalassa-ccm/src/emulator/tier"
	"github.com/thalassa-cloud/thalassa-ccm/tools/controlplanetest"
	"github.com/thalassa-cloud/thalassa-ccm/tools/virtualnode"
)

func TestMain(m *testing.M) { controlplanetest.Main(m) }

func TestProgram(t *testing.T) {
	tier.NeedFull(t)
	info, err := os.Stat(host.Program(t))
	if err != nil || info.Mode()&0o111 == 0 {
		t.Errorf("%v and %v, want an executable", info, err)
	}
}

// TestStart: a pod of the image is the program, which says what it lacks; the node goes with the test.
func TestStart(t *testing.T) {
	tier.NeedFull(t)
	plane := controlplanetest.Get(t)
	client := controlplanetest.Client(t, plane)
	namespace := controlplanetest.Namespace(t)
	t.Run("while the test runs", func(t *testing.T) {
		host.Start(t, plane, virtualnode.Options{Name: "host-test", Address: netip.MustParseAddr("127.0.94.1"),
			ControlPlane: true})
		pod := &corev1.Pod{
			ObjectMeta: metav1.ObjectMeta{Name: "ccm"},
			Spec: corev1.PodSpec{
				NodeName:    "host-test",
				Tolerations: []corev1.Toleration{{Operator: corev1.TolerationOpExists}},
				Containers: []corev1.Container{{
					Name: "ccm", Image: host.Image + ":test", Command: []string{"/ccm"},
					Args:                     []string{"--cloud-config=/nowhere"},
					TerminationMessagePolicy: corev1.TerminationMessageFallbackToLogsOnError,
				}},
			},
		}
		controlplanetest.Eventually(t, time.Minute, "the namespace has its account", func(ctx context.Context) error {
			_, err := client.CoreV1().ServiceAccounts(namespace).Get(ctx, "default", metav1.GetOptions{})
			return err
		})
		if _, err := client.CoreV1().Pods(namespace).Create(t.Context(), pod, metav1.CreateOptions{}); err != nil {
			t.Fatal(err)
		}
		controlplanetest.Eventually(t, time.Minute, "the program says what it lacks", func(ctx context.Context) error {
			pod, err := client.CoreV1().Pods(namespace).Get(ctx, "ccm", metav1.GetOptions{})
			if err != nil {
				return err
			}
			for _, status := range pod.Status.ContainerStatuses {
				ended := status.LastTerminationState.Terminated
				if ended != nil && strings.Contains(ended.Message, "/nowhere") {
					return nil
				}
			}
			return &unlike{pod.Status}
		})
	})
	if _, err := client.CoreV1().Nodes().Get(t.Context(), "host-test",
		metav1.GetOptions{}); !apierrors.IsNotFound(err) {
		t.Errorf("after the test the node gives %v, want not found", err)
	}
}

// unlike is a status that was not waited for.
type unlike struct{ corev1.PodStatus }

// Error implements error.
func (u *unlike) Error() string { return "its status is " + u.String() }

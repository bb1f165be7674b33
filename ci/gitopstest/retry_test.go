package gitopstest

import (
	"path/filepath"
	"testing"
	"time"

	helmv2 "github.com/fluxcd/helm-controller/api/v2"
	kustomizev1 "github.com/fluxcd/kustomize-controller/api/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/yaml"

	"github.com/thalassa-cloud/thalassa-ccm/src/emulator/checkout"
)

// TestFluxTriesAgain: a Secret that is made after the time Flux waits for healthy pods is found soon. Without more
// said, helm-controller gives a failed release up for ever, and kustomize-controller tries again after the whole
// interval.
func TestFluxTriesAgain(t *testing.T) {
	files, err := filepath.Glob(checkout.Path(t, "examples/flux") + "/*.yaml")
	if err != nil {
		t.Fatal(err)
	}
	seen := 0
	for _, file := range files {
		name := "flux/" + filepath.Base(file)
		for _, document := range read(t, name) {
			seen += wantRetries(t, name, document)
		}
	}
	if seen < len(files) || seen == 0 {
		t.Errorf("%d examples install %d things", len(files), seen)
	}
}

// wantRetries checks what a document installs, and returns how much that is: sources install nothing.
func wantRetries(t *testing.T, name, document string) int {
	t.Helper()
	var kind metav1.TypeMeta
	if err := yaml.Unmarshal([]byte(document), &kind); err != nil {
		t.Fatalf("%s: %v", name, err)
	}
	switch kind.Kind {
	case helmv2.HelmReleaseKind:
		release := decode[helmv2.HelmRelease](t, document)
		for action, retry := range map[string]helmv2.Retry{"install": release.GetInstall().GetRetry(false),
			"upgrade": release.GetUpgrade().GetRetry(false)} {
			if retry == nil {
				t.Errorf("%s: a failed %s is given up", name, action)
				continue
			}
			wantSoon(t, name+": "+action, retry.GetRetryInterval())
		}
	case kustomizev1.KustomizationKind:
		wantSoon(t, name, decode[kustomizev1.Kustomization](t, document).GetRetryInterval())
	default:
		return 0
	}
	return 1
}

func wantSoon(t *testing.T, what string, got time.Duration) {
	t.Helper()
	if got != time.Minute {
		t.Errorf("%s: what failed is tried again after %v, want a minute", what, got)
	}
}

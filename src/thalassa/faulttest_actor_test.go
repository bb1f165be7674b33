package thalassa

import (
	"context"
	"net/http"
	"testing"

	corev1 "k8s.io/api/core/v1"

	"github.com/thalassa-cloud/thalassa-ccm/src/emulator"
	"github.com/thalassa-cloud/thalassa-ccm/src/emulator/faulttest"
	"github.com/thalassa-cloud/thalassa-ccm/src/thalassa/secret"
)

// nextCluster works in the VPC at the same time as ours, in the stories that say so. Credentials of its own tell their
// writes apart.
const nextCluster = "k8s-next"

// nextCredentials are its client, whose id is what the cloud's log of writes shows.
func nextCredentials() secret.Credentials {
	return secret.Credentials{ClientID: nextCluster, ClientSecret: "the secret of " + nextCluster}
}

// otherCluster is the provider of the other cluster.
func otherCluster(t *testing.T, cloud *emulator.Emulator) *lab {
	t.Helper()
	l := labIn(t, cloud)
	l.config.Cluster, l.credentials = nextCluster, nextCredentials()
	l.restart()
	return l
}

// afterItsLife is what the other cluster has in the end.
func afterItsLife() []string { return []string{"443/tcp to 30443 on y z", "80/tcp to 30080 on y z"} }

// concurrentActor is the actor that changes objects of the other cluster.
func concurrentActor() *faulttest.ConcurrentActor {
	return &faulttest.ConcurrentActor{Subject: nextCluster,
		Begin: func(t *testing.T, cloud *emulator.Emulator) faulttest.Start {
			t.Helper()
			return otherCluster(t, cloud).living
		}}
}

// living is a process with a Service of the same namespace, name and UID as ours: it is created, gets a node and
// another port, is deleted and created anew.
func (l *lab) living(network http.RoundTripper) faulttest.Work {
	b := l.through(network)
	small, large, other := known("y"), known("y", "z"), service("web", 80, 8443)
	return func(ctx context.Context) error {
		for _, step := range []func(context.Context) error{
			b.ensuring(service("web", 80, 443), small), b.following(service("web", 80, 443), large),
			b.ensuring(other, large), b.deleting(other), b.ensuring(service("web", 80, 443), large),
		} {
			if err := attempt(ctx, step); err != nil {
				return err
			}
		}
		return nil
	}
}

// togetherStories are about two clusters that work in one VPC at the same time.
func togetherStories() []story {
	return []story{
		{name: "together-create", together: true, has: asBefore(), begin: (*lab).creating},
		{name: "together-port", together: true, has: []string{"80/tcp to 30080 on a b", "8443/tcp to 30443 on a b"},
			stays: []string{"80/tcp"},
			begin: changing(func(web *corev1.Service) { web.Spec.Ports[1].Port = 8443 })},
		{name: "together-delete", together: true, begin: (*lab).deletingWhole},
	}
}

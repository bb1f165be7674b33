package ironcorelab

import (
	"context"
	_ "embed"
	"fmt"

	"k8s.io/client-go/rest"

	"github.com/thalassa-cloud/thalassa-ccm/tools/definition"
)

// definitions are those that Install adds: a server with them differs from that of IronCore. It counts
// metadata.generation of all kinds, ignores the status in requests to the main endpoint and the spec in those to the
// endpoint of the status, and refuses strategic merge patches and ports that are not valid.
//
//go:embed crds.yaml
var definitions []byte

// Install adds the custom resource definitions of IronCore to an API server that does not have them, and waits until
// they are served.
func Install(ctx context.Context, config *rest.Config) error {
	if err := definition.Install(ctx, config, definitions); err != nil {
		return fmt.Errorf("installing the definitions of IronCore: %w", err)
	}
	return nil
}

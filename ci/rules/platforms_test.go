package rules

import (
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"golang.org/x/tools/go/packages"

	"github.com/thalassa-cloud/thalassa-ccm/src/emulator/checkout"
	"github.com/thalassa-cloud/thalassa-ccm/src/emulator/tier"
)

// TestOtherPlatforms checks the types of all programs of a release for each platform that tests do not compile them
// for.
func TestOtherPlatforms(t *testing.T) {
	tier.NeedFull(t)
	for platform, programs := range map[string][]string{
		"linux/arm64": {"./cmd/thalassa-cloud-controller-manager", "./cmd/thalassa-csi-driver",
			"./cmd/kubectl-thalassa", "github.com/thalassa-cloud/thalassa-ccm/src/emulator/cmd/thalassa-emulator"},
		"darwin/arm64":  {"./cmd/kubectl-thalassa"},
		"windows/amd64": {"./cmd/kubectl-thalassa"},
	} {
		t.Run(platform, func(t *testing.T) {
			system, processor, _ := strings.Cut(platform, "/")
			packages.Visit(typed(t, system, processor, programs), nil, func(p *packages.Package) {
				if !strings.HasPrefix(p.PkgPath, "github.com/thalassa-cloud/thalassa-ccm/") {
					return
				}
				for _, err := range p.Errors {
					t.Error(err)
				}
			})
		})
	}
}

// typed reads programs of src with everything that they import, and checks the types.
func typed(t *testing.T, system, processor string, programs []string) []*packages.Package {
	t.Helper()
	root := checkout.Path(t, checkout.Everything)
	config := &packages.Config{
		Context: t.Context(), Dir: filepath.Join(root, "src"),
		Mode: packages.NeedName | packages.NeedFiles | packages.NeedCompiledGoFiles | packages.NeedImports |
			packages.NeedDeps | packages.NeedTypes | packages.NeedTypesSizes | packages.NeedSyntax,
		Env: append(os.Environ(), "GOOS="+system, "GOARCH="+processor, "CGO_ENABLED=0"),
		ParseFile: func(set *token.FileSet, name string, source []byte) (*ast.File, error) {
			file, err := parser.ParseFile(set, name, source, parser.SkipObjectResolution)
			if file != nil && !strings.HasPrefix(name, root) {
				withoutBodies(file)
			}
			return file, err
		},
	}
	loaded, err := packages.Load(config, programs...)
	if err != nil {
		t.Fatal(err)
	}
	if len(loaded) != len(programs) {
		t.Fatalf("%d packages, want %d", len(loaded), len(programs))
	}
	return loaded
}

// withoutBodies removes the bodies of functions. What imports a package needs only their types.
func withoutBodies(file *ast.File) {
	for _, declaration := range file.Decls {
		if function, ok := declaration.(*ast.FuncDecl); ok {
			function.Body = nil
		}
	}
}

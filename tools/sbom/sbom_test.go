package sbom

import (
	"bytes"
	"debug/buildinfo"
	"strings"
	"testing"
	"time"

	spdxjson "github.com/spdx/tools-golang/json"
	"github.com/spdx/tools-golang/spdxlib"

	"github.com/thalassa-cloud/thalassa-ccm/tools/debian"
	"github.com/thalassa-cloud/thalassa-ccm/tools/repo/repotest"
)

var subject = Subject{Name: "sbom.test", Version: "v1.2.3", At: time.Date(2026, 11, 21, 10, 0, 0, 0, time.UTC),
	License: "Apache-2.0"}

func TestOf(t *testing.T) {
	info, err := buildinfo.ReadFile(repotest.Command(t, "image")) // test binaries have no list of their modules
	if err != nil {
		t.Fatal(err)
	}
	packages := []debian.Installed{{Name: "libc6", Version: "2.41-12+deb13u5", Source: "glibc", Architecture: "arm64",
		SHA256: strings.Repeat("0a", 32)}}
	written, err := Of(info, subject, packages...)
	if err != nil {
		t.Fatal(err)
	}
	document, err := spdxjson.Read(bytes.NewReader(written))
	if err != nil {
		t.Fatalf("the SPDX library cannot read it: %v", err)
	}
	if err := spdxlib.ValidateDocument(document); err != nil {
		t.Errorf("the SPDX library finds it invalid: %v", err)
	}
	described, err := spdxlib.GetDescribedPackageIDs(document)
	if err != nil || len(described) != 1 {
		t.Errorf("it describes %v, %v; want the program", described, err)
	}
	purls, sums := map[string]string{}, 0
	for _, p := range document.Packages {
		purls[p.PackageName] = p.PackageExternalReferences[0].Locator
		sums += len(p.PackageChecksums)
	}
	if !strings.HasPrefix(purls["github.com/google/go-containerregistry"],
		"pkg:golang/github.com/google/go-containerregistry@v0.") || !strings.HasPrefix(purls["stdlib"],
		"pkg:golang/stdlib@1.") {
		t.Errorf("packages %v", purls)
	}
	if got, want := purls["libc6"], packages[0].PURL(); got != want {
		t.Errorf("libc6 is %s, want %s", got, want)
	}
	want := len(packages)
	for _, module := range info.Deps {
		if module.Sum != "" { // those of this repository have none
			want++
		}
	}
	if sums != want {
		t.Errorf("%d packages have checksums, want all %d modules and packages", sums, want)
	}
	if len(document.Relationships) != len(document.Packages) {
		t.Errorf("%d relationships for %d packages", len(document.Relationships), len(document.Packages))
	}
	again, err := Of(info, subject, packages...)
	if err != nil || !bytes.Equal(written, again) {
		t.Errorf("the same program gives another document: %v", err)
	}
	alone, err := Of(info, subject)
	if err != nil || !strings.Contains(string(written), document.DocumentNamespace) ||
		strings.Contains(string(alone), document.DocumentNamespace) {
		t.Errorf("with other packages the document has the same namespace %s: %v", document.DocumentNamespace, err)
	}
}

// Package sbom lists what a program is made of, as an SPDX 2.3 document. It reads the list that the Go linker left in
// the program itself, so that nothing is in it that was not built, and nothing is missing. The packages of Debian
// beside the program in its image are listed, too.
package sbom

import (
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"regexp"
	"runtime/debug"
	"slices"
	"strings"
	"time"

	spdx "github.com/spdx/tools-golang/spdx/v2/common"
	"github.com/spdx/tools-golang/spdx/v2/v2_3"

	"github.com/thalassa-cloud/thalassa-ccm/tools/debian"
)

// Subject is what an SBOM is about.
type Subject struct {
	Name    string    // of the program
	Version string    // of the release
	At      time.Time // of the sources; the document says no other time
	License string    // SPDX expression
}

// none is what SPDX calls a thing that was not examined.
const none = "NOASSERTION"

// Of returns the SBOM of a program and of the packages that are in its image, as JSON. The same program and packages
// give the same bytes.
func Of(info *debug.BuildInfo, subject Subject, packages ...debian.Installed) ([]byte, error) {
	document, err := json.MarshalIndent(document(info, subject, packages), "", "  ")
	if err != nil {
		return nil, fmt.Errorf("writing the SBOM of %s: %w", subject.Name, err)
	}
	return append(document, '\n'), nil
}

func document(info *debug.BuildInfo, subject Subject, packages []debian.Installed) *v2_3.Document {
	root, identity := program(info, subject), info.String()+subject.Version
	for _, p := range packages {
		identity += p.PURL()
	}
	d := &v2_3.Document{
		SPDXVersion: v2_3.Version, DataLicense: v2_3.DataLicense, SPDXIdentifier: "DOCUMENT",
		DocumentName: subject.Name + " " + subject.Version,
		// Two documents must not share a namespace (SPDX 2.3, section 6.5), and the same one must not get two.
		DocumentNamespace: fmt.Sprintf("https://github.com/thalassa-cloud/thalassa-ccm/sbom/%s/%x", subject.Name,
			sha256.Sum256([]byte(identity))),
		CreationInfo: &v2_3.CreationInfo{
			Created:  subject.At.UTC().Format(time.RFC3339),
			Creators: []spdx.Creator{{CreatorType: "Tool", Creator: "thalassa-ccm-release"}},
		},
		Packages:      []*v2_3.Package{root},
		Relationships: []*v2_3.Relationship{related("DOCUMENT", spdx.TypeRelationshipDescribe, root)},
	}
	for _, p := range slices.Concat([]*v2_3.Package{toolchain(info)}, modules(info), system(packages)) {
		d.Packages = append(d.Packages, p)
		d.Relationships = append(d.Relationships, related(root.PackageSPDXIdentifier, spdx.TypeRelationshipDependsOn,
			p))
	}
	return d
}

func related(from spdx.ElementID, how string, to *v2_3.Package) *v2_3.Relationship {
	return &v2_3.Relationship{
		RefA: spdx.MakeDocElementID("", string(from)), RefB: spdx.MakeDocElementID("",
			string(to.PackageSPDXIdentifier)), Relationship: how,
	}
}

func program(info *debug.BuildInfo, subject Subject) *v2_3.Package {
	p := goPackage(subject.Name, info.Main.Path, subject.Version)
	p.PackageLicenseDeclared, p.PackageLicenseConcluded = subject.License, subject.License
	p.PrimaryPackagePurpose = "APPLICATION"
	return p
}

// toolchain is the standard library, which every Go program contains.
func toolchain(info *debug.BuildInfo) *v2_3.Package {
	p := goPackage("stdlib", "stdlib", strings.TrimPrefix(info.GoVersion, "go"))
	p.PackageLicenseDeclared = "BSD-3-Clause"
	return p
}

// modules are those whose packages are in the program, in the order the linker has them.
func modules(info *debug.BuildInfo) []*v2_3.Package {
	packages := make([]*v2_3.Package, 0, len(info.Deps))
	for _, module := range info.Deps {
		if module.Replace != nil {
			module = module.Replace
		}
		p := goPackage(module.Path, module.Path, module.Version)
		// The module's hash in go.sum is a SHA-256 in base64, behind "h1:".
		if sum, err := base64.StdEncoding.DecodeString(strings.TrimPrefix(module.Sum, "h1:")); err == nil &&
			len(sum) == sha256.Size {
			p.PackageChecksums = []spdx.Checksum{{Algorithm: spdx.SHA256, Value: hex.EncodeToString(sum)}}
		}
		packages = append(packages, p)
	}
	return packages
}

// system are the packages of the image.
func system(installed []debian.Installed) []*v2_3.Package {
	packages := make([]*v2_3.Package, 0, len(installed))
	for _, each := range installed {
		p := listed(each.Name, each.Version, each.PURL())
		p.PackageChecksums = []spdx.Checksum{{Algorithm: spdx.SHA256, Value: each.SHA256}}
		packages = append(packages, p)
	}
	return packages
}

// notInIdentifiers is everything that SPDX does not allow in an identifier.
var notInIdentifiers = regexp.MustCompile(`[^A-Za-z0-9.-]+`)

func goPackage(name, module, version string) *v2_3.Package {
	return listed(name, version, "pkg:golang/"+module+"@"+version)
}

// listed is a package with its package URL.
func listed(name, version, purl string) *v2_3.Package {
	return &v2_3.Package{
		PackageName: name, PackageVersion: version,
		PackageSPDXIdentifier:   spdx.ElementID("Package-" + notInIdentifiers.ReplaceAllString(name+"-"+version, "-")),
		PackageDownloadLocation: none, PackageLicenseConcluded: none, PackageLicenseDeclared: none,
		PackageCopyrightText: none,
		PackageExternalReferences: []*v2_3.PackageExternalReference{{
			Category: spdx.CategoryPackageManager, RefType: spdx.TypePackageManagerPURL, Locator: purl,
		}},
	}
}

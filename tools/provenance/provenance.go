// Package provenance says how an artifact was made, as an in-toto statement with an SLSA provenance predicate: from
// which commit, by which command, with which parameters and materials, so that anybody can make it again and compare.
package provenance

import (
	"bytes"
	"encoding/json"
	"fmt"
	"time"

	slsa "github.com/in-toto/attestation/go/predicates/provenance/v1"
	intoto "github.com/in-toto/attestation/go/v1"
	"google.golang.org/protobuf/encoding/protojson"
	"google.golang.org/protobuf/types/known/structpb"
	"google.golang.org/protobuf/types/known/timestamppb"
)

// Types of the statement and of what it says (in-toto attestation framework v1, SLSA v1.0).
const (
	StatementType = "https://in-toto.io/Statement/v1"
	PredicateType = "https://slsa.dev/provenance/v1"
)

const (
	repository = "https://github.com/thalassa-cloud/thalassa-ccm"
	buildType  = repository + "/blob/main/docs/reference/releases.md#provenance"
	builder    = repository + "/tree/main/tools/release"
)

// Subject is an artifact.
type Subject struct {
	Name   string // file or repository
	SHA256 string // hex
}

// Build is how it was made.
type Build struct {
	Version   string
	Revision  string // commit in git
	Committed time.Time
	Command   string // "make release VERSION=v1.2.3"
	GoVersion string
	Materials []Subject // go.sum and what else decides what comes out
}

// Statement returns the statement as JSON. The same arguments give the same bytes.
func Statement(subjects []Subject, b Build) ([]byte, error) {
	parameters, err := structpb.NewStruct(map[string]any{"version": b.Version, "command": b.Command})
	if err != nil {
		return nil, fmt.Errorf("writing a provenance: %w", err)
	}
	environment, err := structpb.NewStruct(map[string]any{"go": b.GoVersion})
	if err != nil {
		return nil, fmt.Errorf("writing a provenance: %w", err)
	}
	source := &intoto.ResourceDescriptor{Uri: "git+" + repository, Digest: map[string]string{"gitCommit": b.Revision}}
	predicate := &slsa.Provenance{
		BuildDefinition: &slsa.BuildDefinition{
			BuildType: buildType, ExternalParameters: parameters, InternalParameters: environment,
			ResolvedDependencies: append([]*intoto.ResourceDescriptor{source}, descriptors(b.Materials)...),
		},
		RunDetails: &slsa.RunDetails{
			Builder:  &slsa.Builder{Id: builder},
			Metadata: &slsa.BuildMetadata{StartedOn: timestamppb.New(b.Committed)},
		},
	}
	if err := predicate.Validate(); err != nil {
		return nil, fmt.Errorf("writing a provenance: %w", err)
	}
	return statement(descriptors(subjects), predicate)
}

func descriptors(subjects []Subject) []*intoto.ResourceDescriptor {
	all := make([]*intoto.ResourceDescriptor, 0, len(subjects))
	for _, subject := range subjects {
		all = append(all, &intoto.ResourceDescriptor{Name: subject.Name,
			Digest: map[string]string{"sha256": subject.SHA256}})
	}
	return all
}

func statement(subjects []*intoto.ResourceDescriptor, predicate *slsa.Provenance) ([]byte, error) {
	raw, err := protojson.Marshal(predicate)
	if err != nil {
		return nil, fmt.Errorf("writing a provenance: %w", err)
	}
	fields := &structpb.Struct{}
	if err := protojson.Unmarshal(raw, fields); err != nil {
		return nil, fmt.Errorf("writing a provenance: %w", err)
	}
	whole := &intoto.Statement{Type: StatementType, Subject: subjects, PredicateType: PredicateType, Predicate: fields}
	if err := whole.Validate(); err != nil {
		return nil, fmt.Errorf("writing a provenance: %w", err)
	}
	if raw, err = protojson.Marshal(whole); err != nil {
		return nil, fmt.Errorf("writing a provenance: %w", err)
	}
	// The library varies spaces on purpose, so that no program relies on them; who compares digests has to.
	var stable bytes.Buffer
	if err := json.Indent(&stable, raw, "", "  "); err != nil {
		return nil, fmt.Errorf("writing a provenance: %w", err)
	}
	return append(stable.Bytes(), '\n'), nil
}

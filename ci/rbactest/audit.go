package rbactest

import (
	"bufio"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"os"
	"slices"
	"strings"
	"time"
)

// Request is one line of an API server's audit log.
type Request struct {
	Permission
	// Received is when the API server got it.
	Received time.Time
	// UserAgent is how the client calls itself.
	UserAgent string
	// Allowed is the verdict of the API server's authorizer, Reason its explanation.
	Allowed bool
	Reason  string
	// Created means that it was a patch that created the object, for which the user needs the permission to create it,
	// too.
	Created bool
	// Path is what was asked for when it is no resource, such as /version; Resource is empty then.
	Path string
}

// event is what is read of an audit.k8s.io/v1 Event.
type event struct {
	Verb, UserAgent, RequestURI string
	RequestReceivedTimestamp    time.Time
	User                        struct{ Username string }
	ObjectRef                   *struct{ APIGroup, Resource, Subresource, Namespace, Name string }
	Annotations                 map[string]string
	ResponseStatus              struct{ Code int }
}

// Size returns how long the audit log is, for Requests to begin there.
func Size(path string) (int64, error) {
	info, err := os.Stat(path)
	if err != nil {
		return 0, fmt.Errorf("measuring the audit log: %w", err)
	}
	return info.Size(), nil
}

// Requests returns those in the audit log from an offset on, without a line that was being written at the offset.
func Requests(path string, offset int64) ([]Request, error) {
	file, err := os.Open(path)
	if err != nil {
		return nil, fmt.Errorf("opening the audit log: %w", err)
	}
	defer file.Close()
	if _, err := file.Seek(max(0, offset-1), io.SeekStart); err != nil {
		return nil, fmt.Errorf("reading the audit log: %w", err)
	}
	var requests []Request
	lines := bufio.NewReader(file)
	if offset > 0 { // up to the end of the line before
		if _, err := lines.ReadBytes('\n'); err != nil && err != io.EOF {
			return nil, fmt.Errorf("reading the audit log: %w", err)
		}
	}
	for {
		line, err := lines.ReadBytes('\n')
		if err != nil { // the last line may be in the middle of being written
			if err == io.EOF {
				err = nil
			}
			return requests, err
		}
		var e event
		if err := json.Unmarshal(line, &e); err != nil {
			return nil, fmt.Errorf("reading a line of the audit log: %w", err)
		}
		requests = append(requests, e.request())
	}
}

func (e event) request() Request {
	request := Request{
		Permission: Permission{User: e.User.Username, Verb: e.Verb}, UserAgent: e.UserAgent,
		Received: e.RequestReceivedTimestamp,
		Allowed:  e.Annotations["authorization.k8s.io/decision"] == "allow",
		Reason:   e.Annotations["authorization.k8s.io/reason"],
		Created:  e.Verb == "patch" && e.ResponseStatus.Code == http.StatusCreated,
	}
	if e.ObjectRef == nil || e.ObjectRef.Resource == "" {
		request.Path, _, _ = strings.Cut(e.RequestURI, "?")
		return request
	}
	request.Group, request.Resource = e.ObjectRef.APIGroup, e.ObjectRef.Resource
	if e.ObjectRef.Subresource != "" {
		request.Resource += "/" + e.ObjectRef.Subresource
	}
	request.Namespace, request.Name = e.ObjectRef.Namespace, e.ObjectRef.Name
	return request
}

// programName is the binary, and how it calls itself.
const programName = "thalassa-cloud-controller-manager"

// isProgram reports whether the client calls itself by the program's name.
func (r Request) isProgram() bool { return strings.HasPrefix(r.UserAgent, programName+"/") }

// isKubernetes reports whether Kubernetes' own controllers made the request with an account that they share with the
// program's: two have the same names there.
func (r Request) isKubernetes() bool {
	shared := []string{"system:serviceaccount:kube-system:node-controller",
		"system:serviceaccount:kube-system:service-controller"}
	return slices.Contains(shared, r.User) && strings.HasPrefix(r.UserAgent, "kube-controller-manager/")
}

// ByAccount returns the requests of the accounts to which something is granted, but for those of Kubernetes itself.
// mismatched are those that another program made with such an account, and those that the program made with another
// account.
func ByAccount(granted []Permission, requests []Request) (mismatched, done []Request) {
	for _, r := range requests {
		if r.isKubernetes() {
			continue
		}
		ours := slices.ContainsFunc(granted, func(p Permission) bool { return p.User == r.User })
		if ours {
			done = append(done, r)
		}
		if ours != r.isProgram() {
			mismatched = append(mismatched, r)
		}
	}
	return mismatched, done
}

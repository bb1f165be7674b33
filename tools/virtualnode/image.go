package virtualnode

import (
	"fmt"
	"net/http"
	"path/filepath"

	"github.com/thalassa-cloud/thalassa-ccm/tools/virtualnode/internal/image"
	"github.com/thalassa-cloud/thalassa-ccm/tools/virtualnode/internal/program"
	"github.com/thalassa-cloud/thalassa-ccm/tools/virtualnode/internal/server"
)

// Image is what runs when a container asks for an image: a Program or a Server. The zero value
// runs nothing.
type Image struct {
	runtime image.Runtime
}

// Program runs an executable of this machine with exactly the command line and environment that
// the API server holds. The first word of a container's command stands for the executable.
//
// It has no file system of its own. Its volumes are private directories, and every mention of
// their mount paths in the command, the arguments, the environment and the text of mounted
// ConfigMaps is rewritten. It gets no other variable of ours than PATH, HOME, HOSTNAME
// and, with a volume at /tmp, TMPDIR. It listens on addresses of this machine: hostNetwork pods
// should bind the address in status.hostIP, because several nodes share all other addresses.
//
// In-cluster configuration reads a path that it cannot have. When a ServiceAccount token is
// mounted at the usual place, each of the given flags that the arguments do not have is appended
// with the path of a kubeconfig that says exactly what in-cluster configuration would have found.
// Without names that is --kubeconfig alone; a program with delegated authentication, for example,
// also needs "authentication-kubeconfig" and "authorization-kubeconfig".
func Program(path string, kubeconfigFlags ...string) Image {
	if len(kubeconfigFlags) == 0 {
		kubeconfigFlags = []string{"kubeconfig"}
	}
	if absolute, err := filepath.Abs(path); err == nil {
		path = absolute // the program starts in another directory than ours
	}
	return Image{program.Runtime{Path: path, KubeconfigFlags: kubeconfigFlags}}
}

// PodInfo is what a handler gets about the pod it stands for.
type PodInfo struct {
	Namespace, Name string
	// Node is the name of the node that the pod runs on.
	Node string
}

func podInfo(l image.Launch) PodInfo {
	pod := l.Pod()
	return PodInfo{Namespace: pod.Namespace, Name: pod.Name, Node: l.Machine.Name}
}

// Server answers HTTP inside this process on every TCP port that a container declares. Node ports and probes reach it
// through the Network.
func Server(handler func(PodInfo) http.Handler) Image {
	return Image{server.Runtime(func(l image.Launch) http.Handler { return handler(podInfo(l)) })}
}

// WebServer is a Server that says who answers and who asked. Its page for every path is
//
//	pod: web-5d4f8
//	node: node-1
//	path: /
//	remote: 127.0.10.1:40312
//
// The path /healthz answers "ok".
func WebServer() Image { return Server(webPage) }

func webPage(pod PodInfo) http.Handler {
	mux := http.NewServeMux()
	mux.HandleFunc("/healthz", func(w http.ResponseWriter, _ *http.Request) { fmt.Fprintln(w, "ok") })
	mux.HandleFunc("/", func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "text/plain; charset=utf-8")
		fmt.Fprintf(w, "pod: %s\nnode: %s\npath: %s\nremote: %s\n", pod.Name, pod.Node, r.URL.Path, r.RemoteAddr)
	})
	return mux
}

// imageSet is the internal form of Options.Images.
func imageSet(images map[string]Image) (image.Set, error) {
	set := image.Set{}
	for reference, i := range images {
		if i.runtime == nil {
			return nil, fmt.Errorf("image %q runs nothing; use Program, Server or WebServer", reference)
		}
		if name := image.Name(reference); name != reference {
			return nil, fmt.Errorf("image %q must be named without tag and digest: %q", reference, name)
		}
		set[reference] = i.runtime
	}
	return set, nil
}

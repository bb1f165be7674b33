package charttest

import (
	"fmt"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"text/template/parse"

	"github.com/thalassa-cloud/thalassa-ccm/src/emulator/checkout"
	"github.com/thalassa-cloud/thalassa-ccm/src/emulator/tier"
	"github.com/thalassa-cloud/thalassa-ccm/tools/chart"
)

// impure matches the names of template functions and fields whose result depends
// on the time, on chance, on the cluster or on what was installed before. With
// them a GitOps tool sees a difference after every render. tpl runs text of the
// values, which may call any of the others.
var impure = regexp.MustCompile(`^(tpl|lookup|getHostByName|env|expandenv|now|ago|date\w*|htmlDate\w*|uuidv4|shuffle|` +
	`rand\w*|gen[A-Z]\w*|derivePassword|encryptAES|bcrypt|htpasswd|Capabilities|IsUpgrade|IsInstall|Revision)$`)

func TestTemplatesArePure(t *testing.T) {
	charts := checkout.Path(t, "charts")
	paths, err := filepath.Glob(filepath.Join(charts, "*", "templates", "*"))
	if err != nil || len(paths) == 0 {
		t.Fatalf("templates %v, error %v", paths, err)
	}
	for _, path := range paths {
		t.Run(strings.TrimPrefix(path, charts+string(filepath.Separator)), func(t *testing.T) {
			for _, name := range names(t, readFile(t, path)) {
				// The notes are not an object: they count the nodes of the cluster, if there is one.
				if impure.MatchString(name) && !(filepath.Base(path) == "NOTES.txt" && name == "lookup") {
					t.Errorf("%s makes the render depend on more than the values", name)
				}
			}
		})
	}
}

func TestNamesSeesEveryNode(t *testing.T) {
	text := `{{ if .Capabilities.KubeVersion }}{{ range lookup "v1" }}{{ with $x := (now) }}{{ randAlpha 3 | quote }}{{ end }}` +
		`{{ else }}{{ $.Release.IsUpgrade }}{{ end }}{{ end }}{{ define "d" }}{{ template "e" (genCA).Cert }}{{ end }}{{ tpl .Values.text . }}`
	got := names(t, text)
	for _, want := range []string{"Capabilities", "lookup", "now", "randAlpha", "IsUpgrade", "genCA", "tpl"} {
		if !slices.Contains(got, want) {
			t.Errorf("%s is not among %q", want, got)
		}
		if !impure.MatchString(want) {
			t.Errorf("%s passes as pure", want)
		}
	}
}

// names returns every function and field name in a template.
func names(t *testing.T, text string) []string {
	t.Helper()
	tree := parse.New("template")
	tree.Mode = parse.SkipFuncCheck
	trees := map[string]*parse.Tree{}
	if _, err := tree.Parse(text, "", "", trees); err != nil {
		t.Fatal(err)
	}
	var found []string
	for _, tree := range trees {
		found = append(found, nodeNames(tree.Root)...)
	}
	return found
}

// nodeNames handles the nodes that hold names, and descends into the others.
func nodeNames(node parse.Node) []string {
	switch node := node.(type) {
	case *parse.IdentifierNode:
		return []string{node.Ident}
	case *parse.FieldNode:
		return node.Ident
	case *parse.VariableNode:
		return node.Ident
	case *parse.ChainNode:
		return append(nodeNames(node.Node), node.Field...)
	}
	var found []string
	for _, child := range children(node) {
		found = append(found, nodeNames(child)...)
	}
	return found
}

func children(node parse.Node) []parse.Node {
	switch node := node.(type) {
	case *parse.ListNode:
		return listChildren(node)
	case *parse.ActionNode:
		return []parse.Node{node.Pipe}
	case *parse.CommandNode:
		return node.Args
	case *parse.IfNode:
		return branchChildren(node.BranchNode)
	case *parse.RangeNode:
		return branchChildren(node.BranchNode)
	case *parse.WithNode:
		return branchChildren(node.BranchNode)
	case *parse.PipeNode:
		return pipeChildren(node)
	case *parse.TemplateNode:
		return pipeChildren(node.Pipe)
	}
	return nil
}

func branchChildren(branch parse.BranchNode) []parse.Node {
	return append(append(pipeChildren(branch.Pipe), listChildren(branch.List)...), listChildren(branch.ElseList)...)
}

func listChildren(list *parse.ListNode) []parse.Node {
	if list == nil {
		return nil
	}
	return list.Nodes
}

func pipeChildren(pipe *parse.PipeNode) []parse.Node {
	var nodes []parse.Node
	if pipe != nil {
		for _, command := range pipe.Cmds {
			nodes = append(nodes, command)
		}
	}
	return nodes
}

// TestSameBytesForEveryKubernetes, of whatever version, and whatever it serves beside its own APIs.
func TestSameBytesForEveryKubernetes(t *testing.T) {
	for name, path := range valuesFiles(t) {
		t.Run(name, func(t *testing.T) {
			values := readValues(t, path)
			want := manifest(t, release(values))
			for _, version := range append(KubeVersions(t), chart.DefaultKubeVersion) {
				for _, apis := range tier.Pick([][]string{MoreAPIs()}, [][]string{nil, MoreAPIs()}) {
					r := release(values)
					r.KubeVersion, r.APIVersions = version, apis
					if manifest(t, r) != want {
						t.Errorf("the render for %s with %v differs", version, apis)
					}
				}
			}
		})
	}
}

func TestOldKubernetesIsRefused(t *testing.T) {
	r := release(minimal(t))
	oldest, _ := supported(t)
	r.KubeVersion = fmt.Sprintf("v1.%d.9", oldest-1)
	_, _, err := render(t, chartDir(t), r)
	if err == nil || !strings.Contains(err.Error(), "kubeVersion") {
		t.Errorf("error %v, want one about kubeVersion", err)
	}
}

// TestChartShipsNoTestFiles wants the folder of the test values to stay out of the package.
func TestChartShipsNoTestFiles(t *testing.T) {
	loaded, err := chart.Load(chartDir(t))
	if err != nil {
		t.Fatal(err)
	}
	for _, file := range loaded.Raw {
		if strings.HasPrefix(file.Name, "ci/") {
			t.Errorf("the chart contains %s", file.Name)
		}
	}
}

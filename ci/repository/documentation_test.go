package repository

import "testing"

func TestDocumentation(t *testing.T) {
	check(t, Documentation, map[string]string{
		"good/good.go": `// Package good is described.
package good

// Thing is described.
type Thing[T any] struct{}

// Do is described.
func (t *Thing[T]) Do() {}

func (t *hidden) Exported() {}

type hidden struct{}

// Errors of this package.
const (
	One = 1
	Two = 2
)

var Level int // Level is described behind.
`,
		"good/more.go":        "package good\n",
		"good/good_test.go":   "package good\n\nfunc TestThing() {}\n",
		"other/other_test.go": "package other_test\n",
		"silent/silent.go":    "package silent\n\nfunc Do() {}\n",
		"partial/partial.go": "// Package partial is described.\npackage partial\n\ntype Thing struct{}\n\nfunc " +
			"(Thing) Do() {}\n\nfunc (*Thing) Undo() {}\n\nconst (\n\tA = 1\n\tb = 2\n)\n\nvar C, D, e int\n",
		"partial/generic.go": "package partial\n\n// Pair is described.\ntype Pair[A, B any] struct{}\n\nfunc " +
			"(Pair[A, B]) Swap() {}\n",
		"src/utils/strings.go": "// Package utils is a grab bag.\npackage utils\n",
	},
		"partial/generic.go:6: exported Swap has no comment",
		"partial/partial.go:4: exported Thing has no comment",
		"partial/partial.go:6: exported Do has no comment",
		"partial/partial.go:8: exported Undo has no comment",
		"partial/partial.go:11: exported A has no comment",
		"partial/partial.go:15: exported C, D has no comment",
		"silent: the package has no comment: say what it provides and when to use it",
		"silent/silent.go:3: exported Do has no comment",
		"src/utils/strings.go:2: package utils: name it for what it provides",
	)
}

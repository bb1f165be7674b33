package repository

import (
	"strings"
	"testing"
)

func TestWidths(t *testing.T) {
	fits := strings.Repeat("ä", maxWidth-len("// "))
	check(t, Widths, map[string]string{
		"a/fits.go":      "package a\n\n// " + fits + "\n",
		"a/long.go":      "package a\n\n// " + fits + "x\n",
		"a/tabs.go":      "package a\n\nfunc a() {\n\t// " + fits[:len(fits)-6] + "\n}\n",
		"a/raw.go":       "package a\n\nconst a = `\n" + fits + "x\n" + fits + "xxxx`\n",
		"a/short.go":     "package a\n\nconst a = `x` + `" + fits[:2*maxRaw-4] + "` + \"" + fits[:2*20] + "\"\n",
		"a/whole.go":     "package a\n\nconst a = \"a\" + `" + fits[:2*maxRaw] + "x` + \"" + fits[:2*20] + "\"\n",
		"a/directive.go": "package a\n\n//go:generate " + fits + "\n",
		"a/long_test.go": "package a\n\nconst a = \"" + fits + "\"\n",
	},
		"a/long.go:3: 121 characters, at most 120: break the line",
		"a/long_test.go:3: 129 characters, at most 120: break the line",
		"a/short.go:3: 141 characters, at most 120: break the line",
		"a/tabs.go:4: 121 characters, at most 120: break the line",
	)
}

package terminal

import (
	"strings"

	"github.com/jedib0t/go-pretty/v6/table"
	"github.com/jedib0t/go-pretty/v6/text"
)

// Cell is a value of a table.
type Cell struct {
	Text string
	Tone Tone
}

// Column is a column of a table.
type Column struct {
	Name string
	// Least is the least width to which the column is reduced so that the table fits; 0 keeps the width of its content.
	// Longer texts take several lines, or are shortened.
	Least int
	// Shorten means that longer texts are shortened in the middle. Names are: one that takes several lines looks like
	// several names, and names often differ only in their ends.
	Shorten bool
	// Number means that the values are aligned on the right.
	Number bool
}

// Table is a table with a heading. All rows have a cell for each column.
type Table struct {
	Columns []Column
	Rows    [][]Cell
}

// gap is the number of blanks between columns, as in the tables of kubectl.
const gap = 3

// PrintTable writes a table in the width of the terminal.
func (t Terminal) PrintTable(content Table) {
	writer := table.NewWriter()
	style := table.StyleDefault
	style.Options = table.OptionsNoBordersAndSeparators
	style.Box.PaddingLeft, style.Box.PaddingRight = "", strings.Repeat(" ", gap)
	style.Format.Header = text.FormatDefault
	writer.SetStyle(style)
	widths := content.widths(t.Width)
	header, configs := table.Row{}, []table.ColumnConfig{}
	for i, column := range content.Columns {
		header = append(header, t.Paint(Strong, column.Name))
		align := text.AlignLeft
		if column.Number {
			align = text.AlignRight
		}
		configs = append(configs, table.ColumnConfig{Number: i + 1, WidthMax: widths[i], WidthMaxEnforcer: wrap,
			Align: align, AlignHeader: align})
	}
	writer.AppendHeader(header)
	writer.SetColumnConfigs(configs)
	for _, cells := range content.Rows {
		row := table.Row{}
		for i, cell := range cells {
			words := Clean(cell.Text)
			if content.Columns[i].Shorten {
				words = shorten(words, widths[i])
			}
			row = append(row, t.Paint(cell.Tone, words))
		}
		writer.AppendRow(row)
	}
	for line := range strings.SplitSeq(writer.Render(), "\n") {
		t.Print("%s\n", strings.TrimRight(line, " "))
	}
}

// shorten leaves out the middle of a text that is longer than width.
func shorten(words string, width int) string {
	letters := []rune(words)
	if len(letters) <= width {
		return words
	}
	front := width / 2
	return string(letters[:front]) + "…" + string(letters[len(letters)-(width-1-front):])
}

// widths returns the width of each column. Columns that can be reduced are, the widest first, until the table fits.
func (c Table) widths(available int) []int {
	widths := make([]int, len(c.Columns))
	total := gap * (len(c.Columns) - 1)
	for i, column := range c.Columns {
		widths[i] = len(column.Name)
		for _, row := range c.Rows {
			widths[i] = max(widths[i], text.LongestLineLen(row[i].Text))
		}
		total += widths[i]
	}
	for available > 0 && total > available {
		widest := -1
		for i, column := range c.Columns {
			if column.Least > 0 && widths[i] > column.Least && (widest < 0 || widths[i] > widths[widest]) {
				widest = i
			}
		}
		if widest < 0 {
			break // it cannot fit
		}
		widths[widest]--
		total--
	}
	return widths
}

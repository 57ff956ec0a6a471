package format

import (
	"fmt"
	"path"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"time"
)

// modifier is one before the ':' of a format, with its arguments.
type modifier struct {
	name string // one character, or a comparison
	args []string
}

// comparisons are the modifiers of two characters and of those of one that compare.
var comparisons = []string{"||", "&&", "!=", "==", "<=", ">=", "<", ">"}

// modifiers splits key into its modifiers and what follows them; none if it has none.
func modifiers(key string) ([]modifier, string) {
	var mods []modifier
	rest := key
	for rest != "" && rest[0] != ':' {
		m, after, ok := oneModifier(rest)
		if !ok {
			return nil, key
		}
		mods = append(mods, m)
		rest = strings.TrimPrefix(after, ";")
	}
	if rest == "" || len(mods) == 0 {
		return nil, key
	}
	return mods, rest[1:]
}

func oneModifier(text string) (m modifier, rest string, ok bool) {
	for _, c := range comparisons {
		if strings.HasPrefix(text, c) && (len(text) == len(c) || text[len(c)] == ':' || text[len(c)] == ';') {
			return modifier{name: c}, text[len(c):], true
		}
	}
	c := text[0]
	if strings.IndexByte("mCNSTEWPLbdlqtcawnep=s!", c) < 0 {
		return m, "", false
	}
	m.name, rest = string(c), text[1:]
	if rest == "" || rest[0] == ':' || rest[0] == ';' {
		return m, rest, true
	}
	if strings.IndexByte("mCNSWPLtaqeEp=s", c) < 0 {
		return m, "", false
	}
	if c := rest[0]; c == '-' || c >= '0' && c <= '9' { // =10 and p-10
		n := strings.IndexAny(rest, ":;")
		if n < 0 {
			return m, "", false
		}
		m.args = []string{rest[:n]}
		return m, rest[n:], true
	}
	return withArguments(m, rest)
}

// withArguments reads /a/b/, with any separator.
func withArguments(m modifier, rest string) (modifier, string, bool) {
	sep := rest[:1]
	if c := sep[0]; c == '_' || c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' {
		return m, "", false // the name of a variable
	}
	for rest != "" && rest[0] == sep[0] {
		rest = rest[1:]
		n := End(rest, sep+":;")
		if n < 0 {
			return m, "", false
		}
		if n > 0 || rest[n] == sep[0] {
			m.args = append(m.args, rest[:n])
		}
		rest = rest[n:]
	}
	return m, rest, rest != "" && (rest[0] == ':' || rest[0] == ';')
}

func has(mods []modifier, name byte) bool { return find(mods, name) != nil }

func find(mods []modifier, name byte) *modifier {
	for i := range mods {
		if mods[i].name == string(name) {
			return &mods[i]
		}
	}
	return nil
}

func (m *modifier) arg(i int) string {
	if m == nil || i >= len(m.args) {
		return ""
	}
	return m.args[i]
}

// operator returns what computes the value of a format whose modifiers say more than how
// a variable is shown.
func operator(mods []modifier) func(*expansion, []modifier, string, Source) string {
	for _, m := range mods {
		switch m.name {
		case "||", "&&", "!=", "==", "<=", ">=", "<", ">":
			return compare
		case "m":
			return match
		case "e":
			return arithmetic
		case "S", "W", "P", "L":
			return loop
		case "N":
			return exists
		case "!":
			return not
		}
	}
	return nil
}

// pair expands the two sides of a comparison.
func (e *expansion) pair(text string, s Source) (left, right string, ok bool) {
	n := End(text, ",")
	if n < 0 {
		return "", "", false
	}
	return e.expand(text[:n], s), e.expand(text[n+1:], s), true
}

func compare(e *expansion, mods []modifier, text string, s Source) string {
	op := ""
	for _, m := range mods {
		if len(m.name) == 2 || m.name == "<" || m.name == ">" {
			op = m.name
		}
	}
	if op == "||" || op == "&&" {
		return logic(e, op, text, s)
	}
	left, right, ok := e.pair(text, s)
	if !ok {
		return ""
	}
	switch op {
	case "==":
		return flag(left == right)
	case "!=":
		return flag(left != right)
	case "<":
		return flag(left < right)
	case ">":
		return flag(left > right)
	case "<=":
		return flag(left <= right)
	}
	return flag(left >= right)
}

func logic(e *expansion, op, text string, s Source) string {
	all := op == "&&"
	for {
		n := End(text, ",")
		part := text
		if n >= 0 {
			part, text = text[:n], text[n+1:]
		}
		if True(e.expand(part, s)) != all {
			return flag(!all)
		}
		if n < 0 {
			return flag(all)
		}
	}
}

func not(e *expansion, _ []modifier, text string, s Source) string {
	return flag(!True(e.expand(text, s)))
}

// match is #{m:pattern,string}: a glob, or with /r a regular expression; /i ignores case.
func match(e *expansion, mods []modifier, text string, s Source) string {
	pattern, str, ok := e.pair(text, s)
	if !ok {
		return ""
	}
	how := find(mods, 'm').arg(0)
	if strings.Contains(how, "r") {
		if strings.Contains(how, "i") {
			pattern = "(?i)" + pattern
		}
		re, err := regexp.Compile(pattern)
		return flag(err == nil && re.MatchString(str))
	}
	if strings.Contains(how, "i") {
		pattern, str = strings.ToLower(pattern), strings.ToLower(str)
	}
	return flag(Glob(pattern, str))
}

// Glob reports whether name matches a pattern as fnmatch(3) has it, without flags.
func Glob(pattern, name string) bool {
	// A slash is an ordinary character here, which path.Match does not have.
	hide := strings.NewReplacer("/", "\x00").Replace
	ok, err := path.Match(hide(pattern), hide(name))
	return err == nil && ok
}

// arithmetic is #{e|op|f|digits:a,b}.
func arithmetic(e *expansion, mods []modifier, text string, s Source) string {
	left, right, ok := e.pair(text, s)
	if !ok {
		return ""
	}
	m := find(mods, 'e')
	a, err := strconv.ParseFloat(left, 64)
	b, err2 := strconv.ParseFloat(right, 64)
	if err != nil || err2 != nil {
		return ""
	}
	digits, float := 0, strings.Contains(m.arg(1), "f")
	if float {
		digits = 2
		if m.arg(2) != "" {
			digits = number(m.arg(2))
		}
	} else {
		a, b = float64(int64(a)), float64(int64(b))
	}
	return calculate(m.arg(0), a, b, float, digits)
}

func calculate(op string, a, b float64, float bool, digits int) string {
	result := 0.0
	switch op {
	case "+":
		result = a + b
	case "-":
		result = a - b
	case "*":
		result = a * b
	case "/":
		result = a / b
	case "%", "m":
		if int64(b) == 0 {
			return ""
		}
		result = float64(int64(a) % int64(b))
	case "==":
		return flag(a == b)
	case "!=":
		return flag(a != b)
	case "<":
		return flag(a < b)
	case ">":
		return flag(a > b)
	case "<=":
		return flag(a <= b)
	case ">=":
		return flag(a >= b)
	default:
		return ""
	}
	if !float {
		return strconv.FormatFloat(float64(int64(result)), 'f', 0, 64)
	}
	return strconv.FormatFloat(result, 'f', digits, 64)
}

// loop is #{S:format}, W, P and L; a second format is for the current one.
func loop(e *expansion, mods []modifier, text string, s Source) string {
	kind := byte(0)
	for _, m := range mods {
		if strings.Contains("SWPL", m.name) {
			kind = m.name[0]
		}
	}
	every, current := text, text
	if n := End(text, ","); n >= 0 && kind != 'S' && kind != 'L' {
		every, current = text[:n], text[n+1:]
	} else if n >= 0 {
		every, current = text[:n], text[n+1:]
	}
	all, now := s.Each(kind)
	var b strings.Builder
	for i, one := range all {
		f := every
		if i == now {
			f = current
		}
		b.WriteString(e.expand(f, one))
	}
	return b.String()
}

// exists is #{N:name} and #{N/s:name}: whether there is such a window or session.
func exists(e *expansion, mods []modifier, text string, s Source) string {
	kind := byte('w')
	if strings.Contains(find(mods, 'N').arg(0), "s") {
		kind = 's'
	}
	return flag(s.Exists(kind, e.expand(text, s)))
}

// adjust applies the modifiers that change a value.
func (e *expansion) adjust(value string, mods []modifier, s Source) string {
	for _, m := range mods {
		switch m.name {
		case "t":
			value = when(value, m)
		case "a":
			if n := number(value); n > 31 && n < 127 {
				value = string(rune(n))
			} else {
				value = ""
			}
		case "b":
			value = filepath.Base(value)
		case "d":
			value = filepath.Dir(value)
		case "E", "T":
			value = e.expand(value, s)
		case "s":
			value = e.substitute(value, m, s)
		}
	}
	for _, m := range mods {
		switch m.name {
		case "q":
			value = quote(value, m.arg(0))
		case "=":
			value = e.limit(value, number(m.arg(0)), m.arg(1))
		case "p":
			value = e.pad(value, number(m.arg(0)))
		case "n":
			value = strconv.Itoa(len(value))
		case "w":
			value = strconv.Itoa(e.width(value))
		}
	}
	return value
}

// substitute is #{s/pattern/text/flags:...}.
func (e *expansion) substitute(value string, m modifier, s Source) string {
	if len(m.args) < 2 {
		return value
	}
	pattern := e.expand(m.arg(0), s)
	if strings.Contains(m.arg(2), "i") {
		pattern = "(?i)" + pattern
	}
	re, err := regexp.Compile(pattern)
	if err != nil {
		return value
	}
	to := strings.ReplaceAll(e.expand(m.arg(1), s), "$", "$$")
	for i := '0'; i <= '9'; i++ {
		to = strings.ReplaceAll(to, `\`+string(i), "${"+string(i)+"}")
	}
	return re.ReplaceAllString(value, to)
}

// when shows seconds since 1970 as ctime(3) does, /p briefly, /f/format by strftime(3).
func when(value string, m modifier) string {
	sec, err := strconv.ParseInt(value, 10, 64)
	if err != nil || sec == 0 {
		return ""
	}
	t := time.Unix(sec, 0)
	switch {
	case strings.Contains(m.arg(0), "p"):
		return brief(t, time.Now())
	case strings.Contains(m.arg(0), "f"):
		return Strftime(t, m.arg(1))
	}
	return t.Format(time.ANSIC)
}

func brief(t, now time.Time) string {
	switch age := now.Sub(t); {
	case age < 24*time.Hour:
		return t.Format("15:04")
	case t.Year() == now.Year() && t.Month() == now.Month(), age < 28*24*time.Hour:
		return t.Format("Mon02")
	case age < 334*24*time.Hour:
		return t.Format("02Jan")
	}
	return t.Format("Jan06")
}

// Strftime formats a time as strftime(3) does. It knows the conversions that dates are made of.
func Strftime(t time.Time, f string) string {
	layouts := map[byte]string{
		'Y': "2006", 'm': "01", 'd': "02", 'H': "15", 'M': "04", 'S': "05", 'y': "06", 'b': "Jan", 'B': "January",
		'a': "Mon", 'A': "Monday", 'p': "PM", 'I': "03", 'e': "_2", 'j': "002", 'Z': "MST", 'z': "-0700",
		'F': "2006-01-02", 'T': "15:04:05", 'R': "15:04", 'D': "01/02/06",
	}
	var b strings.Builder
	for i := 0; i < len(f); i++ {
		switch {
		case f[i] != '%' || i+1 == len(f):
			b.WriteByte(f[i])
		case f[i+1] == '%':
			b.WriteByte('%')
			i++
		case f[i+1] == 's':
			fmt.Fprint(&b, t.Unix())
			i++
		default:
			i++
			b.WriteString(t.Format(layouts[f[i]]))
		}
	}
	return b.String()
}

// quote escapes a value for a shell; for a format (/e, /h) it doubles '#'.
func quote(value, how string) string {
	if strings.ContainsAny(how, "eh") {
		return strings.ReplaceAll(value, "#", "##")
	}
	special := "|&;<>()$`\\\"'*?[# =%"
	if how == "a" {
		special = "\"\\$"
	}
	var b strings.Builder
	for i := range len(value) {
		if strings.IndexByte(special, value[i]) >= 0 {
			b.WriteByte('\\')
		}
		b.WriteByte(value[i])
	}
	return b.String()
}

// limit keeps n columns of the beginning or, if n is negative, of the end; mark shows that
// something was cut.
func (e *expansion) limit(value string, n int, mark string) string {
	width := e.width(value)
	switch {
	case n > 0 && width > n:
		return e.firstColumns(value, n) + mark
	case n < 0 && width > -n:
		return mark + e.lastColumns(value, -n)
	}
	return value
}

func (e *expansion) firstColumns(value string, n int) string {
	for i, r := range value {
		if n -= e.width(string(r)); n < 0 {
			return value[:i]
		}
	}
	return value
}

func (e *expansion) lastColumns(value string, n int) string {
	left := e.width(value)
	for i, r := range value {
		if left <= n {
			return value[i:]
		}
		left -= e.width(string(r))
	}
	return ""
}

// pad widens to n columns, on the right or, if n is negative, on the left.
func (e *expansion) pad(value string, n int) string {
	missing := max(n, -n) - e.width(value)
	switch {
	case missing <= 0 || missing > maxLength:
		return value
	case n < 0:
		return strings.Repeat(" ", missing) + value
	}
	return value + strings.Repeat(" ", missing)
}

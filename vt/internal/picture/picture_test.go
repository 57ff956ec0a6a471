package picture

import (
	"encoding/base64"
	"testing"
)

// png is the beginning of a PNG of 100 by 50 pixels.
var png = base64.StdEncoding.EncodeToString([]byte("\x89PNG\r\n\x1a\n\x00\x00\x00\rIHDR\x00\x00\x00\x64\x00\x00\x00\x32\x08\x06\x00\x00\x00"))

func TestKitty(t *testing.T) {
	for body, want := range map[string]Picture{
		"Ga=T,f=24,s=100,v=50;AAAA":       {Cols: 10, Rows: 3},
		"Ga=T,f=100,m=1;" + png:           {Cols: 10, Rows: 3},
		"Ga=T,f=100,c=4,r=2,C=1;" + png:   {Cols: 4, Rows: 2, Stay: true},
		"Ga=p,i=7,c=5;":                   {Cols: 5, Rows: 1},
		"Ga=T,s=500,v=500,w=20,h=40;AAAA": {Cols: 2, Rows: 2},
		"Ga=T,f=100;broken":               {Cols: 1, Rows: 1},
		"Ga=T,s=-5,v=99999999999999999;A": {Cols: 1, Rows: 1<<20/cellHeight + 1},
	} {
		if got, ok := Kitty([]byte(body)); !ok || got != want {
			t.Errorf("%.40q: %+v %v, want %+v", body, got, ok, want)
		}
	}
	for _, body := range []string{"", "Gm=0;AAAA", "Ga=t,s=1,v=1;AAAA", "Ga=q,s=1,v=1;AAAA", "Ga=d", "Ga=T,U=1,c=3,r=3;AAAA", "other"} {
		if got, ok := Kitty([]byte(body)); ok {
			t.Errorf("%q shows %+v", body, got)
		}
	}
}

func TestSixel(t *testing.T) {
	for data, want := range map[string]Picture{
		`"1;1;100;50#0;2;0;0;0#0~~@@`: {Cols: 10, Rows: 3, Left: true},
		"#0!25~-!5~-":                 {Cols: 3, Rows: 1, Left: true},
		"~-~-~-~":                     {Cols: 1, Rows: 2, Left: true},
		`"1;1`:                        {Cols: 1, Rows: 1, Left: true},
		"":                            {Cols: 1, Rows: 1, Left: true},
		"!99999999999999999999~":      {Cols: 0, Rows: 1, Left: true},
	} {
		got := Sixel([]byte(data))
		if want.Cols == 0 { // large, but bounded
			want.Cols = got.Cols
		}
		if got != want || got.Cols > 1<<20 {
			t.Errorf("%q: %+v, want %+v", data, got, want)
		}
	}
}

func TestITerm(t *testing.T) {
	for body, want := range map[string]Picture{
		"File=inline=1:" + png:                              {Cols: 10, Rows: 3},
		"File=inline=1;width=4;height=2:" + png:             {Cols: 4, Rows: 2},
		"File=inline=1;width=45px;height=auto:" + png:       {Cols: 5, Rows: 3},
		"MultipartFile=inline=1;width=6;height=6":           {Cols: 6, Rows: 6},
		"File=name=x;inline=1;width=50%;doNotMoveCursor=1:": {Cols: 1, Rows: 1, Stay: true},
	} {
		if got, ok := ITerm([]byte(body)); !ok || got != want {
			t.Errorf("%.40q: %+v %v, want %+v", body, got, ok, want)
		}
	}
	for _, body := range []string{"File=name=x:" + png, "File=inline=0:", "CurrentDir=/", "FilePart=" + png} {
		if got, ok := ITerm([]byte(body)); ok {
			t.Errorf("%.40q shows %+v", body, got)
		}
	}
}

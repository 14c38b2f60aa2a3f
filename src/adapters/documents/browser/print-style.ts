import { fontFaces } from './bundled-files.ts'
import { fittedStyle } from './fit-tables.ts'

/**
 * The fonts of texts. The list begins with the bundled font. The other fonts are for Chinese, Japanese, Korean, Arabic and Hebrew, and are
 * used if the system has them.
 */
export const textFonts =
  "'Source Sans 3','Noto Sans','Noto Sans CJK SC','WenQuanYi Micro Hei','Droid Sans Fallback','PingFang SC','Microsoft YaHei','Noto Sans Arabic','Noto Sans Hebrew','DejaVu Sans',Arial,sans-serif"
const codeFonts = "'Source Code Pro','Noto Sans Mono','DejaVu Sans Mono','Droid Sans Fallback',monospace"

/**
 * Styles that every page has: fonts and citations. They come before the styles of the author, so that the styles of the author take
 * precedence.
 */
export const baseStyle = `${fontFaces}
sup.cite{font-size:.68em;line-height:0;vertical-align:super;padding-left:.08em}
sup.cite a{color:#1f5fa8;text-decoration:none}
section.sources{font-size:.92em}
section.sources ol{padding-inline-start:2em}
section.sources li{margin:.3em 0}
section.sources a{overflow-wrap:anywhere}
svg.chart,pre.mermaid svg{max-width:100%;height:auto}
pre.mermaid[data-drawn]{background:none;border:0;padding:0;text-align:center;white-space:normal}
*{animation:none!important;transition:none!important}`

/** Styles of a report: for Markdown, and for HTML that is not a complete document. */
export const reportStyle = `
:root{color:#1b2733}
body{margin:0;font-family:${textFonts};font-size:10.5pt;line-height:1.5;text-align:start;-webkit-print-color-adjust:exact;print-color-adjust:exact}
h1,h2,h3,h4,h5,h6{line-height:1.22;margin:1.5em 0 .5em;break-after:avoid;break-inside:avoid;font-weight:650;text-wrap:balance}
h1{font-size:22pt;color:#14395f;margin-top:0;padding-bottom:.28em;border-bottom:2px solid #1f5fa8}
h2{font-size:15.5pt;color:#14395f}
h3{font-size:12.5pt}
h4,h5,h6{font-size:10.8pt}
p{margin:.6em 0;orphans:3;widows:3}
a{color:#1f5fa8;text-decoration:underline;text-decoration-thickness:.5px;text-underline-offset:2px;overflow-wrap:anywhere}
ul,ol{margin:.5em 0;padding-inline-start:1.8em}
li{margin:.18em 0}
li>p{margin:.2em 0}
blockquote{margin:1em 0;padding:.1em 1.1em;border-inline-start:3px solid #b8c6d6;color:#46525f;break-inside:avoid}
code,kbd,samp{font-family:${codeFonts};font-size:.87em;background:#f2f4f7;border-radius:3px;padding:.08em .3em}
pre{font-family:${codeFonts};font-size:8.6pt;line-height:1.45;background:#f5f7f9;border:1px solid #dde3ea;border-radius:4px;padding:.75em 1em;margin:.9em 0;white-space:pre-wrap;overflow-wrap:anywhere;direction:ltr;text-align:left}
pre code{background:none;padding:0;font-size:1em}
table{border-collapse:collapse;width:100%;margin:1em 0;font-size:9.6pt;line-height:1.4}
caption,figcaption{font-size:9pt;color:#46525f;margin:.4em 0;text-align:center}
thead{display:table-header-group}
tr{break-inside:avoid}
th,td{border-bottom:1px solid #d5dce4;padding:.4em .7em;text-align:start;vertical-align:top;overflow-wrap:break-word;font-variant-numeric:tabular-nums}
th{background:#e6ecf4;border-bottom:1.5px solid #9fb2c8;font-weight:650}
tbody tr:nth-child(even) td{background:#f8fafc}
img,svg,video,canvas{max-width:100%}
img{height:auto}
p>img:only-child,svg.chart{display:block;margin:.9em auto}
figure{margin:1.1em 0;text-align:center;break-inside:avoid}
svg.chart,pre.mermaid{break-inside:avoid}
hr{border:0;border-top:1px solid #c9d1dc;margin:1.6em 0}
.callout,.note,.tip,.warning,.important,aside:not(.notes){background:#eef3f9;border-inline-start:4px solid #1f5fa8;padding:.6em 1em;margin:1em 0;border-radius:0 4px 4px 0;break-inside:avoid}
.warning,.important{background:#fdf3e7;border-color:#e07b39}
.columns,.two-column,.two-columns{display:flex;gap:1.6em}
.columns>*,.two-column>*,.two-columns>*{flex:1}
aside.notes{display:none}
section.sources{break-before:auto;margin-top:2em}
${fittedStyle}`

import { crc32, deflateSync } from 'node:zlib'
import type { DocumentSource } from '../../src/ports/documents.ts'

/* A report as an agent would write it: two charts, three tables, code, a diagram, Chinese, Arabic, Hebrew, 12 citations and two images. */

const cite = (...sids: readonly number[]) => `<sup class="cite" data-sids="${sids.join(',')}"></sup>`

/** The sources of the report. Their SIDs are not 1 to 12, because a conversation has more sources than a document cites. */
export const reportSources: readonly DocumentSource[] = Array.from({ length: 12 }, (_, index) => ({
  sid: 20 + index,
  title: `Source ${String.fromCharCode(65 + index)}: ${['grid statistics', 'rainfall records', 'field survey'][index % 3]} of ${2012 + index}`,
  ...(index === 11 ? { path: 'turn_1/files/sensor.png' } : { url: `https://data.example/reports/${2012 + index}?part=${index}&lang=en` }),
}))

export const reportTitle = 'River Energy Report 2026'

export const reportMarkdown = `# ${reportTitle}

Hydropower output of the valley rose by **14 %** in 2026${cite(20)}, while demand stayed _almost_ flat${cite(21, 22)}. This report compares three
plants, shows what drives the difference, and recommends \`two\` measures. See [the table of plants](#plants) or [the agency](https://agency.example/).

## Output by quarter

\`\`\`chart bar Output by quarter (GWh)
| Quarter | 2025 | 2026 |
|---|---|---|
| Q1 | 410 | 455 |
| Q2 | 520 | 610 |
| Q3 | 380 | 402 |
| Q4 | 450 | 540 |
\`\`\`

The second quarter has the melt water${cite(23)}. The forecast follows the same pattern:

\`\`\`chart line Forecast
| Year | Low | High |
|---|---|---|
| 2027 | 1,900 | 2,150 |
| 2028 | 1,950 | 2,300 |
| 2029 | 1,980 | 2,420 |
\`\`\`

## Plants

| Plant | Built | Capacity (MW) | Note |
|:--|:-:|--:|---|
| Upper Lock | 1968 | 120.5 | turbines replaced in 2019${cite(24)} |
| Mill Weir | 1984 | 75 | fish ladder, ~~no~~ public path |
| Old Dam | 1931 | 210.25 | under review${cite(25)} |

| Month | Inflow (m³/s) |
|---|--:|
| March | 88 |
| April | 142 |

| Measure | Cost | Effect |
|---|--:|--:|
| New runner | € 4,200,000 | + 3.1 % |
| Sediment flushing | € 310,000 | + 0.8 % |

> Water is the only fuel that arrives by itself.${cite(26)}

### How the model computes the output

1. Read the inflow of each day.
2. Multiply by head and efficiency:
   - head in metres,
   - efficiency between 0.86 and 0.93.
3. Sum up${cite(27)}.

\`\`\`python
def output(inflow: list[float], head: float, efficiency: float = 0.9) -> float:
    """GWh of a year from daily inflow in m3/s."""
    power = [q * head * 9.81 * efficiency / 1000 for q in inflow]  # MW
    return sum(power) * 24 / 1000
\`\`\`

\`\`\`mermaid
flowchart LR
  Rain --> River --> Turbine --> Grid
\`\`\`

## Other languages

中文摘要：本报告比较了三座水电站的发电量，并提出两项建议。${cite(28)}数据来自二〇二六年。

يقارن هذا التقرير بين ثلاث محطات كهرومائية ويوصي بإجراءين.${cite(29)}

דוח זה משווה בין שלוש תחנות כוח.${cite(30)}

## Site

![The dam from the north](turn_1/files/dam.png)

<figure><img src="turn_1/files/sensor.png" alt="The sensor" width="160"><figcaption>The sensor at the weir${cite(31)}</figcaption></figure>
`

export const slidesHtml = `<!DOCTYPE html><html><head><title>ignored</title><style>section{color:red}</style></head><body>
<section><h1>${reportTitle}</h1><p>Findings for the board</p><aside class="notes">Welcome everyone.</aside></section>
<section><h2>Output by quarter</h2>
<table data-chart="bar" data-title="Output (GWh)"><tr><th>Quarter</th><th>2025</th><th>2026</th></tr><tr><td>Q1</td><td>410</td><td>455</td></tr><tr><td>Q2</td><td>520</td><td>610</td></tr></table>
<aside class="notes">Point at the second quarter.</aside></section>
<section><h2>Plants</h2><p>Three plants${cite(20)} were compared${cite(21)}.</p>
<table><thead><tr><th>Plant</th><th>MW</th></tr></thead><tbody><tr><td>Upper Lock</td><td style="text-align:right">120.5</td></tr><tr><td>Mill Weir</td><td>75</td></tr></tbody></table>
<table><tr><th>Month</th><th>Inflow</th></tr><tr><td>March</td><td>88</td></tr></table></section>
<section style="background:#14395F;color:#ffffff"><h2>Two measures</h2><div style="display:flex"><div><h3>New runner</h3><ul><li>+ 3.1 %</li><li>one year<ul><li>tender in May</li></ul></li></ul></div>
<div><h3>Flushing</h3><p>Cheap and <b style="color:#FFA500">quick</b>.</p></div></div><div class="callout" style="background:#FFF4E0">Decide by <a href="https://board.example/">June</a>.</div></section>
<section><h2>Share</h2><table data-chart="pie"><caption>Share of output</caption><tr><th>Plant</th><th>Share</th></tr><tr><td>Upper Lock</td><td>41 %</td></tr><tr><td>Mill Weir</td><td>22 %</td></tr><tr><td>Old Dam</td><td>37 %</td></tr></table></section>
<section><h2>代码和语言</h2><pre><code class="language-python">def output(q, head):
    return q * head * 9.81</code></pre><p>中文摘要：本报告比较了三座水电站。</p><p>يقارن هذا التقرير بين ثلاث محطات.</p></section>
<section><h2>Site</h2><img src="turn_1/files/dam.png" alt="The dam"></section>
</body></html>`

/** The files that the report shows. */
export const reportFiles: ReadonlyMap<string, Uint8Array> = new Map([
  ['turn_1/files/dam.png', gradientPng(480, 240, 30)],
  ['turn_1/files/sensor.png', gradientPng(200, 200, 200)],
])

/** A picture with a colour gradient, as PNG. */
export function gradientPng(width: number, height: number, blue: number): Uint8Array {
  const rows = Array.from({ length: height }, (_, y) =>
    Buffer.from([0, ...Array.from({ length: width }, (_, x) => [(x * 255) / width, (y * 255) / height, blue]).flat()]),
  )
  const chunk = (type: string, data: Uint8Array) => {
    const body = Buffer.concat([Buffer.from(type, 'latin1'), data])
    const [length, checksum] = [Buffer.alloc(4), Buffer.alloc(4)]
    length.writeUInt32BE(data.length)
    checksum.writeUInt32BE(crc32(body))
    return Buffer.concat([length, body, checksum])
  }
  const header = Buffer.alloc(13)
  header.writeUInt32BE(width, 0)
  header.writeUInt32BE(height, 4)
  header.set([8, 2, 0, 0, 0], 8)
  return Buffer.concat([
    Buffer.from('\x89PNG\r\n\x1a\n', 'latin1'),
    chunk('IHDR', header),
    chunk('IDAT', deflateSync(Buffer.concat(rows))),
    chunk('IEND', Buffer.alloc(0)),
  ])
}

/** One bar of a chart. `value` is a number in decimal digits. */
export interface Bar {
  readonly name: string
  readonly value: string
}

const maxBars = 24
const width = 640
const rowHeight = 34
const barStart = 170
const barWidth = 360

/** A bar chart as an SVG picture. Texts are escaped. If there are too many bars, only the first ones are drawn. */
export function barChart(title: string, bars: readonly Bar[]): string {
  const shown = bars.slice(0, maxBars)
  const greatest = Math.max(...shown.map(({ value }) => Number(value)), 0)
  const lengthOf = (value: string) => (greatest === 0 ? 0 : Math.max(0, Math.round((Number(value) / greatest) * barWidth)))
  const rows = shown.flatMap(({ name, value }, index) => {
    const y = 62 + index * rowHeight
    return [
      `<text x="${barStart - 12}" y="${y + 16}" text-anchor="end">${escapeXml(shorten(name, 22))}</text>`,
      `<rect x="${barStart}" y="${y}" width="${lengthOf(value)}" height="22" rx="3" fill="#1f5f8b"/>`,
      `<text x="${barStart + lengthOf(value) + 10}" y="${y + 16}" fill="#5b5a56">${escapeXml(value)}</text>`,
    ]
  })
  const height = 80 + shown.length * rowHeight
  return [
    `<svg xmlns="http://www.w3.org/2000/svg" width="${width}" height="${height}" viewBox="0 0 ${width} ${height}" font-family="system-ui, sans-serif" font-size="14" fill="#1d1d1b">`,
    `<rect width="${width}" height="${height}" fill="#ffffff"/>`,
    `<text x="20" y="34" font-size="17" font-weight="600">${escapeXml(shorten(title, 64))}</text>`,
    ...rows,
    '</svg>',
    '',
  ].join('\n')
}

const shorten = (text: string, length: number) => {
  const characters = [...text]
  return characters.length <= length ? characters.join('') : `${characters.slice(0, length - 1).join('')}…`
}

/** Characters that XML does not allow are left out. */
const escapeXml = (text: string) =>
  text
    .replace(/[^\t\n\r\u{20}-\u{D7FF}\u{E000}-\u{FFFD}\u{10000}-\u{10FFFF}]/gu, '')
    .replaceAll('&', '&amp;')
    .replaceAll('<', '&lt;')
    .replaceAll('>', '&gt;')
    .replaceAll('"', '&quot;')

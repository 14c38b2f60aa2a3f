import type { Chart } from './document.ts'
import { escapeHtml } from './html.ts'

/** A picture as SVG, with its size in pixels. */
export interface ChartPicture {
  readonly svg: string
  readonly width: number
  readonly height: number
}

/** Colours that people with colour blindness can tell apart. */
export const chartColours = ['1F5FA8', 'E07B39', '3A8F5C', '8A5AA8', 'C44E52', '6B7785', '2AA5B5', 'B8A13A']

const colourOf = (index: number) => `#${chartColours[index % chartColours.length]}`

const [width, height] = [640, 320]
const frame = { left: 64, right: 20, top: 52, bottom: 32 }
/** How wide a character of a label is, on average. */
const labelCharacter = 6.4
const maxLabel = 16
const font = "font-family=\"'Source Sans 3 Variable','Source Sans 3',Calibri,Arial,sans-serif\""

/** Draws a chart as SVG. */
export function drawChart(chart: Chart): ChartPicture {
  const body = chart.type === 'pie' ? drawPie(chart) : drawAxes(chart)
  const title =
    chart.title === '' ? '' : textAt(width / 2, 22, chart.title, 'font-size="16" font-weight="600" text-anchor="middle" fill="#1B2733"')
  const label = escapeHtml(chart.title === '' ? `${chart.type} chart` : chart.title)
  const svg = `<svg xmlns="http://www.w3.org/2000/svg" class="chart" role="img" aria-label="${label}" width="${width}" height="${height}" viewBox="0 0 ${width} ${height}" ${font}>${title}${body}</svg>`
  return { svg, width, height }
}

const textAt = (x: number, y: number, text: string, attributes: string) =>
  `<text x="${round(x)}" y="${round(y)}" ${attributes}>${escapeHtml(text)}</text>`

/** Two decimals are enough for a picture, and keep the text short. */
const round = (value: number) => Math.round(value * 100) / 100

function drawAxes({ type, labels, series }: Chart): string {
  const values = series.flatMap((each) => each.values)
  const scale = niceScale(Math.min(0, ...values), Math.max(0, ...values))
  const plotWidth = width - frame.left - frame.right
  const band = plotWidth / labels.length
  const axis = labelAxis(labels, band)
  const plotHeight = height - frame.top - axis.height
  const yOf = (value: number) => frame.top + plotHeight * (1 - (value - scale.low) / (scale.high - scale.low))
  const grid = scale.ticks.map((tick) => {
    const y = round(yOf(tick))
    const line = `<line x1="${frame.left}" x2="${width - frame.right}" y1="${y}" y2="${y}" stroke="${tick === 0 ? '#6B7785' : '#DDE3EA'}"/>`
    return line + textAt(frame.left - 8, y + 4, formatNumber(tick), 'font-size="12" text-anchor="end" fill="#4A5563"')
  })
  const names = axis.labels.map(({ text, index }) => {
    const [x, y] = [frame.left + band * (index + 0.5), height - axis.height + 18]
    const turned = axis.turned ? ` transform="rotate(-35 ${round(x)} ${y})" text-anchor="end"` : ' text-anchor="middle"'
    return textAt(x, y, text, `font-size="12" fill="#4A5563"${turned}`)
  })
  const marks = type === 'line' ? drawLines(series, band, yOf) : drawBars(series, band, yOf)
  return [...grid, ...names, ...marks, ...legend(series.map(({ name }) => name))].join('')
}

interface LabelAxis {
  readonly labels: readonly { readonly text: string; readonly index: number }[]
  readonly turned: boolean
  /** The space below the plot. */
  readonly height: number
}

/** Labels that do not fit beside each other are turned. If there are many, only some are shown. */
function labelAxis(labels: readonly string[], band: number): LabelAxis {
  const longest = labels.reduce((most, { length }) => Math.max(most, length), 1)
  const shown = labels.map((label, index) => ({ text: shorten(label, Math.max(maxLabel, Math.floor(band / labelCharacter))), index }))
  if (longest * labelCharacter <= band) return { labels: shown, turned: false, height: frame.bottom }
  const length = Math.min(longest, maxLabel)
  if (labels.length <= maxLabel) return { labels: shown, turned: true, height: frame.bottom + length * labelCharacter * Math.sin(0.61) }
  const every = Math.ceil((length + 1) * (labelCharacter / band))
  return { labels: shown.filter(({ index }) => index % every === 0), turned: false, height: frame.bottom }
}

type Series = Chart['series']

function drawBars(series: Series, band: number, yOf: (value: number) => number): readonly string[] {
  const bar = (band * 0.76) / series.length
  return series.flatMap(({ values }, row) =>
    values.map((value, index) => {
      const [top, bottom] = [Math.min(yOf(value), yOf(0)), Math.max(yOf(value), yOf(0))]
      const x = frame.left + band * (index + 0.12) + bar * row
      return `<rect x="${round(x)}" y="${round(top)}" width="${round(Math.max(1, bar - 2))}" height="${round(bottom - top)}" fill="${colourOf(row)}"/>`
    }),
  )
}

function drawLines(series: Series, band: number, yOf: (value: number) => number): readonly string[] {
  return series.flatMap(({ values }, row) => {
    const points = values.map((value, index) => [round(frame.left + band * (index + 0.5)), round(yOf(value))] as const)
    const line = `<polyline points="${points.map(([x, y]) => `${x},${y}`).join(' ')}" fill="none" stroke="${colourOf(row)}" stroke-width="2.5"/>`
    return [line, ...points.map(([x, y]) => `<circle cx="${x}" cy="${y}" r="3.5" fill="${colourOf(row)}"/>`)]
  })
}

/** The names of the series below the title. One series needs no legend. */
function legend(names: readonly string[]): readonly string[] {
  if (names.length < 2) return []
  const step = Math.min(150, (width - frame.left - frame.right) / names.length)
  return names.map((name, index) => {
    const x = frame.left + step * index
    return `<rect x="${round(x)}" y="32" width="11" height="11" fill="${colourOf(index)}"/>${textAt(x + 16, 42, shorten(name, Math.floor(step / 7) - 2), 'font-size="12" fill="#1B2733"')}`
  })
}

/** A pie of the first series. Parts that are not above zero are left out. */
function drawPie({ labels, series }: Chart): string {
  const parts = (series[0]?.values ?? []).map((value, index) => ({ value, label: labels[index] ?? '' })).filter(({ value }) => value > 0)
  const total = parts.reduce((sum, { value }) => sum + value, 0)
  const [centreX, centreY, radius] = [210, 178, 124]
  let angle = -Math.PI / 2
  const point = (at: number) => `${round(centreX + radius * Math.cos(at))} ${round(centreY + radius * Math.sin(at))}`
  return parts
    .map(({ value, label }, index) => {
      const from = angle
      angle += (value / total) * 2 * Math.PI
      const colour = colourOf(index)
      const slice =
        parts.length === 1
          ? `<circle cx="${centreX}" cy="${centreY}" r="${radius}" fill="${colour}"/>`
          : `<path d="M${centreX} ${centreY}L${point(from)}A${radius} ${radius} 0 ${angle - from > Math.PI ? 1 : 0} 1 ${point(angle)}Z" fill="${colour}" stroke="#fff"/>`
      const y = 84 + index * 22
      const row = `<rect x="390" y="${y - 10}" width="12" height="12" fill="${colour}"/>${textAt(410, y, `${shorten(label, 22)} (${Math.round((value / total) * 1000) / 10} %)`, 'font-size="13" fill="#1B2733"')}`
      return slice + (y < height - 10 ? row : '')
    })
    .join('')
}

/** Round numbers that cover a range, as the ticks of an axis. */
function niceScale(low: number, high: number) {
  const span = high - low || 1
  const power = 10 ** Math.floor(Math.log10(span / 4))
  const step = ([1, 2, 5, 10].find((factor) => factor * power >= span / 4.5) ?? 10) * power
  const [first, last] = [Math.floor(low / step), Math.ceil(high / step)]
  const ticks = Array.from({ length: Math.max(2, last - first + 1) }, (_, index) => (first + index) * step)
  return { low: ticks[0] as number, high: ticks.at(-1) as number, ticks }
}

const formatNumber = (value: number) => {
  const [whole = '', decimals] = `${Number(value.toPrecision(6))}`.split('.')
  const grouped = whole.replace(/\B(?=(?:\d{3})+$)/g, ',')
  return decimals === undefined ? grouped : `${grouped}.${decimals}`
}

const shorten = (text: string, length: number) => (text.length <= length ? text : `${text.slice(0, Math.max(1, length - 1))}…`)

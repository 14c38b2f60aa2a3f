/** A number with a unit that only a measurement can give. */
export interface Figure {
  readonly text: string
  readonly value: number
  readonly unit: string
  /** The line that contains the figure, including its code. */
  readonly line: string
}

const number = String.raw`\d[\d,]*(?:\.\d+)?`

/**
 * The units of figures: ratios (but no products such as `2 × 3`), percentages, short times and rates. Longer times are not figures, because
 * they are settings such as time limits.
 */
const units: readonly (readonly [unit: string, expression: RegExp])[] = [
  ['×', new RegExp(`${number} ×(?! \\d)`, 'g')],
  ['×', new RegExp(`${number} times (?:as|faster|slower|less|more|cheaper|smaller|larger|longer)`, 'g')],
  ['%', new RegExp(`${number} ?(?:%|percent)`, 'g')],
  ['µs', new RegExp(`${number} ?(?:µs|microseconds)`, 'g')],
  ['ms', new RegExp(`${number} ?(?:ms|milliseconds)\\b`, 'g')],
  ['/s', new RegExp(`${number}(?: [a-z]+){1,3} (?:per second\\b|a second(?=[.,;:)]|$))|${number} ?/s\\b`, 'g')],
]

const numberIn = (text: string) => Number.parseFloat(text.replaceAll(',', ''))

/** The figures of a Markdown text, in its order. Code is left out, because it shows the output of a command beside it, or a formula. */
export function figuresIn(text: string): readonly Figure[] {
  return text
    .replaceAll(/^```[\s\S]*?^```/gm, '')
    .split('\n')
    .flatMap((line) => {
      const prose = line.replaceAll(/`[^`]*`/g, (code) => ' '.repeat(code.length))
      const found = units.flatMap(([unit, expression]) => [...prose.matchAll(expression)].map((match) => ({ match, unit })))
      return found
        .toSorted((a, b) => a.match.index - b.match.index)
        .map(({ match: [figure], unit }) => ({ text: figure, value: numberIn(figure), unit, line }))
    })
}

/**
 * If the line of a figure names a bench, the figure may differ from the figure of this bench by at most this factor, because measurements
 * vary from machine to machine and from day to day.
 */
const FACTOR = 2

/**
 * The figures of a text that are not on the page of measured tables. If a line names a bench, such as `npm run bench -- loop`, its figures
 * may differ by at most a factor of two from the figures that the page shows for this bench.
 */
export function unprovedFigures(text: string, page: string): readonly string[] {
  return figuresIn(text)
    .filter((figure) => !page.includes(figure.text) && !isOfBench(figure, page))
    .map((figure) => figure.text)
}

function isOfBench({ value, unit, line }: Figure, page: string): boolean {
  const name = /`npm run bench -- ([\w-]+)/.exec(line)?.[1]
  const output =
    name === undefined
      ? undefined
      : new RegExp(`^\`node bench/run\\.ts ${name}\\b[^\\n]*\n\n\`\`\`\n([\\s\\S]*?)\n\`\`\``, 'm').exec(page)?.[1]
  const measured = units
    .filter(([each]) => each === unit)
    .flatMap(([, expression]) => [...(output ?? '').matchAll(expression)].map(([figure]) => numberIn(figure)))
  return measured.some((each) => each <= value * FACTOR && value <= each * FACTOR)
}

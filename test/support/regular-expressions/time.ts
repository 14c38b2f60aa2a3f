import { type Shape, textOf } from './shapes.ts'

/** How long something takes for a short and for a long text of one shape, in milliseconds. */
export interface Timing {
  readonly shape: Shape
  readonly short: number
  readonly long: number
}

export const SHORT = 10_000
export const LONG = 100_000

// A text that is ten times as long takes ten times as long if the time is linear, and a hundred times if it is quadratic.
const MAX_RATIO = 25
/**
 * The longest allowed time for a long text. If the time is below a tenth of this, the ratio is not checked, because it is not reliable on a
 * busy machine.
 */
const MAX_LONG_MS = 1_000

/** An expression with exponential time is already slow for a text of one of these lengths. For a longer text it would never end. */
const tinyLengths = [16, 20, 24, 28, 32, 36]

/**
 * Times `read` for each shape and returns the first timing that is not linear. Each measurement is the shortest of several, because other
 * processes can only make it longer. A long text is tried only if the short text was fast, because a reader that is not linear would take
 * minutes for a long text.
 */
export async function findSlow(
  read: (text: string) => unknown,
  shapes: readonly Shape[],
  maxMs: number = MAX_LONG_MS,
): Promise<Timing | undefined> {
  for (const shape of shapes) {
    const timing = await timeShape(read, shape, maxMs)
    if (!isLinear(timing, maxMs)) return timing
  }
  return undefined
}

async function timeShape(read: (text: string) => unknown, shape: Shape, maxMs: number): Promise<Timing> {
  const tooLong = { shape, short: Number.POSITIVE_INFINITY, long: Number.POSITIVE_INFINITY }
  for (const length of tinyLengths) if ((await shortest(read, textOf(shape, length), maxMs)) > maxMs / 10) return tooLong
  const short = await shortest(read, textOf(shape, SHORT), maxMs)
  if (short > maxMs / 5) return { ...tooLong, short }
  return { shape, short, long: await shortest(read, textOf(shape, LONG), maxMs) }
}

const isLinear = ({ short, long }: Timing, maxMs: number) => long < maxMs / 10 || (long < maxMs && long < MAX_RATIO * short)

/** Measures up to five times, until the time is clearly short enough. Returns the shortest time. */
async function shortest(read: (text: string) => unknown, text: string, maxMs: number): Promise<number> {
  let least = Number.POSITIVE_INFINITY
  for (let run = 0; run < 5 && least > maxMs / 10; run++) {
    const start = performance.now()
    const cpuStart = threadMs()
    const result = read(text)
    // If `read` returns a promise, other threads or processes may do the work, and only the elapsed time can be measured.
    const isOwnWork = !(result instanceof Promise)
    await result
    const ms = performance.now() - start
    // On a busy machine, a thread has to wait for a processor, so its processor time is used if it is lower. If the elapsed time is clearly
    // short enough, it is used as it is, because the processor time of a thread is not exact.
    least = Math.min(least, isOwnWork && ms > maxMs / 10 ? Math.min(ms, threadMs() - cpuStart) : ms)
    if (least > 2 * maxMs) break
  }
  return least
}

/** The time for which this thread has had a processor, in milliseconds. */
function threadMs(): number {
  const { user, system } = process.threadCpuUsage()
  return (user + system) / 1000
}

function timeOnce(read: (text: string) => unknown, text: string): number {
  const start = performance.now()
  read(text)
  return performance.now() - start
}

/** The shapes for which `read` takes longest. The texts are short, so that this function is fast. */
export function worstShapes(read: (text: string) => unknown, shapes: readonly Shape[], count: number): readonly Shape[] {
  const timed: { readonly shape: Shape; readonly ms: number }[] = []
  for (const shape of shapes) {
    const stuck = tinyLengths.some((length) => timeOnce(read, textOf(shape, length)) > MAX_LONG_MS / 10)
    timed.push({ shape, ms: stuck ? Number.POSITIVE_INFINITY : timeOnce(read, textOf(shape, 2_000)) })
    if (stuck) break
  }
  return timed
    .toSorted((a, b) => b.ms - a.ms)
    .slice(0, count)
    .map(({ shape }) => shape)
}

/** Uses the expression at every position of a text, as `replaceAll` does. */
export function everywhere({ source, flags }: RegExp): (text: string) => unknown {
  const expression = new RegExp(source, `${flags.replace(/[gy]/g, '')}g`)
  return (text) => text.replace(expression, '')
}

export const showTiming = ({ shape: { prefix, pump, suffix }, short, long }: Timing) =>
  `${JSON.stringify(prefix)} + ${JSON.stringify(pump)}… + ${JSON.stringify(suffix)}: ${ms(short)} for ${SHORT} characters, ${ms(long)} for ${LONG}`

const ms = (time: number) => (time === Number.POSITIVE_INFINITY ? 'far too long' : `${time.toFixed(1)} ms`)

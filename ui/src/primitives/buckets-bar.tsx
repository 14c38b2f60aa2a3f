import { Figure } from './figure.tsx'

/** The colours of tokens by the way in which they were billed. */
export const bucketColors = {
  read: 'light-dark(#2f7a4a, #74bd8d)',
  write: 'light-dark(#c77f1e, #d99f4c)',
  uncached: 'light-dark(#c9584f, #e0857d)',
  output: 'light-dark(#1f5f8b, #7db8de)',
} as const

interface BucketsBarProps {
  readonly label: string
  readonly read: number
  readonly write: number
  readonly uncached: number
  /** The number of tokens that fill the whole width. */
  readonly most: number
}

/** The tokens of a prompt as one bar: read from the cache, written to it, and paid in full. */
export function BucketsBar({ label, read, write, uncached, most }: BucketsBarProps) {
  const parts = [
    ['read', read],
    ['write', write],
    ['uncached', uncached],
  ] as const
  return (
    <div className="flex h-3 w-full overflow-hidden rounded-sm bg-hover" role="img" aria-label={label}>
      {parts.map(([name, tokens]) => (
        <span key={name} style={{ width: `${most === 0 ? 0 : (tokens / most) * 100}%`, background: bucketColors[name] }} />
      ))}
    </div>
  )
}

interface TokenFiguresProps {
  readonly read: number
  readonly write: number
  readonly uncached: number
  readonly output: number
  format(tokens: number): string
}

/** The tokens of model calls as four numbers, in the colours of the bars. */
export function TokenFigures({ read, write, uncached, output, format }: TokenFiguresProps) {
  return (
    <>
      <Figure label="Read" name="read" color={bucketColors.read}>
        {format(read)}
      </Figure>
      <Figure label="Written" name="written" color={bucketColors.write}>
        {format(write)}
      </Figure>
      <Figure label="In full" name="full" color={bucketColors.uncached}>
        {format(uncached)}
      </Figure>
      <Figure label="Output" name="output" color={bucketColors.output}>
        {format(output)}
      </Figure>
    </>
  )
}

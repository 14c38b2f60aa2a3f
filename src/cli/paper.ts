/** Where a turn is printed: knows whether it is at the beginning of a line, and whose words it is in the middle of. */
export interface LineWriter {
  /** On a line of its own. */
  line(text: string): void
  /** Words of a stream as they come. Those of another stream begin a new line. */
  append(stream: string, text: string): void
  /** What comes next is no part of these words. */
  endStream(): void
}

export function createLineWriter(write: (text: string) => void): LineWriter {
  let stream: string | undefined
  let fresh = true

  function print(text: string): void {
    if (text === '') return
    write(text)
    fresh = text.endsWith('\n')
  }
  function endWords(): void {
    if (stream !== undefined && !fresh) print('\n')
    stream = undefined
  }

  return {
    line: (text) => print(`${fresh ? '' : '\n'}${text}\n`),
    append(name, text) {
      if (stream !== name) endWords()
      stream = name
      print(text)
    },
    endStream: endWords,
  }
}

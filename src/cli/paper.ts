/** Where a turn is printed: knows whether it is at the beginning of a line, and whose words it is in the middle of. */
export interface Paper {
  /** On a line of its own. */
  line(text: string): void
  /** Words of a stream as they come. Those of another stream begin a new line. */
  words(stream: string, text: string): void
  /** What comes next is no part of these words. */
  endWords(): void
}

export function createPaper(write: (text: string) => void): Paper {
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
    words(name, text) {
      if (stream !== name) endWords()
      stream = name
      print(text)
    },
    endWords,
  }
}

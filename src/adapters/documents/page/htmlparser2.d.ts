// The part of the package htmlparser2 that is used. The package is optional, so the sources must compile where it is not installed.

declare module 'htmlparser2' {
  /** `start`, `end` and `endOffset` are positions in the text that was passed to `write`. */
  interface TokenizerCallbacks {
    onattribdata(start: number, end: number): void
    onattribentity(codePoint: number): void
    onattribend(quote: number, end: number): void
    onattribname(start: number, end: number): void
    oncdata(start: number, end: number, endOffset: number): void
    onclosetag(start: number, end: number): void
    oncomment(start: number, end: number, endOffset: number): void
    ondeclaration(start: number, end: number): void
    onend(): void
    onopentagend(end: number): void
    onopentagname(start: number, end: number): void
    onprocessinginstruction(start: number, end: number): void
    onselfclosingtag(end: number): void
    ontext(start: number, end: number): void
    ontextentity(codePoint: number, end: number): void
  }

  export class Tokenizer {
    constructor(options: { readonly decodeEntities: boolean }, callbacks: TokenizerCallbacks)
    write(text: string): void
    end(): void
  }

  /** The parser of the package. Only a benchmark uses it, as its baseline. */
  export function parseDocument(html: string): unknown
}

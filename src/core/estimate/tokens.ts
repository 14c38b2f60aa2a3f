/** Counts the tokens of a text. Always passed in: core knows no tokenizer. */
export type TokenCounter = (text: string) => number

/** Four characters per token: for values that are only displayed. */
export const roughTokens: TokenCounter = (text) => Math.ceil(text.length / 4)

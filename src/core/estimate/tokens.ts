/** Counts the tokens of a text. Always passed in: core knows no tokenizer. */
export type TokenCounter = (text: string) => number

export const CHARACTERS_PER_TOKEN = 4

/** An estimate of four characters per token, for when no tokenizer is given. */
export const roughTokens: TokenCounter = (text) => Math.ceil(text.length / CHARACTERS_PER_TOKEN)

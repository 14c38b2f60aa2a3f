/** Counts the tokens of a text. Core contains no tokenizer, so callers pass in a counter. */
export type TokenCounter = (text: string) => number

export const CHARACTERS_PER_TOKEN = 4

/** Estimates four characters per token. It is used when no tokenizer is given. */
export const roughTokens: TokenCounter = (text) => Math.ceil(text.length / CHARACTERS_PER_TOKEN)

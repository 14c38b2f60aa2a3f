/** Counts the tokens of a text. Injected: core does not know any tokenizer. */
export type TokenCounter = (text: string) => number

/** Good enough where no decision hangs on it. */
export const roughTokens: TokenCounter = (text) => Math.ceil(text.length / 4)

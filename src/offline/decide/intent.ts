import { foldCase } from '../text/words.ts'

/** What the user asks for, recognised by the words of the request. */
export type Intent =
  | { readonly kind: 'empty' | 'greeting' | 'thanks' | 'farewell' | 'abilities' | 'date' | 'question' }
  | { readonly kind: 'remember'; readonly what: string }
  | { readonly kind: 'recall'; readonly about: string }
  | { readonly kind: 'summary'; readonly about: string }
  | { readonly kind: 'report'; readonly about: string; readonly format: 'pdf' | 'docx' | undefined }

const remember =
  /^(?:please\s+|bitte\s+)?(?:remember|note|keep in mind|do not forget|don['’]t forget|merke? dir|denke? daran)(?:\s+that\b|\s*(?:,\s*)?dass\b|\s+down\b)?(?:\s*[:,])?\s+(.+)$/is
const recall =
  /\b(?:what (?:do|can) you (?:still )?(?:remember|recall|know)|do you (?:still )?remember|what (?:did|have) i (?:tell|told|say|said|ask|asked)|remind me|what are my|what is my|what['’]s my|who am i|was weisst du|erinnerst du dich|wie heisse ich)\b(.*)/is
const report =
  /\b(?:write|create|make|prepare|draft|produce|generate|schreibe?|erstelle?)\b.{0,40}\b(?:report|summary|memo|brief(?:ing)?|overview|bericht|zusammenfassung)\b(.*)/is
const summary =
  /\b(?:summari[sz]e|summary|sum up|overview|outline|key points|main points|what (?:is|are) (?:it|this|that|they|these|the (?:file|document|text|attachment|pdf)s?) about|what does (?:it|this|the (?:file|document|text|pdf)) say|fasse? .{0,80} zusammen|zusammenfassung|worum geht es|uberblick)\b(.*)/is

const fixedPatterns: readonly (readonly [RegExp, 'greeting' | 'thanks' | 'farewell' | 'abilities' | 'date'])[] = [
  [
    /^(?:hi|hello|hey|good (?:morning|afternoon|evening)|hallo|guten (?:morgen|tag|abend)|moin|bonjour|hola|ciao)\b[\s\p{P}]*(?:(?:there|you|daybook)[\s\p{P}]*)?$/u,
    'greeting',
  ],
  [/^(?:thanks|thank you|thx|great|perfect|ok(?:ay)?|cool|danke|vielen dank|merci|gracias)\b.{0,30}$/, 'thanks'],
  [/^(?:bye|goodbye|see you|tschuss|auf wiedersehen)\b.{0,20}$/, 'farewell'],
  [/\b(?:what can you do|who are you|what are you|how do you work|help me$|^help$|was kannst du|wer bist du)\b/, 'abilities'],
  [
    /\b(?:what(?: is|'s) (?:the )?(?:date|day)(?: is it)?(?: today)?|what day is (?:it|today)|today's date|welcher tag ist heute|welches datum)\b/,
    'date',
  ],
]

export function readIntent(request: string): Intent {
  const original = request.trim()
  if (!/[\p{L}\p{N}]/u.test(original)) return { kind: 'empty' }
  const text = foldCase(original)
  const what = remember.exec(original)?.[1]
  if (what !== undefined && !/\?\s*$/.test(original)) return { kind: 'remember', what: what.trim() }
  for (const [pattern, kind] of fixedPatterns) if (pattern.test(text)) return { kind }
  const recalled = recall.exec(text)
  if (recalled) return { kind: 'recall', about: original.slice(recalled.index) }
  const wanted = report.exec(text)
  if (wanted)
    return {
      kind: 'report',
      about: wanted[1] ?? '',
      format: formatIn(text),
    }
  const about = summary.exec(text)?.[1]
  return about === undefined ? { kind: 'question' } : { kind: 'summary', about }
}

function formatIn(text: string): 'pdf' | 'docx' | undefined {
  if (/\b(?:as|in|into|to|als)\s+(?:an?\s+|einer?\s+)?pdf\b|\bpdf[- ](?:report|file|summary|bericht)\b/.test(text)) return 'pdf'
  return /\b(?:docx|word (?:file|document)|word-dokument)\b/.test(text) ? 'docx' : undefined
}

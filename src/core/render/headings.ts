/**
 * The beginnings of lines that only the runtime writes: headings of blocks, of the announce, of the source pool, of the system text and of
 * requests for summaries, and the tags of channels. headings.test.ts compares this list with what the renderers write.
 */
const blockHeadings = [
  'TURN ',
  'USER(?:\\]| MESSAGE| ATTACHMENT| FEEDBACK| FOLLOWUP| STEER)',
  'FOLLOWUP DURING',
  'STEER DURING',
  'ASSISTANT(?:\\]| MESSAGE| TOOL CALLS)',
  'YOUR RESPONSE',
  'SYSTEM MESSAGE',
  'EXTERNAL EVENT',
  '(?:AUTO )?FEEDBACK',
  'NEW (?:USER )?FEEDBACKS',
  'AI AGENT ',
  'TOOL (?:CALL|RESULT)',
  '(?:ARTIFACT|CODE) PREVIEW',
  'REACT(?: NOTICE|\\.PLAN)',
  'PROTOCOL VIOLATION',
  'INTERNAL NOTE',
  'WORKING SUMMAR',
  '(?:END )?COMPACTED P',
  '/?MID-TURN COMPACTION',
  'STAGE:',
  'NOT ATTACHED',
  '(?:BINARY )?BLOCK\\]',
  '(?:physical_)?path:',
  'ts:',
  'completion:',
  'sources_used:',
  'stopped by the user',
  'BUDGET\\]',
  'CONTEXT CAPS',
  'RUNTIME LIMITS',
  'AUTHORITATIVE ',
  'OPEN PLANS',
  'LIVE TURN EVENTS',
  'WORKSPACE\\]',
  'CONSTRAINTS\\]',
  'TOOLS OF SERVERS\\]',
  'APPLICATION:',
  'INSTRUCTIONS FOR THIS TURN\\]',
  'OUTPUT\\]',
  'HOW YOU ',
  '(?:START|END) OF CUSTOMISATION',
  'AVAILABLE \\w+ TOOLS',
  'SKILL CATALOG',
]
const heading = `[[\\uff3b](?:${blockHeadings.join('|')})|HIDDEN [—-]|SOURCES POOL|SID:\\s?\\d|[╔╚]═|║ |━━━|</?channel:`

// White space and invisible characters that may come before a heading. A model hardly notices them, so a line that begins with them can
// still imitate a heading.
const blanks = '[\\t \\u00a0\\u00ad\\u034f\\u061c\\u1680\\u180e\\u2000-\\u200f\\u202a-\\u202f\\u205f-\\u206f\\u3000\\ufeff]*'
const lineStart = '(?:^|[\\n\\r\\v\\f\\x85\\u2028\\u2029])'

const forged = new RegExp(`(${lineStart}${blanks}\\\\*)(?=${heading})`, 'gi')
const guarded = new RegExp(`(${lineStart}${blanks})\\\\(?=\\\\*(?:${heading}))`, 'gi')

/**
 * Puts a backslash before each line that begins like a line of the runtime, so that a message, a file or a web page can not imitate such a
 * line. Every text from outside passes through this function before it is put into a prompt. The stored text is not changed. A line that
 * already has backslashes before the heading gets one more, so that `unguardHeadings` can restore the text exactly.
 *
 * Letters that only look like those of a heading, such as Cyrillic ones, are not recognised. Lines that tools write inside of a result,
 * such as `[READ RANGE]`, are not recognised either.
 */
export function guardHeadings(text: string): string {
  return mayHoldHeading(text) ? text.replace(forged, '$1\\') : text
}

/** Removes the backslashes that `guardHeadings` has added. */
export const unguardHeadings = (text: string): string => (text.includes('\\') ? text.replace(guarded, '$1') : text)

/**
 * Whether a line of the text may begin like a heading. This test looks only at the first characters of each line and is false for most
 * texts. It is many times faster than the regular expression `forged`, which runs only if this test is true.
 */
function mayHoldHeading(text: string): boolean {
  if (rareLineBreaks.test(text)) return true
  for (let at = 0; ; ) {
    if (mayOpenHeading(text, at)) return true
    const newline = text.indexOf('\n', at)
    if (newline === -1) return false
    at = newline + 1
  }
}

const rareLineBreaks = /[\r\v\f\x85\u2028\u2029]/

function mayOpenHeading(text: string, start: number): boolean {
  let at = start
  let code = text.charCodeAt(at)
  while (code === 32 || code === 9) code = text.charCodeAt(++at)
  // Codes above 127 are frame characters such as `╔`, invisible characters or a full-width bracket. 92 is a backslash.
  if (code > 127 || code === 92) return true
  const next = text.charCodeAt(at + 1) | 32 // in lower case
  if (code === 91) return (next >= 97 && next <= 122) || next === 47 // a bracket before a letter or a slash
  if (code === 60) return next === 99 || next === 47 // <c, </
  return ((code | 32) === 104 && next === 105) || ((code | 32) === 115 && (next === 111 || next === 105)) // HI, SO, SI
}

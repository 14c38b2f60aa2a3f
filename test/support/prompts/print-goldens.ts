/** A program that prints every golden prompt. A test runs it in processes with other time zones and languages. */
import { situations } from '../../golden/situations.ts'
import { goldenPrompt } from './golden-prompt.ts'

process.stdout.write(
  Object.values(situations)
    .map((situation) => goldenPrompt(situation()))
    .join('\f'),
)

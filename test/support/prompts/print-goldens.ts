/** Run on its own, in another time zone and language: prints every golden prompt. */
import { situations } from '../../golden/situations.ts'
import { goldenPrompt } from './golden-prompt.ts'

process.stdout.write(
  Object.values(situations)
    .map((situation) => goldenPrompt(situation()))
    .join('\f'),
)

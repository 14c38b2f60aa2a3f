import type { SourceRow } from 'daybook/client'
import { createContext } from 'react'

/** The sources of the conversation. Citations read them here, so that a new source does not draw the texts again. */
export const SourcesContext = createContext<ReadonlyMap<number, SourceRow>>(new Map())

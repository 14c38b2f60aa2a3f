import type { SourceRow } from 'daybook/client'
import { createContext } from 'react'

/**
 * The sources of the conversation. Citations read them from this context. So a new source renders only the citations again and not the
 * texts.
 */
export const SourcesContext = createContext<ReadonlyMap<number, SourceRow>>(new Map())

declare module 'vitest' {
  interface TaskMeta {
    /** How many attempts one test made. If this is not set, a test counts as one attempt. */
    attempts?: number
  }
}

/** Tells the table of attacks how many attempts a test makes. */
export function countAttempts({ task }: { readonly task: { readonly meta: { attempts?: number } } }, attempts: number): void {
  task.meta.attempts = attempts
}

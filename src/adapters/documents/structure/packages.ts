import { Failure, missingPackageText } from '../../../core/failure.ts'
import type { RenderProblem } from '../../../ports/documents.ts'

/**
 * Loads an optional package. If it is not installed, throws a failure that says how to install it. `load` must contain the `import()`,
 * because tools that bundle the code have to see the name of the package.
 */
export async function loadPackage<T>(name: string, load: () => Promise<T>): Promise<T> {
  try {
    return await load()
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'ERR_MODULE_NOT_FOUND') throw error
    throw unrenderable('unavailable', missingPackageText(name), error)
  }
}

/** The failure of a document that can not be made. */
export const unrenderable = (reason: RenderProblem, message: string, cause?: unknown): Failure =>
  new Failure('document.unrenderable', message, { details: { reason }, cause })

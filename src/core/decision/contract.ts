import { readContract } from '../contract/contract.ts'
import type { Json } from '../json.ts'
import { isReference } from './signature.ts'

/**
 * Has the contract of an exec call the right shape? Where its files may be is judged before the tool runs, and so is a contract
 * that is only referred to: here nobody knows yet what it says.
 */
export function checkContract(given: Json | undefined): 'missing_contract' | 'invalid_contract' | undefined {
  if (isReference(given)) return undefined
  const contract = readContract(given)
  if (contract.ok) return undefined
  return contract.problems[0]?.error === 'missing_artifacts' ? 'missing_contract' : 'invalid_contract'
}

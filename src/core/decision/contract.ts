import { isObject, type Json, parseJson } from '../json.ts'

/**
 * Has the contract of an exec call the right shape? A non-empty list of files, each with a name and a description; the list
 * may also come as its JSON text. What the names may be is the exec tool's business.
 */
export function judgeContract(contract: Json | undefined): 'missing_contract' | 'invalid_contract' | undefined {
  if (contract === undefined || contract === null || contract === '') return 'missing_contract'
  const files = typeof contract === 'string' ? parseJson(contract) : contract
  if (!Array.isArray(files)) return 'invalid_contract'
  if (files.length === 0) return 'missing_contract'
  return files.every(isDeclaredFile) ? undefined : 'invalid_contract'
}

function isDeclaredFile(file: unknown): boolean {
  if (!isObject(file)) return false
  const { visibility = null } = file
  const named = isSpoken(file.filename) || isSpoken(file.filepath)
  return named && isSpoken(file.description) && (visibility === null || visibility === 'external' || visibility === 'internal')
}

const isSpoken = (value: unknown): boolean => typeof value === 'string' && value.trim() !== ''

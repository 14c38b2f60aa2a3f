export { Failure, type FailureCode } from './core/failure.ts'

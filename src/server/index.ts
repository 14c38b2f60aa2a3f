export { type Problem, problemOf } from './problem.ts'

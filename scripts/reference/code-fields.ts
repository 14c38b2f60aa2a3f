import { dirname, relative, resolve } from 'node:path'
import type { FunctionDeclaration, Identifier, Node, ObjectLiteralExpression } from 'typescript/unstable/ast'
import {
  isArrowFunction,
  isCallExpression,
  isExportSpecifier,
  isFunctionDeclaration,
  isIdentifier,
  isImportSpecifier,
  isObjectLiteralExpression,
  isParameterDeclaration,
  isPropertyAccessExpression,
  isPropertyAssignment,
  isShorthandPropertyAssignment,
  isTemplateExpression,
  isVariableDeclaration,
} from 'typescript/unstable/ast/is'
import { API, type Checker, type Type, TypeFlags, type UnionType } from 'typescript/unstable/sync'

/** The values that a program gives to the fields `code` and `error_code` of its objects. */
export interface CodeFields {
  /** Each code, and the files that write it. */
  readonly codes: ReadonlyMap<string, ReadonlySet<string>>
  /** Expressions in errors and notices whose values the types do not tell, such as `src/a.ts: error.code`. */
  readonly computed: ReadonlySet<string>
}

/**
 * Reads the codes in the files of a project with the help of the compiler: a value with a union type has all codes of the union, and a
 * parameter has the codes of all calls of its function. So a new code is found wherever it is written. `config` is the `tsconfig.json`.
 */
export function readCodeFields(config: string, isRead: (file: string) => boolean = () => true): CodeFields {
  const api = new API({ cwd: dirname(resolve(config)) })
  try {
    const project = api.updateSnapshot({ openProjects: [resolve(config)] }).getProject(resolve(config))
    if (!project) throw new Error(`the compiler can not open ${config}`)
    const { program, checker } = project
    const nameOf = (path: string) => relative(dirname(resolve(config)), path).replaceAll('\\', '/')
    const collector = createCollector(checker, nameOf, isRead)
    for (const path of program.getSourceFileNames()) {
      const name = nameOf(path)
      if (name.startsWith('..') || name.includes('node_modules/') || !isRead(name)) continue
      const source = program.getSourceFile(path)
      if (source && /code\b/.test(source.text)) collector.readObjects(source)
    }
    return collector
  } finally {
    api.close()
  }
}

function createCollector(checker: Checker, nameOf: (path: string) => string, isRead: (file: string) => boolean) {
  const codes = new Map<string, Set<string>>()
  const computed = new Set<string>()
  const reading = new Set<Node>()
  const fileOf = (node: Node) => nameOf(node.getSourceFile().fileName)

  function readObjects(node: Node): void {
    if (isObjectLiteralExpression(node)) for (const field of fieldsOf(node)) readValue(field.value, '', isError(field.name, node))
    node.forEachChild((child) => readObjects(child))
  }

  /** An error or a notice has a message beside its code, or its type says so. */
  function isError(name: string, object: ObjectLiteralExpression): boolean {
    const type = checker.getTypeAtLocation(object)
    if (name === 'error_code' || (type && checker.getPropertyOfType(type, 'message'))) return true
    const expected = checker.getContextualType(object)
    return partsOf(expected).some((type) => errorTypes.has(checker.getPropertyOfType(type, 'code')?.getParent()?.name ?? ''))
  }

  function readValue(value: Node, prefix: string, isError: boolean): void {
    const known = textsOf(typeOf(value))
    if (known) {
      for (const code of known) addCode(`${prefix}${code}`, fileOf(value))
      return
    }
    const inside = isTemplateExpression(value) && value.templateSpans.length === 1 ? value.templateSpans[0] : undefined
    if (isTemplateExpression(value) && inside?.literal.text === '') {
      readValue(inside.expression, `${prefix}${value.head.text}`, isError)
      return
    }
    const passed = isIdentifier(value) ? argumentsFor(value) : undefined
    if (!passed && isError) computed.add(`${fileOf(value)}: ${value.getText()}`)
    if (!passed || reading.has(value)) return
    reading.add(value) // a function may call itself
    for (const argument of passed) readValue(argument, prefix, isError)
    reading.delete(value)
  }

  function addCode(code: string, file: string): void {
    codes.set(code, (codes.get(code) ?? new Set()).add(file))
  }

  /** The type of a value, as it is narrowed at this place. */
  function typeOf(value: Node): Type | undefined {
    const symbol = isShorthandPropertyAssignment(value.parent) ? checker.getShorthandAssignmentValueSymbol(value.parent) : undefined
    return symbol ? checker.getTypeOfSymbolAtLocation(symbol, value) : checker.getTypeAtLocation(value)
  }

  /** If the name is a parameter: what the calls of its function pass for it. Otherwise undefined. */
  function argumentsFor(name: Identifier): readonly Node[] | undefined {
    const isShorthand = isShorthandPropertyAssignment(name.parent)
    const symbol = isShorthand ? checker.getShorthandAssignmentValueSymbol(name.parent) : checker.getSymbolAtLocation(name)
    const parameter = symbol?.valueDeclaration?.resolve()
    if (!parameter || !isParameterDeclaration(parameter) || !isIdentifier(parameter.name)) return undefined
    const called = nameOfFunction(parameter.parent)
    if (!called) return undefined
    const index = (parameter.parent as FunctionDeclaration).parameters.indexOf(parameter)
    const uses = checker.getReferencedSymbolsForNode(called, called.getStart()).flatMap(({ references }) => references)
    return uses.flatMap((use) => {
      const node = use.resolve()
      if (!node || !isRead(fileOf(node))) return []
      const callee = isPropertyAccessExpression(node.parent) ? node.parent : node
      if (isCallExpression(callee.parent) && callee.parent.expression === callee) return callee.parent.arguments[index] ?? []
      if (node.parent !== called.parent && !isImportSpecifier(node.parent) && !isExportSpecifier(node.parent))
        computed.add(`${fileOf(node)}: ${node.getText()}`) // the function is passed on, so its calls are not known
      return []
    })
  }

  return { codes, computed, readObjects }
}

/** The types of errors and notices in a timeline. */
const errorTypes: ReadonlySet<string> = new Set(['ToolError', 'Notice'])

interface Field {
  readonly name: string
  readonly value: Node
}

/** The fields of an object that have a code as value. */
function fieldsOf({ properties }: ObjectLiteralExpression): readonly Field[] {
  return properties.flatMap((property): readonly Field[] => {
    const name = nameIn(property)
    if (name !== 'code' && name !== 'error_code') return []
    if (isShorthandPropertyAssignment(property)) return [{ name, value: property.name }]
    return isPropertyAssignment(property) ? [{ name, value: property.initializer }] : []
  })
}

function nameIn(property: ObjectLiteralExpression['properties'][number]): string | undefined {
  const name = 'name' in property ? property.name : undefined
  return name && 'text' in name ? name.text : undefined
}

function nameOfFunction(node: Node): Identifier | undefined {
  if (isFunctionDeclaration(node)) return node.name
  return isArrowFunction(node) && isVariableDeclaration(node.parent) && isIdentifier(node.parent.name) ? node.parent.name : undefined
}

/** The texts that a type allows. Undefined if it allows any text. A type without texts, such as a number, has none. */
function textsOf(type: Type | undefined): readonly string[] | undefined {
  const parts = partsOf(type)
  if (parts.some(({ flags }) => flags & anyText)) return undefined
  return parts.flatMap((part) => (part.flags & TypeFlags.StringLiteral ? [String((part as Type & { readonly value: unknown }).value)] : []))
}

const anyText = TypeFlags.String | TypeFlags.TemplateLiteral | TypeFlags.Any | TypeFlags.Unknown

const partsOf = (type: Type | undefined): readonly Type[] =>
  type === undefined ? [] : type.flags & TypeFlags.Union ? (type as UnionType).getTypes() : [type]

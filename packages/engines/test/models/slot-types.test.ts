import { readFileSync, writeFileSync } from 'node:fs'
import { join, resolve } from 'node:path'
import ts from 'typescript'
import { describe, expect, it } from 'vitest'
import { parseGrammar } from '../../src/models/jsgf.js'
import { slotTypes } from '../../src/models/slot-types.js'
import { temporaryFolder } from '../../../../test/temporary-folder.js'

const typesOf = (grammar: string): string =>
  slotTypes(parseGrammar(`#JSGF V1.0;\n${grammar}`), 'take-order', 'take-order')

const order = `public <a> = (order | get) {intent=order} <drink> {drink} [<size> {size}] | cancel {intent=cancel} [please];
  <drink> = tea | (flat white) {=white}; <size> = small {=S} | large {=L};`

describe('the types of slots', () => {
  it('are a union of what sentences set, with their values', () => {
    expect(typesOf(order)).toBe(`// Made by: rxspeech models types take-order
// The slots of its milestones, for recognize<TakeOrderSlots>(…) and dataflow<TakeOrderSlots>(…).
export type TakeOrderSlots =
  | {
      readonly intent: 'order'
      readonly drink: 'tea' | 'white'
      readonly size?: undefined
    }
  | {
      readonly intent: 'order'
      readonly drink: 'tea' | 'white'
      readonly size: 'L' | 'S'
    }
  | {
      readonly intent: 'cancel'
      readonly drink?: undefined
      readonly size?: undefined
    }
`)
  })

  it.each([
    ['public <a> = x;', 'Readonly<Record<string, never>>'],
    ['', 'Readonly<Record<string, never>>'],
    ['public <a> = (x | y z) {a};', "readonly a: 'x' | 'y z'"],
    ['public <a> = <d>+ {number}; <d> = one {=1} | two {=2};', 'readonly number: string'],
    ['public <a> = go [now | right now] {when};', "readonly when: 'now' | 'right now'"],
    ["public <a> = <NULL> {a-b=it's} x;", "readonly 'a-b': 'it\\'s'"],
    ['public <a> = x {a} [<a>];', 'readonly a?: string'],
    [`public <a> = (${Array.from({ length: 99 }, (_, at) => `w${at}`).join('|')}) {a};`, 'readonly a: string'],
  ])('of %s', (grammar, type) => {
    expect(typesOf(grammar)).toContain(type)
  })

  it('have one object with optional slots if there are too many sets', () => {
    const parts = Array.from({ length: 30 }, (_, at) => `[w${at} {s${at}}]`).join(' ')
    const types = typesOf(`public <a> = ${parts};`)
    expect(types.match(/\| \{/g)).toHaveLength(1)
    expect(types).toContain("readonly s29?: 'w29'")
  })
})

describe('a program with the types of a model', { timeout: 120_000 }, () => {
  const folder = temporaryFolder()

  /** The lines of a program that do not compile with the types of the grammar. */
  const faultyLines = (grammar: string, program: string): readonly string[] => {
    const index = resolve('src/index.ts')
    writeFileSync(join(folder, 'slots.ts'), typesOf(grammar))
    writeFileSync(join(folder, 'package.json'), '{"type":"module"}')
    const file = join(folder, 'program.ts')
    writeFileSync(file, program)
    const { options } = ts.parseJsonConfigFileContent(
      ts.readConfigFile('tsconfig.json', (path) => readFileSync(path, 'utf8')).config,
      ts.sys,
      resolve('.'),
    )
    const compiled = ts.createProgram([file], {
      ...options,
      noEmit: true,
      skipLibCheck: true,
      rootDir: '/',
      paths: { rxspeech: [index] },
      typeRoots: [resolve('node_modules/@types')],
    })
    const source = compiled.getSourceFile(file)
    const lines = program.split('\n')
    const faults = [...compiled.getSyntacticDiagnostics(), ...compiled.getSemanticDiagnostics(source)]
    return faults.map(({ start = 0 }) => lines[source?.getLineAndCharacterOfPosition(start).line ?? 0]?.trim() ?? '')
  }

  const lines = [
    "import { recognize, type MilestoneEvent, type SessionEvent } from 'rxspeech'",
    "import type { TakeOrderSlots } from './slots.js'",
    'declare const options: Parameters<typeof recognize>[0]',
    'declare const audio: Iterable<Uint8Array>',
    'recognize<TakeOrderSlots>(options)(audio).subscribe((event) => {',
    "  if (event.type !== 'milestone' || event.slots === undefined) return",
    '  const { slots } = event',
    "  const intent: 'order' | 'cancel' = slots.intent",
    "  if (slots.intent === 'order') {",
    "    const drink: 'tea' | 'white' = slots.drink",
    "    const size: 'S' | 'L' | undefined = slots.size",
    '    const wrong1: undefined = slots.drink',
    '  } else {',
    '    const none: undefined = slots.drink',
    '    const wrong2: string = slots.drink',
    '  }',
    "  if (slots.intent === 'wrong3') return",
    '  slots.wrong4',
    '})',
    'declare const milestone: MilestoneEvent<TakeOrderSlots>',
    'const general: SessionEvent = milestone',
    "const text: string | undefined = recognize(options) && general.type === 'milestone' ? general.slots?.['x'] : undefined",
  ]

  it('narrows the slots of a milestone, and refuses what the grammar cannot say', () => {
    const wrong = lines.filter((line) => line.includes('wrong')).map((line) => line.trim())
    expect(wrong).toHaveLength(4)
    const unused = (line: string): boolean => /^const (intent|drink|size|none|general|text)\b/.test(line)
    expect([...new Set(faultyLines(order, lines.join('\n')))].filter((line) => !unused(line))).toEqual(wrong)
  })
})

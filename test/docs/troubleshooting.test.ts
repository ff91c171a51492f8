import { readdirSync, readFileSync } from 'node:fs'
import { join, relative } from 'node:path'
import { describe, expect, it } from 'vitest'
import { errorTable } from '../../src/errors/error-table.js'
import { connectFailures } from '../../src/errors/connection-errors.js'
import type {
  ConnectionEvent,
  GapCause,
  GapEvent,
  ResumedEvent,
  SilentEvent,
} from '../../src/protocol/session-event.js'
import type { AnnouncedState } from '../../src/protocol/states.js'
import { checkout } from './run-program.js'

const page = readFileSync(join(checkout, 'docs/TROUBLESHOOTING.md'), 'utf8')

/** The compiler keeps these two equal to the types: it has no other way to list the members of a type. */
const causes: Readonly<Record<GapCause, true>> = {
  'buffer-full': true,
  'replay-full': true,
  failed: true,
  stopped: true,
  ended: true,
  'cut-sample': true,
  silence: true,
}
/** The events of a connection; `resumed` needs no action. */
type Happening = ResumedEvent | SilentEvent | GapEvent
const notices: Readonly<Record<Exclude<ConnectionEvent['state'], AnnouncedState> | Happening['type'], true>> = {
  reconnecting: true,
  resumed: true,
  gap: true,
  silent: true,
}

const foldersIn = (folder: string): readonly string[] =>
  readdirSync(join(checkout, folder), { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isDirectory())
    .map((entry) => relative(checkout, join(entry.parentPath, entry.name)))

interface Part {
  readonly heading: string
  readonly lines: readonly string[]
}
const parts: readonly Part[] = page
  .split(/^### /m)
  .slice(1)
  .map((text) => text.split(/^## /m)[0] ?? '')
  .map((text) => {
    const [heading = '', ...lines] = text.split('\n').filter((line) => line !== '')
    return { heading, lines }
  })

const named = (pattern: RegExp): readonly string[] =>
  parts.flatMap(({ heading }) => {
    const [, name] = pattern.exec(heading) ?? []
    return name === undefined ? [] : [name]
  })
const unique = (names: readonly string[]): readonly string[] => [...new Set(names)]

const messages = parts.flatMap(({ heading }) => {
  const [, code, message] = /^`([a-z-]+)`: (.+)$/.exec(heading) ?? []
  return code === undefined || message === undefined ? [] : [[code, message] as const]
})

/** The messages in each folder of the code. */
const sources = ['src', ...['engines', 'server', 'nodes', 'nats', 'service'].map((name) => `packages/${name}/src`)]
const folders: readonly string[] = sources
  .flatMap((source) => [source, ...foldersIn(source)])
  .map((folder) =>
    readdirSync(join(checkout, folder))
      .filter((name) => name.endsWith('.ts'))
      .map((name) => readFileSync(join(checkout, folder, name), 'utf8'))
      .join('\n'),
  )

/** Whether the code contains the message, with any text for "…", in a folder that also has the error's code. */
const isInSources = (code: string, message: string): boolean => {
  const escaped = message.split('…').map((part) => part.replace(/[\\^$.*+?()[\]{}|]/g, '\\$&'))
  const mention = new RegExp(`['"\`]${escaped.join('[^\\n]*?')}`)
  return folders.some((text) => new RegExp(`['\\s]${code}['\\s:]`).test(text) && mention.test(text))
}

describe('docs/TROUBLESHOOTING.md', () => {
  it('has a section for every code of the error table, in its order, and for no other', () => {
    expect(unique(named(/^`([a-z-]+)`: /))).toEqual(Object.keys(errorTable))
  })

  it('has a section for every cause of a gap, and for the other events of a connection', () => {
    expect(named(/^`gap`, `([a-z-]+)`$/)).toEqual(Object.keys(causes))
    expect([...unique(named(/^`([a-z-]+)`(?:,|$)/)), 'resumed'].sort()).toEqual(Object.keys(notices).sort())
  })

  it.each(messages)('has for %s a message of the code: %s', (code, message) => {
    expect(isInSources(code, message)).toBe(true)
  })

  it.each(connectFailures.map(({ sentence }) => sentence('…')))(
    'has the reason of a failed connection: %s',
    (sentence) => {
      expect(messages).toContainEqual(['connection-failed', sentence])
    },
  )

  it.each(parts)('explains for $heading what it means, what the session does, and what to do', ({ lines }) => {
    expect(lines.map((line) => /^- (.+?): .{6}/.exec(line)?.[1])).toEqual(['Means', 'The session', 'Do'])
  })

  it('has no heading twice', () => {
    const headings = parts.map(({ heading }) => heading)
    expect(headings).toEqual(unique(headings))
  })
})

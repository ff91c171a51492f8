import { either } from 'fp-ts'
import type * as t from 'io-ts'
import type { Document, LineCounter } from 'yaml'
import { maxReportedFaults } from 'rxspeech-server/project/format/project-fault'
import { tooManyMarks } from 'rxspeech-server/project/format/read-yaml'
import { isLoopback } from 'rxspeech/internal/protocol/loopback'
import type { ListenAddress } from 'rxspeech/internal/transport/listen-address'
import { engineConfiguration, type EngineConfiguration } from './engine-configuration.js'
import { configuration, type ServiceConfiguration } from './service-configuration.js'

/** One fault of the file, with its line and column, counted from 1, and its key. */
export interface ConfigurationFault {
  readonly line: number
  readonly column: number
  /** Such as `limits.sessions`; empty for the file as a whole. */
  readonly key: string
  readonly sentence: string
}

const maxCharacters = 1_048_576

/**
 * Reads the text of a configuration file. Left: the faults in the order of the file, at most 50, and then how many more
 * there are. Rejects with `missing-dependency`.
 */
export const readConfiguration = (
  source: string,
): Promise<either.Either<readonly ConfigurationFault[], ServiceConfiguration>> =>
  readFile(source, configuration.codec, findConflicts)

/** The same for a file with other keys, between which there are no conflicts. */
export const readSections = <Values>(
  source: string,
  codec: t.Decoder<unknown, Values>,
): Promise<either.Either<readonly ConfigurationFault[], Values>> => readFile(source, codec, () => [])

/** The same for the file of an engine process. */
export const readEngineConfiguration = (
  source: string,
): Promise<either.Either<readonly ConfigurationFault[], EngineConfiguration>> =>
  readFile(source, engineConfiguration.codec, findEngineConflicts)

const readFile = async <Values>(
  source: string,
  codec: t.Decoder<unknown, Values>,
  conflictsOf: (values: Values) => readonly PathFault[],
): Promise<either.Either<readonly ConfigurationFault[], Values>> => {
  const yaml = await import('yaml')
  if (source.length > maxCharacters)
    return either.left([
      { line: 1, column: 1, key: '', sentence: `the file is longer than ${maxCharacters} characters` },
    ])
  const tooMany = tooManyMarks(source)
  if (tooMany !== undefined) return either.left([{ ...top, sentence: `the file has ${tooMany}` }])
  const lines = new yaml.LineCounter()
  let document: Document
  try {
    // Duplicate keys are found below in linear time; the parser compares each key with each.
    document = yaml.parseDocument(source, { lineCounter: lines, prettyErrors: false, uniqueKeys: false })
  } catch {
    return either.left([{ ...top, sentence: 'the file is nested too deeply' }])
  }
  const errors = [...document.errors.map(({ pos, message }) => ({ at: pos[0], message })), ...duplicateKeys(document)]
  if (errors.length > 0) {
    return either.left(
      bounded(
        errors.map(({ at, message }) => ({ ...place(lines, at), key: '', sentence: `this is not YAML: ${message}` })),
      ),
    )
  }
  let value: unknown
  try {
    value = document.toJS({ maxAliasCount: 20 })
  } catch {
    return either.left([{ ...top, sentence: 'the file has too many aliases' }])
  }
  return either.mapLeft((faults: readonly PathFault[]) => {
    // Positions are looked up only for the faults that are reported.
    const reported = faults.slice(0, maxReportedFaults).map(({ path, sentence }) => {
      return { ...place(lines, offsetOf(document, path)), key: path.join('.'), sentence }
    })
    const inOrder = reported.toSorted((a, b) => a.line - b.line || a.column - b.column)
    return bounded(inOrder, faults.length)
  })(decode(value, codec, conflictsOf))
}

const top = { line: 1, column: 1, key: '' }

/** The faults to report, and one more that says how many there are beyond them. */
const bounded = (faults: readonly ConfigurationFault[], count = faults.length): readonly ConfigurationFault[] => {
  if (count <= maxReportedFaults) return faults
  const reported = faults.slice(0, maxReportedFaults)
  const { line, column } = reported.at(-1) ?? top
  const sentence = `there are ${count - reported.length} more faults; correct these first`
  return [...reported, { line, column, key: '', sentence }]
}

/** All keys that repeat an earlier key of their table. */
const duplicateKeys = (document: Document): readonly { readonly at: number; readonly message: string }[] => {
  const found: { at: number; message: string }[] = []
  const open: unknown[] = [document.contents]
  while (open.length > 0) {
    const node = open.pop()
    const seen = new Set<unknown>()
    for (const item of itemsOf(node)) {
      const key = isPair(item) ? scalarOf(item.key) : undefined
      if (isPair(item) && seen.has(key)) {
        found.push({ at: (item.key as Ranged | null)?.range?.[0] ?? 0, message: 'Map keys must be unique' })
      }
      seen.add(key)
      open.push(isPair(item) ? item.value : item)
    }
  }
  return found.toSorted((a, b) => a.at - b.at)
}

/** Left: the faults of single keys, or otherwise the conflicts between keys. */
const decode = <Values>(
  value: unknown,
  codec: t.Decoder<unknown, Values>,
  conflictsOf: (values: Values) => readonly PathFault[],
): either.Either<readonly PathFault[], Values> => {
  const read = codec.decode(value)
  if (either.isLeft(read)) return either.left(read.left.map(faultOfKey))
  const conflicts = conflictsOf(read.right)
  return conflicts.length > 0 ? either.left(conflicts) : read
}

const faultOfKey = ({ context, message = 'this is invalid' }: t.ValidationError): PathFault => ({
  path: context.slice(1).map(({ key }) => key),
  sentence: message,
})

const place = (lines: LineCounter, offset: number): { readonly line: number; readonly column: number } => {
  const { line, col } = lines.linePos(offset)
  return { line: Math.max(1, line), column: Math.max(1, col) }
}

interface Ranged {
  readonly range?: readonly number[] | null
}

/** The offset of a key or of a list item; for a path that the file does not have, that of its parent. */
const offsetOf = (document: Document, path: readonly string[]): number => {
  let node: unknown = document.contents
  let offset = 0
  for (const key of path) {
    const items = itemsOf(node)
    const at = items.findIndex((item, place) =>
      isPair(item) ? String(scalarOf(item.key)) === key : String(place) === key,
    )
    const item = items[at]
    if (item === undefined) break
    offset = ((isPair(item) ? item.key : item) as Ranged | null)?.range?.[0] ?? offset
    node = isPair(item) ? item.value : item
  }
  return offset
}

const isPair = (item: unknown): item is { readonly key: unknown; readonly value: unknown } =>
  typeof item === 'object' && item !== null && 'key' in item && 'value' in item

const itemsOf = (node: unknown): readonly unknown[] =>
  typeof node === 'object' && node !== null && 'items' in node && Array.isArray(node.items) ? node.items : []

const scalarOf = (key: unknown): unknown =>
  typeof key === 'object' && key !== null && 'value' in key ? key.value : key

/** A fault, with the path of the key to report it at. */
interface PathFault {
  readonly path: readonly string[]
  readonly sentence: string
}

/** Faults of a certificate without its key, and of addresses that need one. */
const tlsConflicts = (
  {
    tls,
    ...values
  }: Partial<Record<'http' | 'grpc' | 'operations', ListenAddress>> & Pick<ServiceConfiguration, 'tls'>,
  addresses: readonly ('http' | 'grpc' | 'operations')[],
): readonly PathFault[] => {
  const faults: PathFault[] = []
  if ((tls?.certificateFile === undefined) !== (tls?.keyFile === undefined)) {
    const given = tls?.certificateFile === undefined ? 'keyFile' : 'certificateFile'
    faults.push({ path: ['tls', given], sentence: 'certificateFile and keyFile belong together; set both' })
  }
  for (const key of addresses) {
    const host = values[key]?.host
    if (host !== undefined && tls?.certificateFile === undefined && !isLoopback(host)) {
      faults.push({ path: [key], sentence: `listening on ${host} needs tls; plain text is for loopback only` })
    }
  }
  return faults
}

const findEngineConflicts = (values: EngineConfiguration): readonly PathFault[] => tlsConflicts(values, ['operations'])

/** The conflicts between keys in a file whose single keys are valid. */
const findConflicts = ({ nodes, ...values }: ServiceConfiguration): readonly PathFault[] => {
  const faults: PathFault[] = [...tlsConflicts(values, ['http', 'grpc', 'operations'])]
  const { issuer, keysFile, rotateKeysAfterMs, nats } = values.identity ?? {}
  if (nats !== undefined && (nats.servers ?? []).length === 0) {
    faults.push({ path: ['identity', 'nats'], sentence: 'needs at least one of servers' })
  }
  if (nats !== undefined && keysFile === undefined) {
    const sentence = 'needs identity.keysFile; otherwise machines refuse the tokens of each other'
    faults.push({ path: ['identity', 'nats'], sentence })
  }
  if (keysFile !== undefined && issuer === undefined) {
    const sentence =
      'needs identity.issuer, the address of the balancer; otherwise machines refuse the tokens of each other'
    faults.push({ path: ['identity', 'keysFile'], sentence })
  }
  if (keysFile !== undefined && rotateKeysAfterMs !== undefined) {
    const sentence = 'has no effect with keysFile, whose keys rxspeech keys rotate --file creates; omit one of both'
    faults.push({ path: ['identity', 'rotateKeysAfterMs'], sentence })
  }
  for (const [at, { file, package: name }] of (nodes ?? []).entries()) {
    if ((file === undefined) !== (name === undefined)) continue
    faults.push({ path: ['nodes', String(at)], sentence: 'must have either file or package' })
  }
  return faults
}

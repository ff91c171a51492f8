import { execFile, spawn } from 'node:child_process'
import { cp, mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import { promisify } from 'node:util'
import { concatMap, delay, firstValueFrom, from, lastValueFrom, mergeMap, take, tap, toArray } from 'rxjs'
import { recognize } from '../../src/client/recognizer/recognize.js'
import { isSpeechError } from '../../src/errors/speech-error.js'
import { pace } from '../../src/operators/audio/pace.js'
import { standInFaults, type StandInFaultName } from '../../packages/service/src/testing/stand-in/faults.js'
import { standIn, type StandIn } from '../../packages/service/src/testing/stand-in/stand-in.js'

const run = promisify(execFile)

/** What a client printed: texts that are final, and what it reported. */
interface Seen {
  readonly texts: string[]
  readonly saw: string[]
  isDone: boolean
}

const clientDialects = ['deepgram', 'openai'] as const
type ClientDialect = (typeof clientDialects)[number]

/** A client, and how it is run against a stand-in. */
export interface VendorClient {
  readonly name: string
  /** The interfaces in whose tables it is. */
  readonly dialects: readonly ClientDialect[]
  readonly needsTls?: true
  readonly play: (vendor: StandIn, seen: Seen) => Promise<void>
}

/** One cell of the table. */
export interface VendorRun {
  readonly fault: StandInFaultName
  readonly client: string
  /** Milliseconds of 4000 that did not arrive on any connection. */
  readonly lostMs: number
  /** Finals that were shown, each once, of the 8 that the audio has; those of a further connection have other words. */
  readonly words: number
  readonly reported: string
}

const audioMs = 4_000
const wordCount = 8
/** A client that goes on for longer behind its first request waits for what will not come. */
const maxRunMs = 45_000

/** A final each 500 ms. Further connections have other words. */
const script = {
  sessions: [0, 1, 2, 3].map((session) =>
    Array.from({ length: wordCount }, (_, word) => ({
      text: `${session === 0 ? 'w' : `x${session}-`}${word}`,
      startMs: word * 500,
      endMs: word * 500 + 350,
      finalAfterMs: 50,
    })),
  ),
}

/** Faults of sockets, all but that of answers to requests. */
export const socketFaults = (Object.keys(standInFaults) as StandInFaultName[]).filter(
  (name) => name !== 'truncated-answer',
)

const nodePackages = [
  '@deepgram/sdk@5.13.0',
  'openai@7.59.0',
  'ws@8',
  '@livekit/agents@1.9.0',
  '@livekit/agents-plugin-deepgram@1.9.0',
  '@livekit/agents-plugin-openai@1.9.0',
]
const pythonPackages = [
  'deepgram-sdk==7.17.0',
  'openai[realtime]==3.57.0',
  'livekit-plugins-deepgram==1.8.9',
  'livekit-plugins-openai==1.8.9',
  'pipecat-ai[deepgram,openai]==1.14.0',
]

/** Installs the clients into a folder of their own, which `remove` removes. */
export const installClients = async (): Promise<{
  readonly clients: readonly VendorClient[]
  readonly remove: () => Promise<void>
}> => {
  const folder = await mkdtemp(join(tmpdir(), 'rxspeech-faults-'))
  await cp(join(__dirname, 'clients'), folder, { recursive: true })
  const quietly = ['--ignore-scripts', '--no-audit', '--no-fund', '--no-save', '--loglevel=error']
  await run('npm', ['install', ...quietly, '--prefix', folder, ...nodePackages])
  await run('python3', ['-m', 'venv', join(folder, 'python')])
  const python = join(folder, 'python/bin/python')
  await run(python, ['-m', 'pip', 'install', '--quiet', '--disable-pip-version-check', ...pythonPackages])
  return { clients: clientsIn(folder, python), remove: () => rm(folder, { recursive: true, force: true }) }
}

const clientsIn = (folder: string, python: string): readonly VendorClient[] => {
  const program = (command: string, file: string, ...args: string[]) => ({
    play: (vendor: StandIn, seen: Seen) => playProgram(command, [join(folder, file), ...args], vendor, seen),
  })
  const node = process.execPath
  return [
    { name: 'rxspeech', dialects: ['deepgram', 'openai'], play: playOwn },
    { name: '@deepgram/sdk 5.13.0', dialects: ['deepgram'], ...program(node, 'deepgram.mjs') },
    { name: 'deepgram-sdk 7.17.0', dialects: ['deepgram'], ...program(python, 'deepgram_listen.py') },
    {
      name: '@livekit/agents-plugin-deepgram 1.9.0',
      dialects: ['deepgram'],
      ...program(node, 'livekit-stt.mjs', 'deepgram'),
    },
    {
      name: 'livekit-plugins-deepgram 1.8.9',
      dialects: ['deepgram'],
      ...program(python, 'livekit_stt.py', 'deepgram'),
    },
    { name: 'pipecat-ai 1.14.0 (Deepgram)', dialects: ['deepgram'], ...program(python, 'pipecat_stt.py', 'deepgram') },
    { name: 'openai (npm) 7.59.0', dialects: ['openai'], needsTls: true, ...program(node, 'openai-realtime.mjs') },
    { name: 'openai (PyPI) 3.57.0', dialects: ['openai'], ...program(python, 'openai_realtime.py') },
    {
      name: '@livekit/agents-plugin-openai 1.9.0',
      dialects: ['openai'],
      ...program(node, 'livekit-stt.mjs', 'openai'),
    },
    { name: 'livekit-plugins-openai 1.8.9', dialects: ['openai'], ...program(python, 'livekit_stt.py', 'openai') },
    { name: 'pipecat-ai 1.14.0 (OpenAI)', dialects: ['openai'], ...program(python, 'pipecat_stt.py', 'openai') },
  ]
}

const playOwn = async (vendor: StandIn, seen: Seen): Promise<void> => {
  const format = { encoding: 'pcm', sampleRateHz: 8000, channels: 1 } as const
  const chunks = Array.from({ length: audioMs / 100 }, () => new Uint8Array(1_600))
  const session = recognize({ url: vendor.wsUrl, model: 'any', token: vendor.key, format })
  const events$ = pace({ format })(chunks).pipe(
    session,
    tap((event) => {
      if (event.type === 'milestone') seen.texts.push(event.text.trim())
      if (event.type === 'gap' || event.type === 'unknown') seen.saw.push(event.type)
      if (event.type === 'connection' && ['reconnecting', 'resumed'].includes(event.state)) seen.saw.push(event.state)
    }),
  )
  try {
    await lastValueFrom(events$.pipe(toArray()))
    seen.saw.push('complete')
  } catch (error) {
    seen.saw.push(isSpeechError(error) ? `error ${error.code}` : 'error')
  }
}

const playProgram = async (command: string, args: readonly string[], vendor: StandIn, seen: Seen): Promise<void> => {
  const env = { ...process.env, BASE: vendor.url, KEY: vendor.key, NODE_EXTRA_CA_CERTS: vendor.ca?.path }
  const child = spawn(command, args, { env, stdio: ['ignore', 'pipe', 'pipe'] })
  const ended = new Promise<number | null>((resolve) => child.once('exit', resolve))
  let failure = ''
  child.stderr.on('data', (text: Buffer) => (failure += text.toString()))
  createInterface(child.stdout).on('line', (line) => {
    const { text, saw } = JSON.parse(line) as { text?: string; saw?: string }
    if (text !== undefined) seen.texts.push(text.trim())
    if (saw !== undefined && saw !== 'open') seen.saw.push(saw)
  })
  const late = waitsOn$(vendor).subscribe(() => child.kill('SIGKILL'))
  const code = await ended
  late.unsubscribe()
  if (code === null) seen.saw.push('waits on')
  if (code !== 0 && code !== null) seen.saw.push(`process dies: ${/^\w*Error.*$/m.exec(failure)?.[0] ?? code}`)
}

/** Emits once when a client has had enough time; its start is not counted, which takes long on a busy machine. */
const waitsOn$ = ({ sessions$ }: StandIn) => sessions$.pipe(take(1), delay(maxRunMs))

const playRun = async (client: VendorClient, fault: StandInFaultName): Promise<VendorRun> => {
  const dialect = ['rxspeech', 'deepgram', 'openai'] as const
  const vendor = await standIn({ dialect, script, faults: fault, tls: client.needsTls === true })
  const seen: Seen = { texts: [], saw: [], isDone: false }
  try {
    const played = client.play(vendor, seen).then(() => (seen.isDone = true))
    await Promise.race([played, firstValueFrom(waitsOn$(vendor).pipe(delay(500)), { defaultValue: undefined })])
    const arrivedMs = vendor.sessions.reduce(
      (sum, { audio: { samples, sampleRateHz } }) => sum + (samples * 1_000) / Math.max(1, sampleRateHz),
      0,
    )
    const shown = new Set(seen.texts.flatMap((text) => text.split(' ')))
    const words = Math.min(wordCount, shown.size)
    const repeated = seen.texts.length - new Set(seen.texts).size
    const isOrdered = [...shown]
      .filter((word) => word.startsWith('w'))
      .every((word, at, all) => at === 0 || (all[at - 1] ?? '') < word)
    const reported = [
      ...new Set(seen.saw),
      ...(repeated > 0 ? [`${repeated} text twice`] : []),
      ...(isOrdered ? [] : ['texts out of order']),
      ...(vendor.sessions.length > 1 ? [`${vendor.sessions.length} connections`] : []),
      ...(seen.isDone ? [] : ['waits on']),
    ]
    return {
      fault,
      client: client.name,
      lostMs: Math.max(0, Math.round(audioMs - arrivedMs)),
      words,
      reported: reported.join(', '),
    }
  } finally {
    await vendor.close()
  }
}

/** Plays every fault with every client, a few at a time. */
export const playVendorClients = (
  clients: readonly VendorClient[],
  onRun: (run: VendorRun) => void,
): Promise<readonly VendorRun[]> =>
  lastValueFrom(
    from(clients).pipe(
      concatMap((client) => from(socketFaults).pipe(mergeMap((fault) => playRun(client, fault), 4))),
      tap(onRun),
      toArray(),
    ),
  )

/** The tables as Markdown, one for each interface: a row for each fault, a column for each client. */
export const vendorTables = (clients: readonly VendorClient[], runs: readonly VendorRun[]): string =>
  clientDialects
    .map((dialect) =>
      vendorTable(
        clients.filter(({ dialects }) => dialects.includes(dialect)),
        runs,
      ),
    )
    .join('\n')

const vendorTable = (clients: readonly VendorClient[], runs: readonly VendorRun[]): string => {
  const cell = (fault: StandInFaultName, client: string): string => {
    const found = runs.find((each) => each.fault === fault && each.client === client)
    if (found === undefined) return '–'
    const { lostMs, words, reported } = found
    const lost = lostMs === 0 && words === wordCount ? 'nothing' : `${lostMs} ms, ${wordCount - words} texts`
    return `**${lost}**; ${reported}`.replaceAll('|', '/')
  }
  const rows = socketFaults.map((fault) => [`\`${fault}\``, ...clients.map(({ name }) => cell(fault, name))])
  const lines = [['Fault', ...clients.map(({ name }) => name)], clients.map(() => '---').concat('---'), ...rows]
  return lines.map((line) => `| ${line.join(' | ')} |\n`).join('')
}

import { cp, mkdir, readFile, writeFile } from 'node:fs/promises'
import { readdirSync, readFileSync } from 'node:fs'
import { getPriority } from 'node:os'
import { join } from 'node:path'
import { Observable } from 'rxjs'
import { beforeAll, describe, expect, it } from 'vitest'
import { SpeechError } from '../../../src/errors/speech-error.js'
import { folderOfTest, temporaryFolder } from '../../../test/temporary-folder.js'
import { first, longIt } from '../../../test/thorough.js'
import type { Engine, EngineKind } from '../../engines/src/engine.js'
import { memoryClients } from '../../server/src/identity/clients/client.js'
import type { LogFields } from '../../server/src/operations/logger.js'
import { callThrough, wordsOf, type Heard } from '../../nats/test/engines/live-fleet.js'
import { startService } from '../src/start/service.js'
import { callModels } from './cli/command.js'
import { noLoadLimits, subscriptionOf } from './plain-service.js'

const capabilities = { sampleRateHz: 8000, partials: true, words: true, kind: 'grammar', segmentsAtOnce: 1 } as const
const engineThat = (recognize: Engine['recognize']): Engine => ({
  capabilities,
  recognize,
  ready: () => Promise.resolve(),
  close: () => Promise.resolve(),
})
const broken = (): SpeechError => new SpeechError('engine-failed', 'The engine is broken.')

/** Challengers that do not work. */
const kinds: readonly EngineKind[] = [
  { name: 'unloadable', open: () => Promise.reject(broken()) },
  { name: 'hanging', open: () => Promise.resolve(engineThat(() => () => new Observable())) },
  {
    name: 'failing',
    open: () => Promise.resolve(engineThat(() => () => new Observable((out) => out.error(broken())))),
  },
]

interface Outcome {
  readonly heard: readonly Heard[]
  readonly metrics: string
  readonly lines: readonly (LogFields & { readonly message: string })[]
}

interface CallWith {
  readonly model?: string
  readonly release: string
  /** How many segments have this outcome before the service ends. */
  readonly until?: Readonly<Record<string, number>>
  readonly speed?: number
}

/** The sample call with a release of its model. */
const callWith = async (
  root: string,
  { model = 'call', release, until = {}, speed = 4 }: CallWith,
): Promise<Outcome> => {
  const releasesFile = join(root, 'releases.yaml')
  await writeFile(releasesFile, `Default/${model}: ${release}`)
  const lines: (LogFields & { readonly message: string })[] = []
  const service = await startService({
    modelFolders: [join(root, 'models')],
    releasesFile,
    engines: kinds,
    clients: memoryClients([await subscriptionOf('client')]),
    limits: { ...noLoadLimits, maxPacePercent: 0 },
    operations: { host: '127.0.0.1', port: 0 },
    logger: { log: (_level, message, fields) => lines.push({ message, ...fields }) },
  })
  const metrics = async (): Promise<string> => (await fetch(`${String(service.operationsUrl)}/metrics`)).text()
  try {
    const heard = await callThrough(service, { speed })
    for (const [outcome, count] of Object.entries(until)) {
      await expect.poll(async () => counted(await metrics(), outcome)).toBeGreaterThanOrEqual(count)
    }
    return { heard, metrics: await metrics(), lines }
  } finally {
    await service.close({ drainMs: 0 })
  }
}

const counted = (metrics: string, name: string): number =>
  [...metrics.matchAll(new RegExp(`^rxspeech_challenger_.*="${name}"} (\\d+)$`, 'gm'))].reduce(
    (sum, [, count]) => sum + Number(count),
    0,
  )

describe('a call whose segments a challenger reads', () => {
  const root = temporaryFolder()
  let without: readonly Heard[]
  beforeAll(async () => {
    await cp(callModels, join(root, 'models'), { recursive: true })
    without = (await callWith(root, { release: "{ version: '1' }" })).heard
  })

  it('has the words and times of one without, and operators see the words that differ', async () => {
    const root = folderOfTest()
    const call = join(root, 'models/Default/call')
    for (const version of ['1', '2'])
      await cp(join(callModels, 'Default/call/1'), join(call, version), { recursive: true })
    const phrases = await readFile(join(call, '2/phrases.txt'), 'utf8')
    await writeFile(join(call, '2/phrases.txt'), phrases.replaceAll('help you', 'help ewe').replaceAll('would', 'wood'))
    const release = "{ version: '1', challenger: { version: '2', percent: 100, places: 100, logsWords: true } }"
    const { heard, metrics, lines } = await callWith(root, { release, until: { compared: without.length } })
    expect(wordsOf(heard)).toEqual(wordsOf(without))
    const said = heard.map(({ text }) => text.trim()).join(' ')
    expect(counted(metrics, 'equal') + counted(metrics, 'substituted')).toBe(said.split(' ').length)
    expect(counted(metrics, 'substituted')).toBe(said.match(/help you|would/g)?.length)
    expect(['inserted', 'deleted', 'dropped', 'failed'].map((name) => counted(metrics, name))).toEqual([0, 0, 0, 0])
    const differences = lines.filter(({ message }) => message === 'A challenger read other words')
    expect(differences.length).toBeGreaterThan(0)
    for (const line of differences) expect(line['differences']).toMatch(/^((you → ewe|would → wood)(, )?)+$/)
    // Only its own engine has read them.
    expect(metrics).not.toContain('rxspeech_engine_channels{model="Default/call/2"}')
  })

  it.each(
    first(1, [
      ['fails', 'failing', { failed: 1 }],
      ['cannot be loaded', 'unloadable', { failed: 1 }],
      ['hangs', 'hanging', {}],
    ]),
  )('does not notice that it %s', async (_how, engine, until) => {
    const root = folderOfTest()
    await cp(callModels, join(root, 'models'), { recursive: true })
    await mkdir(join(root, 'models/Default/call/2'))
    await writeFile(join(root, 'models/Default/call/2/model.json'), JSON.stringify({ engine }))
    const release = "{ version: '1', challenger: { version: '2', percent: 100, places: 1 } }"
    const { heard, metrics, lines } = await callWith(root, { release, until })
    expect(wordsOf(heard)).toEqual(wordsOf(without))
    expect(counted(metrics, 'compared')).toBe(0)
    expect(counted(metrics, 'dropped')).toBeGreaterThan(0)
    expect(metrics).toContain('rxspeech_ready 1')
    expect(lines.filter(({ message }) => message === 'Session ended')).toMatchObject([{ outcome: 'completed' }])
    expect(lines.some(({ message }) => message === 'A challenger failed')).toBe(engine !== 'hanging')
  })

  longIt('may be read by a whisper model, in a process of the lowest priority', async () => {
    const root = folderOfTest()
    const english = 'packages/rxspeech-whisper-tiny-en/models/Default/English'
    const [own = ''] = readdirSync(english)
    for (const version of ['1', '2']) {
      await cp(join(english, own), join(root, 'models/Default/English', version), { recursive: true })
    }
    const release = "{ version: '1', challenger: { version: '2', percent: 100, places: 100 } }"
    let lowest = 0
    const watching = setInterval(() => (lowest = Math.max(lowest, ...childPriorities())), 100)
    const { heard, metrics } = await callWith(root, { model: 'English', release, until: { compared: 4 }, speed: 1 })
    clearInterval(watching)
    expect(heard.length).toBeGreaterThan(4)
    if (process.platform === 'linux') expect(lowest).toBe(19)
    expect(counted(metrics, 'failed')).toBe(0)
    const differ = counted(metrics, 'substituted') + counted(metrics, 'inserted') + counted(metrics, 'deleted')
    expect(counted(metrics, 'equal')).toBeGreaterThan(10 * differ)
  })
})

/** Of the processes that this one has started; none where there is no `/proc`. */
const childPriorities = (): readonly number[] => {
  try {
    const threads = readdirSync('/proc/self/task')
    const children = threads.flatMap((thread) => readFileSync(`/proc/self/task/${thread}/children`, 'utf8').split(' '))
    return children.filter((pid) => pid !== '').map((pid) => getPriority(Number(pid)))
  } catch {
    return []
  }
}

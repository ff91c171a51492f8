import { once } from 'node:events'
import { existsSync, mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { firstValueFrom, Subject, takeUntil } from 'rxjs'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import type { BenchReport } from '../../src/cli/sizing/bench-report.js'
import type { Access } from '../../src/cli/service/access.js'
import { openSession } from '../../src/cli/service/open-session.js'
import { firstLine, start } from './command.js'
import { runInProcess, startInProcess } from './in-process.js'
import { startSleepingRecognizer, type SleepingRecognizer } from './sleeping-recognizer.js'
import { writeCall } from './wav-files.js'
import { temporaryFolder } from '../../../../test/temporary-folder.js'

const readMs = 250
const clientSecret = 'a secret of the long test'

const folder = temporaryFolder()
let recognizer: SleepingRecognizer
const file = (name: string): string => join(folder, name)

beforeAll(async () => {
  recognizer = await startSleepingRecognizer(folder, readMs)
  await writeCall(file('call.wav'), { encoding: 'pcm', sampleRateHz: 8000, channels: 2 }, 10_000)
  const configuration = `# of the test
operations: 127.0.0.1:0
stateFolder: state
models: { folders: [.] }
subscriptions: [{ clientId: tester, secret: { env: TESTER_SECRET } }]
`
  writeFileSync(file('service.yaml'), configuration)
})

afterAll(() => recognizer.close())

const flags = (model: string): readonly string[] => [
  ...['bench', '--models', folder, '--recording', file('call.wav'), '--model', model],
]

/** Sessions with silence that does not end, until `end$`. */
const openCalls = (access: Access, count: number) => {
  const end$ = new Subject<void>()
  const format = { encoding: 'ulaw', sampleRateHz: 8000, channels: 2 } as const
  async function* silence(): AsyncGenerator<Uint8Array, undefined> {
    yield new Uint8Array(3_200).fill(0xff)
    await firstValueFrom(end$, { defaultValue: undefined })
    return undefined
  }
  const outcomes = Array.from({ length: count }, async () => {
    const open = await openSession({ access, over: 'grpc', format, timeoutMs: 30_000, finalize$: end$ })
    return new Promise<string>((resolve) => {
      // Every session stays open until all have an answer.
      open(silence())
        .pipe(takeUntil(end$))
        .subscribe({
          next: (event) => {
            if (event.type !== 'connection') return
            if (event.state === 'streaming') resolve('streaming')
            else if (event.state === 'reconnecting') resolve(event.cause)
          },
          error: (error: unknown) => resolve(String(error)),
        })
    })
  })
  return { outcomes: Promise.all(outcomes), end$ }
}

describe('rxspeech bench, with an engine whose capacity is arithmetic', () => {
  it('finds about as many calls', async () => {
    const run = await runInProcess([
      ...flags('sleeping'),
      ...['--rounds', '1', '--seconds', '15', '--warm-up', '3', '--format', 'json'],
    ])
    expect({ code: run.code, stderr: run.stderr }).toMatchObject({ code: 0 })
    const { capacities, alone, limit } = JSON.parse(run.stdout) as BenchReport
    const theory = 1000 / readMs / alone.resultsPerSecond
    // On a machine that does nothing else it is within a tenth; other tests take most of the time here.
    const [capacity = 0] = capacities
    expect(capacity / theory).toBeGreaterThan(0.3)
    expect(capacity / theory).toBeLessThan(1.15)
    expect(limit).toBe('engine')
  }, 600_000)

  it('writes limits that refuse the next call', async () => {
    const run = await runInProcess([
      ...flags('sleeping'),
      ...[
        '--rounds',
        '1',
        '--seconds',
        '10',
        '--warm-up',
        '2',
        '--max-calls',
        '2',
        '--format',
        'json',
        '--write',
        file('service.yaml'),
      ],
    ])
    expect({ code: run.code, stderr: run.stderr }).toMatchObject({ code: 0 })
    const { calls } = JSON.parse(run.stdout) as BenchReport
    const service = start(['serve', '--config', file('service.yaml')], { env: { TESTER_SECRET: clientSecret } })
    try {
      const { authUrl, grpc } = JSON.parse(await firstLine(service)) as Readonly<Record<'authUrl' | 'grpc', string>>
      const access: Access = {
        grpc,
        isPlaintext: true,
        proxy: false,
        credentials: { type: 'client', authUrl, clientId: 'tester', clientSecret },
        tenant: 'Default',
        project: 'transcribe',
        model: { name: 'sleeping', tenant: 'Default' },
      }
      const { outcomes, end$ } = openCalls(access, (calls ?? 0) + 1)
      const refused = (await outcomes).filter((outcome) => outcome !== 'streaming')
      expect(refused).toEqual([expect.stringMatching(`^overloaded$|The service has ${calls} sessions, its limit`)])
      end$.next()
    } finally {
      service.kill()
      await once(service, 'exit')
    }
  })

  it('says why one call alone fails', async () => {
    const model = join(folder, 'Default/absent/1')
    mkdirSync(model, { recursive: true })
    writeFileSync(join(model, 'model.json'), JSON.stringify({ engine: 'openai', url: 'http://127.0.0.1:1' }))
    const { code, stderr } = await runInProcess([...flags('absent'), '--seconds', '2'])
    expect(stderr).toMatch(/^rxspeech: One call alone failed: engine-failed: /)
    expect(code).toBe(1)
  })

  it('ends with Ctrl-C, and says what is known', async () => {
    const command = startInProcess([
      ...flags('sleeping'),
      '--rounds',
      '1',
      '--seconds',
      '600',
      '--write',
      file('other.yaml'),
    ])
    // The service has read a segment of the call alone.
    const before = recognizer.read()
    await expect.poll(() => recognizer.read()).toBeGreaterThan(before + 1)
    command.kill('SIGINT')
    expect(await command.end).toMatchObject({ code: 130, stdout: '' })
    expect(existsSync(file('other.yaml'))).toBe(false)
  })
})

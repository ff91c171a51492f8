import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import type { BenchReport } from '../../src/cli/sizing/bench-report.js'
import { runInProcess } from './in-process.js'
import { startSleepingRecognizer, type SleepingRecognizer } from './sleeping-recognizer.js'
import { writeCall } from './wav-files.js'
import { longIt } from '../../../../test/thorough.js'
import { temporaryFolder } from '../../../../test/temporary-folder.js'

const [readMs, recordedMs] = [300, 2_000]

const folder = temporaryFolder()
let recognizer: SleepingRecognizer
const file = (name: string): string => join(folder, name)

beforeAll(async () => {
  recognizer = await startSleepingRecognizer(folder, readMs)
  await writeCall(file('call.wav'), { encoding: 'pcm', sampleRateHz: 8000, channels: 1 }, recordedMs)
})

afterAll(() => recognizer.close())

const flags = (): readonly string[] => [
  ...['bench', '--models', folder, '--recording', file('call.wav')],
  ...['--model', 'sleeping'],
]

describe('rxspeech bench', () => {
  longIt('measures a call alone and as many as permitted, and writes their number as a limit', async () => {
    writeFileSync(file('service.yaml'), 'limits:\n  sessions: 150 # a guess\n')
    const run = await runInProcess([
      ...flags(),
      ...['--rounds', '1', '--seconds', '2', '--warm-up', '1', '--max-calls', '1'],
      ...['--format', 'json', '--write', file('service.yaml')],
    ])
    expect(run.stderr).toMatch(/round 1: 1 call: carried, p95 \d\.\d\d s of \d+ results?\n/)
    expect(run.code).toBe(0)
    const report = JSON.parse(run.stdout) as BenchReport
    expect(report).toMatchObject({
      model: 'Default/sleeping/1',
      engine: 'openai',
      over: 'grpc',
      calls: 1,
      capacities: [1],
      isComplete: true,
      isAtMaximum: true,
      limit: null,
      recording: { channels: 1, encoding: 'pcm', sampleRateHz: 8000, durationMs: recordedMs },
    })
    // A segment takes as long as the server sleeps, and the way there.
    expect(report.alone.p50Ms).toBeGreaterThan(readMs)
    expect(report.perCall.cpu).toBeGreaterThan(0)
    expect(readFileSync(file('service.yaml'), 'utf8')).toBe('limits:\n  sessions: 1 # a guess\n')
  })

  it.each([
    [['--target-p95', '1'], '--target-p95 must be a time from 50ms to 60s, such as 1s or 500ms, not "1".'],
    [['--channels', '2'], 'call.wav has one channel; leave --channels out, or pass a recording of two.'],
    [['--model', 'none'], 'There is no model "none"'],
    [['--workers', '2', '--url', 'wss://x', '--model', 'm', '--token', 't'], '--workers is for the service that this'],
  ])('refuses %j', async (wrong, sentence) => {
    const { code, stderr } = await runInProcess([...flags().slice(0, wrong.includes('--url') ? 1 : 5), ...wrong])
    expect(stderr).toContain(sentence)
    expect(code).toBe(2)
  })

  it('refuses to write into what is no configuration, before it measures', async () => {
    writeFileSync(file('wrong.yaml'), 'limits:\n  sesions: 3\n')
    const { code, stderr } = await runInProcess([...flags(), '--write', file('wrong.yaml')])
    expect(stderr).toMatch(/wrong\.yaml, which is no configuration of a service, at line 2: limits\.sesions/)
    expect(code).toBe(2)
  })
})

import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest'
import { doctorFlags, planDoctor } from '../../../src/cli/commands/doctor.js'
import { expiryFinding } from '../../../src/cli/doctor/certificates.js'
import { ok, runChecks, warning, wrong, type Check, type NamedFinding } from '../../../src/cli/doctor/check.js'
import { findingsSummary, findingText } from '../../../src/cli/doctor/findings-view.js'
import { nodeCheck, proxyCheck } from '../../../src/cli/doctor/machine-checks.js'
import { isAtLeast, outdatedNode } from '../../../src/cli/process/node-lines.js'
import { lifeText, skewFinding } from '../../../src/cli/doctor/service-checks.js'
import { readFlags, type TypedFlags } from '../../../src/cli/parsing/flags.js'
import { SpeechError } from '../../../../../src/errors/speech-error.js'
import {
  createCertificateKeys,
  signCertificate,
} from '../../../../server/src/identity/keys/development-certificates.js'

const never = new AbortController().signal
const collect = async (checks: readonly Check[], signal: AbortSignal = never): Promise<readonly NamedFinding[]> => {
  const findings: NamedFinding[] = []
  for await (const found of runChecks(checks, { limitMs: 1000, signal, begins: () => undefined }))
    findings.push(...found)
  return findings
}

describe('the checks of rxspeech doctor', () => {
  beforeEach(() => void vi.useFakeTimers())
  afterEach(() => void vi.useRealTimers())

  it('show the life of a token, also one that the endpoint does not say', () => {
    const day = 86_400_000
    expect([365 * day, day, 90_000, Infinity].map(lifeText)).toEqual([
      '365 days',
      '24 hours',
      '90 s',
      'an unknown time',
    ])
  })

  it('run one after the other, and a failure is a finding', async () => {
    const running: string[] = []
    const check = (name: string, run: Check['run']): Check => ({
      name,
      run: async (signal) => {
        running.push(name)
        return run(signal)
      },
    })
    const findings = await collect([
      check('one', () => Promise.resolve([ok('a'), warning('b', 'c')])),
      check('two', () => Promise.reject(new SpeechError('connection-failed', 'Nothing listens there.'))),
      check('three', () => Promise.resolve(ok('d'))),
    ])
    expect(running).toEqual(['one', 'two', 'three'])
    expect(findings).toEqual([
      { check: 'one', status: 'ok', message: 'a' },
      { check: 'one', status: 'warning', message: 'b', remedy: 'c' },
      { check: 'two', status: 'wrong', message: 'Nothing listens there.' },
      { check: 'three', status: 'ok', message: 'd' },
    ])
    expect(vi.getTimerCount()).toBe(0)
  })

  it('have a limit each, after which they are ended', async () => {
    const ended: string[] = []
    const hanging = (name: string, limitMs?: number): Check => ({
      name,
      limitMs,
      run: (signal) => {
        signal.addEventListener('abort', () => ended.push(name))
        return new Promise(() => undefined)
      },
    })
    const collected = collect([
      hanging('slow', 5000),
      hanging('dead'),
      { name: 'next', run: () => Promise.resolve(ok('e')) },
    ])
    await vi.advanceTimersByTimeAsync(4999)
    expect(ended).toEqual([])
    await vi.advanceTimersByTimeAsync(1)
    expect(ended).toEqual(['slow'])
    await vi.advanceTimersByTimeAsync(1000)
    expect((await collected).map(({ check, message }) => `${check}: ${message}`)).toEqual([
      'slow: No answer within 5 s.',
      'dead: No answer within 1 s.',
      'next: e',
    ])
    expect(ended).toEqual(['slow', 'dead'])
  })

  it('end all at an interruption, the running one too', async () => {
    const interruption = new AbortController()
    let isEnded = false
    const run = (signal: AbortSignal): Promise<never> => {
      signal.addEventListener('abort', () => (isEnded = true))
      interruption.abort(new Error('ended by a signal'))
      return new Promise(() => undefined)
    }
    const later = vi.fn()
    const collected = collect(
      [
        { name: 'one', run },
        { name: 'two', run: later },
      ],
      interruption.signal,
    )
    await expect(collected).rejects.toThrow('ended by a signal')
    expect(isEnded).toBe(true)
    expect(later).not.toHaveBeenCalled()
    expect(vi.getTimerCount()).toBe(0)
  })
})

describe('a finding', () => {
  const finding = {
    check: 'gRPC',
    ...wrong('Nothing listens at\u001b[2J host:1.', 'Start the service, or correct the address.'),
  }
  const paint = (color: string, text: string): string => `<${color}>${text}`

  it('is a line with what to do, without control sequences', () => {
    expect(findingText(finding, { paint })).toBe(
      '<red>wrong    gRPC                Nothing listens at [2J host:1. Start the service, or correct the address.\n',
    )
    expect(findingText({ check: 'a', ...ok('b') }, { paint })).toBe('<green>ok       a                   b\n')
  })

  it.each([80, 60, 40])('fits in %i columns', (columns) => {
    const lines = findingText(finding, { paint: (_color, text) => text, columns }).split('\n')
    expect(lines.filter((line) => line.length > columns)).toEqual([])
    expect(lines.join(' ').replace(/ +/g, ' ')).toContain('host:1. Start the service, or correct the address.')
  })

  it('is counted', () => {
    expect(findingsSummary([finding, { ...finding, status: 'warning' }, { ...finding, status: 'ok' }])).toBe(
      '1 ok, 1 warning, 1 wrong\n',
    )
  })
})

describe('versions', () => {
  it('of Node that get no security fixes are named in one sentence', () => {
    const named = 'is out of support: it gets no security fixes any more'
    expect(outdatedNode('20.20.2')).toBe(`Node 20.20.2 ${named}. Use Node 24 or 26.`)
    expect(outdatedNode('20.19.6')).toBe(`Node 20.19.6 ${named} and lacks those of 20.20.2. Use Node 24 or 26.`)
    expect(['21.7.0', '23.11.0', '25.9.0'].filter((version) => outdatedNode(version) === undefined)).toEqual([])
    expect(['22.13.0', '24.0.0', '26.12.1', '27.0.0'].map(outdatedNode)).toEqual(Array(4).fill(undefined))
  })

  it('are compared number by number', () => {
    expect(['v20.19.0', '20.20.2', '22.0.0'].map((version) => isAtLeast(version, '20.19'))).toEqual([true, true, true])
    expect(['20.9.0', '20.18.9', '9.99.9'].map((version) => isAtLeast(version, '20.19'))).toEqual([false, false, false])
  })

  it('of Node that are too old are wrong', async () => {
    expect(await nodeCheck('18.20.0').run(never)).toMatchObject({
      status: 'wrong',
      remedy: 'Install Node 20.19 or newer.',
    })
    expect(await nodeCheck('22.1.0').run(never)).toMatchObject({ status: 'ok' })
    expect(await nodeCheck('20.20.2').run(never)).toMatchObject([{ status: 'ok' }, { status: 'warning' }])
  })
})

describe('the clock', () => {
  const date = 'Mon, 02 Mar 2026 10:00:00 GMT'
  const dateMs = Date.parse(date)

  it.each([
    [0, 0, 'ok', 'like that'],
    // The second of the date has passed, or the answer took long.
    [999, 1500, 'ok', 'like that'],
    [-30_000, 20, 'ok', 'like that'],
    [7000, 7100, 'warning', '6 s ahead'],
    [-7100, -7000, 'warning', '7 s behind'],
    [62_000, 62_000, 'wrong', '61 s ahead'],
    [-3_600_000, -3_600_000, 'wrong', '3600 s behind'],
  ])('that sent at %i and received at %i ms is %s', (sentMs, receivedMs, status, text) => {
    const finding = skewFinding(date, dateMs + sentMs, dateMs + receivedMs)
    expect(finding.status).toBe(status)
    expect(finding.message).toContain(text)
  })

  it('is unknown with a malformed date', () => expect(skewFinding('soon', 0, 0).status).toBe('warning'))
})

describe('a certificate', () => {
  const nowMs = Date.parse('2026-03-02T10:00:00Z')
  const dayMs = 86_400_000

  it.each([
    [-10, 100, 'ok', 'until 2026-06-10'],
    [-10, 13.5, 'warning', 'expires in 13 days'],
    [-10, -0.01, 'wrong', 'has expired on 2026-03-02'],
    [1, 100, 'wrong', 'is valid only from'],
  ])('from day %d to day %d is %s', async (from, to, status, text) => {
    const keys = await createCertificateKeys()
    const pem = await signCertificate({
      commonName: 'test',
      publicKey: keys.publicKey,
      issuer: { commonName: 'test', keys },
      notBeforeMs: nowMs + from * dayMs,
      notAfterMs: nowMs + to * dayMs,
      use: { type: 'server', names: ['speech.example.com'], addresses: ['192.0.2.1'] },
    })
    const finding = expiryFinding(pem, nowMs)
    expect(finding.status).toBe(status)
    expect(finding.message).toContain('speech.example.com, 192.0.2.1')
    expect(finding.message).toContain(text)
  })
})

describe('the proxy', () => {
  afterEach(() => void vi.unstubAllEnvs())

  it('is shown without its password, and a malformed one is wrong', async () => {
    vi.stubEnv('HTTPS_PROXY', 'http://user:hunter2@proxy.example.com:3128')
    vi.stubEnv('NO_PROXY', '')
    const found = await proxyCheck(undefined, process.env).run(never)
    expect(found).toEqual(ok('proxy.example.com:3128, by HTTPS_PROXY'))
    vi.stubEnv('HTTPS_PROXY', 'ftp://user:hunter2@proxy.example.com')
    const malformed = await proxyCheck(undefined, process.env).run(never)
    expect(malformed).toMatchObject({ status: 'wrong' })
    expect(JSON.stringify(malformed)).not.toContain('hunter2')
    expect(await proxyCheck(false, process.env).run(never)).toMatchObject({ status: 'ok' })
  })
})

describe('planDoctor', () => {
  const plan = (addresses: readonly string[], typed: TypedFlags = {}, env = {}) =>
    planDoctor(addresses, readFlags(doctorFlags, typed), env)

  it('tells addresses by their schemes', () => {
    const token = { RXSPEECH_TOKEN: 'secret' }
    expect(plan([]).target).toBeUndefined()
    const { target } = plan(['wss://h', 'h:443', 'https://auth.h'], { model: 'm' }, token)
    expect(target).toMatchObject({ url: 'wss://h', grpc: 'h:443', authUrl: 'https://auth.h' })
    expect(target?.access).toMatchObject({ credentials: { type: 'token' }, model: { name: 'm' } })
  })

  it('finds missing credentials instead of refusing', () => {
    expect(plan(['h:443']).target?.access).toMatchObject({
      status: 'wrong',
      message: expect.stringContaining('RXSPEECH_TOKEN') as unknown,
    })
    expect(plan(['https://auth.h']).target?.access).toMatchObject({ status: 'warning' })
  })

  it.each<[readonly string[], TypedFlags, RegExp]>([
    [['h:1', 'i:1'], {}, /Two addresses of one kind/],
    [['h:1'], { grpc: 'i:1' }, /Two addresses of one kind/],
    [['ws://example.com'], {}, /ADDRESS must begin with wss/],
    [['user@h'], {}, /ADDRESS must be HOST:PORT/],
    [['h:1'], { config: 'a.yaml' }, /--config is for this machine/],
    [['h:1'], { models: ['m'] }, /--models is for this machine/],
    [[], { timeoutMs: '0' }, /--timeout-ms/],
  ])('refuses %j with %j', (addresses, typed, sentence) => {
    expect(() => plan(addresses, typed)).toThrow(sentence)
  })
})

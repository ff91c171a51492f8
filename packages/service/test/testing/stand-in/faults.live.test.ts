import { describe, expect, it } from 'vitest'
import { isSpeechError } from '../../../../../src/errors/speech-error.js'
import { standInFaults, type StandInFaultName, type StandInFaults } from '../../../src/testing/stand-in/faults.js'
import { standIn, type StandIn, type StandInOptions } from '../../../src/testing/stand-in/stand-in.js'
import { closedAfterEach } from './started.js'
import { transcribe } from './post-recording.js'
import { listenPath, openListen, openSocket, sendAll, speech, type SeenBySocket } from './raw-client.js'

const startStandIn = closedAfterEach()
const start = (options: Partial<StandInOptions>): Promise<StandIn> =>
  startStandIn({ dialect: ['deepgram', 'openai'], script: ['one', 'two', 'three', 'four'], ...options })

const closeStream = { type: 'CloseStream' }
const perfect = ['open', 'final one', 'final two', 'final three', 'final four', 'Metadata', 'closed 1000']

/** The first 2 s of a session of 3 s. The fault comes at their end, when nothing else is on its way. */
const session = async (faults: StandInFaults): Promise<{ readonly client: SeenBySocket; readonly vendor: StandIn }> => {
  const vendor = await start({ faults })
  const client = await openListen(vendor)
  sendAll(client, speech(1_900))
  await client.until('final two')
  sendAll(client, speech(100))
  return { client, vendor }
}

const rest = (client: SeenBySocket): void => {
  sendAll(client, [...speech(1_000), closeStream])
}

/** What the client sees of each fault that concerns a socket. */
const seen: Readonly<
  Record<
    Exclude<
      StandInFaultName,
      | 'half-open'
      | 'slow-reader'
      | 'late-final'
      | 'silent-finalize'
      | 'rate-limited'
      | 'unauthorized'
      | 'truncated-answer'
    >,
    readonly string[]
  >
> = {
  drop: ['open', 'final one', 'final two', 'closed 1006'],
  'close-1011': ['open', 'final one', 'final two', 'closed 1011'],
  'close-without-code': ['open', 'final one', 'final two', 'closed 1005'],
  'malformed-message': [...perfect.slice(0, 3), 'broken {"type": "Results", "channel": ', ...perfect.slice(3)],
  'duplicate-final': ['open', 'final one', ...perfect.slice(1)],
  'out-of-order': ['open', 'final two', 'final one', ...perfect.slice(3)],
}

describe('the faults of a stand-in', () => {
  it.each(Object.entries(seen))('%s', async (name, expected) => {
    const { client, vendor } = await session(name as StandInFaultName)
    const last = expected.at(-1) ?? ''
    if (last === 'closed 1000') rest(client)
    await client.until(last)
    expect(client.log.filter((entry) => !entry.startsWith('error'))).toEqual(expected)
    expect(vendor.applied).toHaveLength(1)
  })

  it('half-open: reads and answers nothing more, and the socket stays open', async () => {
    const { client, vendor } = await session('half-open')
    await expect.poll(() => vendor.applied.length).toBe(1)
    rest(client)
    vendor.apply({ do: 'reset' })
    await client.until('closed 1006')
    expect(client.log.slice(0, 3)).toEqual(['open', 'final one', 'final two'])
    expect(vendor.sessions[0]?.audio.samples).toBe(16_000)
  })

  it('slow-reader: reads on later, and loses nothing', async () => {
    const { client, vendor } = await session([
      { at: { when: 'audio', ms: 2_000 }, fault: { do: 'stall', direction: 'to-service' } },
    ])
    await expect.poll(() => vendor.applied.length).toBe(1)
    rest(client)
    expect(vendor.sessions[0]?.audio.samples).toBe(16_000)
    vendor.apply({ do: 'restore' })
    await client.until('closed 1000')
    expect(client.log).toEqual(perfect)
    expect(vendor.sessions[0]?.audio.samples).toBe(24_000)
  })

  it('silent-finalize: answers no Finalize and no end of the audio, until it is restored', async () => {
    const { client, vendor } = await session('silent-finalize')
    sendAll(client, [{ type: 'Finalize' }])
    await expect.poll(() => vendor.sessions[0]?.audio.finalizes.length).toBe(1)
    expect(client.log).toEqual(['open', 'final one', 'final two'])
  })

  it('late-final: sends what is final later, after the delay', async () => {
    const { client, vendor } = await session([
      { at: { when: 'signal', name: 'finalizing' }, fault: { do: 'late-final', delayMs: 150 } },
    ])
    const beganMs = performance.now()
    rest(client)
    await client.until('closed 1000')
    expect(performance.now() - beganMs).toBeGreaterThan(140)
    expect(client.log).toEqual(perfect)
    expect(vendor.applied).toMatchObject([{ fault: { do: 'late-final' } }])
  })

  it('rate-limited: refuses the first requests with the wait, in the form of the dialect, and then serves', async () => {
    const vendor = await start({ faults: 'rate-limited' })
    const refused = await transcribe(vendor)
    expect([refused.status, refused.headers.get('retry-after')]).toEqual([429, '1'])
    expect(await refused.json()).toMatchObject({ error: { type: 'rate_limit_error', code: 'overloaded' } })
    const socket = openSocket(vendor, listenPath)
    await socket.until('closed 1006')
    expect(socket.log[0]).toBe('error Unexpected server response: 429')
    expect((await transcribe(vendor)).status).toBe(200)
    expect(vendor.sessions.map(({ isAccepted }) => isAccepted)).toEqual([false, false, true])
  })

  it('unauthorized: refuses every request', async () => {
    const vendor = await start({ faults: 'unauthorized' })
    expect([(await transcribe(vendor)).status, (await transcribe(vendor)).status]).toEqual([401, 401])
  })

  it('truncated-answer: ends an answer in the middle, also one of events', async () => {
    const vendor = await start({ faults: 'truncated-answer' })
    await expect(transcribe(vendor).then((answer) => answer.text())).rejects.toThrow('terminated')
    expect((await transcribe(vendor)).status).toBe(200)
    vendor.apply({ do: 'truncate' })
    const events = await transcribe(vendor, { stream: 'true' })
    await expect(events.text()).rejects.toThrow('terminated')
  })

  it('applies the faults of connections that count bytes, and messages twice', async () => {
    const vendor = await start({
      faults: [
        { at: { when: 'bytes', direction: 'to-service', count: 20_000 }, fault: { do: 'reset' } },
        {
          at: { when: 'messages', direction: 'to-client', count: 1 },
          fault: { do: 'duplicate', direction: 'to-client' },
        },
      ],
    })
    const client = await openListen(vendor)
    sendAll(client, speech(2_000))
    await client.until('closed 1006')
    expect(vendor.sessions[0]?.audio.samples).toBeLessThan(10_000)
  })

  it('says what is wrong with a script', async () => {
    const refusal = (faults: unknown): Promise<string> =>
      standIn({ dialect: 'openai', faults: faults as StandInFaults }).then(
        () => 'started',
        (error: unknown) => (isSpeechError(error) ? error.message : 'junk'),
      )
    expect(await refusal('dropp')).toMatch(/^The fault must be "drop", "half-open", /)
    expect(await refusal(['drop', { at: { when: 'audio' }, fault: { do: 'reset' } }])).toMatch(
      /at\.ms must be a number/,
    )
    expect(await refusal({ at: { when: 'elapsed', ms: 0 }, fault: { do: 'clos' } })).toMatch(/do must be "reset"/)
    expect(await refusal({ at: { when: 'elapsed', ms: 0 }, fault: { do: 'duplicate', direction: 'to-service' } })).toBe(
      'A stand-in duplicates only messages to-client.',
    )
    const vendor = await start({})
    expect(() => vendor.apply({ do: 'reset' })).toThrow(
      'reset is a fault of connections; start the stand-in with faults',
    )
  })

  it('has a summary for each name, and a script that is valid', () => {
    for (const { summary, script } of Object.values(standInFaults)) {
      expect(summary).toMatch(/^[a-z].*[^.]$/)
      expect(script.length).toBeGreaterThan(0)
    }
  })
})

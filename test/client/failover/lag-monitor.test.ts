import { of } from 'rxjs'
import { describe, expect, it } from 'vitest'
import { LagMonitor } from '../../../src/client/failover/lag-monitor.js'
import type { WireProtocol } from '../../../src/client/protocol.js'
import type { SessionEvent } from '../../../src/protocol/session-event.js'
import type { Dial, Link } from '../../../src/transport/link.js'
import { audio, format } from '../virtual-session.js'

/** A protocol whose messages are their events. */
const protocol: WireProtocol<SessionEvent, Uint8Array> = {
  start: () => audio(0),
  audio: (bytes) => bytes,
  finalize: () => audio(0),
  stop: () => audio(0),
  read: (event) => ({ event }),
  text: () => '',
}

const measured = () => {
  const clock = { atMs: 0, now: () => clock.atMs }
  const monitor = new LagMonitor(format, clock)
  const link: { isCongested: boolean } & Partial<Link<SessionEvent, Uint8Array>> = { isCongested: false }
  const dial = (): Dial<SessionEvent, Uint8Array> => of(link as Link<SessionEvent, Uint8Array>)
  const opening = monitor.measure({ dial, protocol })
  opening.dial().subscribe()
  opening.protocol.start('')
  return {
    clock,
    link,
    monitor,
    start: () => opening.protocol.start(''),
    /** Audio of 20 ms every 20 ms. */
    speak: (untilMs: number) => {
      for (; clock.atMs < untilMs; clock.atMs += 20) opening.protocol.audio(audio(20))
    },
    send: (durationMs: number) => void opening.protocol.audio(audio(durationMs)),
    read: (event: SessionEvent) => void opening.protocol.read(event),
  }
}

const milestone = (endMs: number, channel?: number): SessionEvent => ({
  type: 'milestone',
  text: 'x',
  endMs,
  ...(channel === undefined ? {} : { channel }),
})

describe('the lag of results', () => {
  it('is the time from when audio was sent to when a result covers it', () => {
    const { speak, read, monitor, clock } = measured()
    speak(3_000)
    read(milestone(2_500))
    expect(monitor.lagMs).toBeGreaterThanOrEqual(400)
    expect(monitor.lagMs).toBeLessThanOrEqual(520)
    clock.atMs = 9_000
    read(milestone(2_900))
    expect(monitor.lagMs).toBeGreaterThan(6_000)
    // The next audio, after a pause of the source.
    speak(9_020)
    read({ type: 'partial', text: 'y', endMs: 3_020 })
    expect(monitor.lagMs).toBe(20)
  })

  it('counts audio that was sent ahead as sent at the speed that services read at', () => {
    const { send, read, monitor, clock } = measured()
    send(10_000)
    clock.atMs = 8_000
    read(milestone(10_000))
    expect(monitor.lagMs).toBe(0)
    const other = measured()
    other.send(10_000)
    other.clock.atMs = 9_500
    other.read(milestone(10_000))
    expect(other.monitor.lagMs).toBe(1_500)
  })

  it('is measured for each channel', () => {
    const { speak, read, monitor } = measured()
    speak(5_000)
    read(milestone(4_900, 0))
    read(milestone(1_000, 1))
    expect(monitor.lagMs).toBeGreaterThan(3_800)
  })

  it('begins again with a recognition on the same connection', () => {
    const { speak, read, monitor, start, clock } = measured()
    speak(1_000)
    clock.atMs = 9_000
    read(milestone(900))
    expect(monitor.lagMs).toBeGreaterThan(7_000)
    start()
    expect(monitor.lagMs).toBe(0)
  })

  it('is as long as the link is congested', () => {
    const { monitor, link, clock } = measured()
    link.isCongested = true
    expect(monitor.lagMs).toBe(0)
    clock.atMs = 4_000
    expect(monitor.lagMs).toBe(4_000)
    link.isCongested = false
    expect(monitor.lagMs).toBe(0)
    link.isCongested = true
    expect(monitor.lagMs).toBe(0)
  })

  it('knows nothing of results without times, and stays exact for a minute of audio only', () => {
    const { speak, read, monitor } = measured()
    speak(120_000)
    read({ type: 'milestone', text: 'x' })
    expect(monitor.lagMs).toBe(0)
    read(milestone(1_000))
    // Audio of the first minute counts as sent with the oldest that is remembered.
    expect(monitor.lagMs).toBeGreaterThan(59_000)
    expect(monitor.lagMs).toBeLessThan(61_000)
  })
})

describe('open speech', () => {
  const event = (name: string): SessionEvent => ({
    type: 'event',
    name,
    channel: 0,
    startMs: 0,
    endMs: 20,
    tags: [],
    data: null,
  })

  it.each<[string, readonly SessionEvent[], boolean]>([
    ['a partial', [{ type: 'partial', text: 'x' }], true],
    ['the start of speech', [event('Speech Started')], true],
    ['a milestone', [{ type: 'partial', text: 'x' }, milestone(10)], false],
    ['the end of speech', [event('Speech Started'), event('Speech Ended')], false],
    ['silence', [event('Speech Started'), event('SR Silence')], false],
    ['another event', [{ type: 'partial', text: 'x' }, event('DTMF')], true],
  ])('after %s', (_name, events, isOpen) => {
    const { read, monitor } = measured()
    events.forEach(read)
    expect(monitor.isSpeechOpen).toBe(isOpen)
  })
})

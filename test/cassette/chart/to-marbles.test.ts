import { XMLParser } from './xml.js'
import { timestamp, toArray, type Timestamp } from 'rxjs'
import { describe, expect, it } from 'vitest'
import { parseCassette } from '../../../src/cassette/format/read-cassette.js'
import { chartOfEvents } from '../../../src/cassette/chart/session-charts.js'
import { toMarbles } from '../../../src/cassette/chart/to-marbles.js'
import type { SessionEvent } from '../../../src/protocol/session-event.js'
import { marbles } from '../../operators/marbles.js'
import { header, line } from '../cassette-lines.js'

const name = (text: string, fields: object = {}): { readonly text: string } => ({
  text: JSON.stringify({ 'message-name': text, ...fields }),
})
const ok = { 'operation-result': 'Success' }
const second = { bytes: 16_000, base64: Buffer.alloc(16_000).toString('base64') }
const evil = '</text><script>alert("1")</script>&\u001b[31m\u0000'

const cassette = parseCassette([
  header('websocket'),
  line(0, 'dial'),
  line(500, 'open'),
  line(500, 'sent', name('recognize')),
  line(1000, 'received', name('recognize-response', ok)),
  ...[1000, 2000, 3000].map((atMs) => line(atMs, 'sent', second)),
  line(3500, 'received', name('partial-result', { text: 'hel' })),
  line(3500, 'received', name('partial-result', { text: 'hello' })),
  line(4000, 'received', name('milestone-result', { text: 'hello', 'start-msec': '1000', 'end-msec': '2500' })),
  line(5000, 'received', name('milestone-result', { text: evil })),
  line(6000, 'received', name('final-result', { ...ok, text: 'hello' })),
  line(8000, 'ended', { code: 'going-away', message: 'Soon.' }),
  line(9000, 'dial', { connection: 2 }),
  line(10_000, 'dial-failed', { connection: 2, code: 'connection-failed' }),
])

describe('toMarbles', () => {
  it('draws rows above an axis, and lists the messages', () => {
    expect(toMarbles(cassette, { width: 60 })).toBe(
      `WebSocket · pcm 8000 Hz mono · 2026-01-31 12:00:00 UTC

               0 s      2 s      4 s     6 s      8 s
               ┬────────┬────────┬───────┬────────┬────────┬
connection     ┄┄━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━6    ┄┄┄┄7
control        ──1─2────────────────────────────────────────
audio              █    █   █
speech             ━━━━━━━━━━
partials       ───────────────O─────────────────────────────
milestones     ──────────────────3───4──────────────────────
finals         ──────────────────────────5──────────────────

 1    0.500 s  control    → recognize
 2     1.00 s  control    ← recognize: Success
 3     4.00 s  milestones ← hello
 4     5.00 s  milestones ← </text><script>alert("1")</scri…
 5     6.00 s  finals     ← hello
 6     8.00 s  connection ! going-away
 7    10.00 s  connection ! connection-failed`,
    )
  })

  it.each([
    [{ width: 59 }, 'width must be a whole number from 60 to 400, not 59.'],
    [{ width: 401 }, 'width must be a whole number from 60 to 400, not 401.'],
    [{ width: 100.5 }, 'width must be a whole number from 60 to 400, not 100.5.'],
    [{ as: 'svg', width: 479 }, 'width must be a whole number from 480 to 10000, not 479.'],
    [{ as: 'svg', width: 10_001 }, 'width must be a whole number from 480 to 10000, not 10001.'],
  ] as const)('refuses a width out of range: %j', (options, message) => {
    expect(() => toMarbles(cassette, options)).toThrow(expect.objectContaining({ code: 'invalid-options', message }))
  })

  it('draws the events of a long session in time that grows with their number', () => {
    const count = 20_000
    const events = Array.from({ length: count }, (_, at): readonly Timestamp<SessionEvent>[] => [
      { timestamp: at, value: { type: 'ledger', sentMs: at } as SessionEvent },
      { timestamp: at, value: { type: 'milestone', text: 'a', startMs: at, endMs: at } },
    ]).flat()
    const before = process.cpuUsage()
    const { rows } = chartOfEvents(events)
    expect(rows.find(({ kind }) => kind === 'speech')?.bars).toHaveLength(count)
    expect(process.cpuUsage(before).user).toBeLessThan(500_000)
  })

  it.each([60, 80, 120, 400])('uses at most %i columns', (width) => {
    const lines = toMarbles(cassette, { width }).split('\n')
    expect(lines.filter((line) => Array.from(line).length > width)).toEqual([])
  })

  it('draws an SVG that is well-formed, escaped, and loads nothing', () => {
    const svg = toMarbles(cassette, { as: 'svg' })
    expect(() => new XMLParser(svg).read()).not.toThrow()
    expect(svg).not.toContain('<script')
    expect(svg).not.toContain('\u0000')
    expect(svg).toContain('&#60;script&#62;')
    expect(svg.replace('http://www.w3.org/2000/svg', '')).not.toMatch(/https?:|url\(|href|@import|onload/)
    expect(svg).toContain('prefers-color-scheme: dark')
    // Two partials without a number; seven marbles with a number, in the diagram and in the list.
    expect(svg.match(/class="marble small"/g)).toHaveLength(2)
    expect(svg.match(/class="number"/g)).toHaveLength(14)
  })

  it('draws events with their times', () => {
    marbles(({ cold, expectObservable, scheduler, flush }) => {
      const events: Record<string, SessionEvent> = {
        a: { type: 'connection', state: 'connecting' },
        b: { type: 'connection', state: 'streaming' },
        c: { type: 'partial', channel: 0, text: 'hel' },
        d: { type: 'milestone', channel: 0, text: 'hello' },
        g: { type: 'gap', fromMs: 1, toMs: 2, cause: 'buffer-full' },
        z: { type: 'connection', state: 'done' },
      }
      let drawn = ''
      const events$ = cold('a---------b-c-d-g---(z|)', events).pipe(timestamp(scheduler), toArray())
      events$.subscribe((all) => (drawn = toMarbles(all, { width: 60 })))
      expectObservable(events$).toBe('--------------------(x|)', { x: expect.anything() as unknown })
      flush()
      expect(drawn).toContain('connection     ┄┄┄')
      expect(drawn).toMatch(
        / 1 {4}0\.014 s {2}milestones ← hello\n 2 {4}0\.016 s {2}connection ! gap 1–2 ms, buffer-full/,
      )
    })
  })

  it('draws an empty session', () => {
    expect(toMarbles([])).toContain('milestones')
    expect(toMarbles(parseCassette([header('grpc')]), { as: 'svg' })).toContain('</svg>')
  })
})

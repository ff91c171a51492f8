import { defer, map, NEVER, of, Subject, throwError } from 'rxjs'
import { describe, expect, it } from 'vitest'
import { interleaveChannels } from '../../../src/audio/channels.js'
import { SpeechError } from '../../../src/errors/speech-error.js'
import { failover } from '../../../src/client/failover/failover.js'
import { recognize } from '../../../src/client/recognizer/recognize.js'
import { recognizeStereo } from '../../../src/client/recognizer/recognize-stereo.js'
import type { SessionEvent } from '../../../src/protocol/session-event.js'
import { chunkOf } from '../fake-recognition.js'
import { format, plainDataflow, scriptedService, virtually } from '../virtual-session.js'
import {
  lastLedger,
  refused,
  resumption,
  run,
  servicesOf,
  spoken,
  textOf,
  watch,
  wholeLedger,
  wordsOf,
  type Seen,
} from './several-services.js'

const expectWhole = (seen: Seen, count = 100): void => {
  expect(seen.end).toBe('complete')
  expect(textOf(seen)).toBe(wordsOf(count))
  expect(lastLedger(seen)).toMatchObject(wholeLedger(count))
}

const tokens = (token: string, requested: string[]) =>
  defer(() => {
    requested.push(token)
    return of(token)
  })

const transports = ['websocket', 'grpc'] as const
const pairs = transports.flatMap((from) => transports.map((to) => [from, to] as const))

describe.each(pairs)('a session over %s with a second service over %s', (from, to) => {
  it('moves at once when it loses its service, and loses no word', () => {
    virtually((tools) => {
      const { seen, services } = run(tools, [{ over: from, cutAfterChunks: [53] }, { over: to }])
      return () => {
        expectWhole(seen)
        expect(seen.log).toEqual([
          '1 streaming at 0',
          '1060 reconnecting in 0 for connection-lost',
          '1061 streaming at 1',
          '1061 resumed',
        ])
        expect(services.map(({ open }) => open)).toEqual([0, 0])
        expect(tools.clock.pending()).toBe(0)
      }
    })
  })

  it('moves when the service drains', () => {
    virtually((tools) => {
      const cause = new SpeechError('going-away', 'Closing.')
      const { seen } = run(tools, [{ over: from, cutAfterChunks: [53], cause }, { over: to }])
      return () => {
        expectWhole(seen)
        expect(seen.log).toContain('1061 streaming at 1')
      }
    })
  })

  it('moves without a loss when the service announces its end', () => {
    virtually((tools) => {
      const { seen, services } = run(tools, [{ over: from, leavesAtMs: 500 }, { over: to }])
      return () => {
        expectWhole(seen)
        // The next milestone after the connection is open.
        expect(seen.log).toEqual(['1 streaming at 0', '601 streaming at 1', '601 resumed'])
        expect(services[0]?.open).toBe(0)
      }
    })
  })

  it('moves when results are late, as soon as the other connection is open', () => {
    virtually((tools) => {
      const late = { fromMs: 1_000, byMs: 500 }
      const { seen } = run(tools, [{ over: from, late }, { over: to }], { slowMs: 400, count: 200 })
      return () => {
        expectWhole(seen, 200)
        expect(seen.log).toEqual(['1 streaming at 0', '1602 streaming at 1', '1602 resumed'])
      }
    })
  })
})

describe('the first connection', () => {
  it.each([
    ['refuses the connection', { refuses: { with: refused } }, '0 reconnecting in 0 for connection-failed'],
    [
      'is overloaded',
      { refuses: { with: new SpeechError('overloaded', 'Full.', { retryAfterMs: 30_000 }) } },
      '0 reconnecting in 0 for overloaded',
    ],
    ['does not answer in time', { isUnreachable: true }, '10000 reconnecting in 0 for connect-timeout'],
    ['breaks at the start', { cutAt: 'start' as const }, '0 reconnecting in 0 for connection-lost'],
  ])('is made to the next service without a delay if the first %s', (_name, setting, attempt) => {
    virtually((tools) => {
      const { seen, services } = run(tools, [setting, { over: 'grpc' }], { count: 20 })
      return () => {
        expectWhole(seen, 20)
        expect(seen.log[0]).toBe(attempt)
        expect(seen.log[1]).toMatch(/streaming at 1$/)
        expect(services[1]?.dialedAtMs).toEqual([Number(attempt.split(' ')[0])])
      }
    })
  })

  it.each(['unauthenticated', 'model-denied', 'invalid-field'] as const)(
    'is not made to the next service if the first one refuses as %s',
    (code) => {
      virtually((tools) => {
        const { seen, services } = run(tools, [{ refuses: { with: new SpeechError(code, 'No.') } }, {}])
        return () => {
          expect(seen.log).toEqual(['0 failed', `0 error ${code}`])
          expect(services[1]?.dialedAtMs).toEqual([])
        }
      })
    },
  )

  it('is tried at all services in turn, with a delay after each round, until the budget is used up', () => {
    virtually((tools) => {
      const down = { refuses: { with: refused } }
      const { seen, services } = run(tools, [down, down, down], { resumption: { budgetMs: 1_000 } })
      return () => {
        // Half of 100, 200 and 400 ms, by the jitter of the test.
        expect(services.map(({ dialedAtMs }) => dialedAtMs)).toEqual([
          [0, 50, 150, 350, 750],
          [0, 50, 150, 350, 750],
          [0, 50, 150, 350, 750],
        ])
        expect(seen.end).toBe('connection-failed')
      }
    })
  })

  it('waits after all have failed for the one that is ready first', () => {
    virtually((tools) => {
      const overloaded = (retryAfterMs: number) => ({
        refuses: { with: new SpeechError('overloaded', 'Full.', { retryAfterMs }), untilMs: 1 },
      })
      const { seen, services } = run(tools, [overloaded(5_000), overloaded(3_000)], { count: 20 })
      return () => {
        expectWhole(seen, 20)
        expect(services.map(({ dialedAtMs }) => dialedAtMs[1])).toEqual([undefined, 3_000])
      }
    })
  })
})

describe('a session that is on its second service', () => {
  it('stays there when the first one is back, which the next session begins with', () => {
    virtually((tools) => {
      const settings = [{ cutAfterChunks: [5], outageMs: 1_000 }, {}]
      const { seen, recognition, services } = run(tools, settings, { count: 200 })
      let next: Seen | undefined
      tools.clock.schedule(() => (next = watch(tools, spoken(tools, 10).pipe(recognition))), 3_900)
      return () => {
        expectWhole(seen, 200)
        expect(seen.log.filter((line) => line.includes('streaming'))).toEqual([
          '1 streaming at 0',
          '101 streaming at 1',
        ])
        expect(next?.log[0]).toBe('1 streaming at 0')
        // No audio was sent by the probes.
        expect(services[0]?.proof.arrived.slice(1, -1).flat()).toEqual([])
      }
    })
  })

  it('probes the lost service with backoff and without audio, until it answers', () => {
    virtually((tools) => {
      const { seen, services } = run(tools, [{ cutAfterChunks: [5], outageMs: 1_000 }, {}], { count: 200 })
      return () => {
        expectWhole(seen, 200)
        // From 100 ms on after half of 100, 200, 400, 800 and 1600 ms; the last one is answered.
        expect(services[0]?.dialedAtMs).toEqual([0, 150, 250, 450, 850, 1_650])
        expect(services[0]?.proof.arrived.map((chunks) => chunks.length)).toEqual([5, 0])
        expect(services[0]?.open).toBe(0)
      }
    })
  })

  it('loses that one, too, and returns to the first at once', () => {
    virtually((tools) => {
      const { seen } = run(tools, [{ cutAfterChunks: [20] }, { cutAfterChunks: [30] }])
      return () => {
        expectWhole(seen)
        expect(seen.log.filter((line) => line.includes('streaming'))).toHaveLength(3)
        expect(seen.log.filter((line) => line.includes('reconnecting'))).toEqual([
          '400 reconnecting in 0 for connection-lost',
          expect.stringMatching(/ reconnecting in 0 for connection-lost$/),
        ])
      }
    })
  })

  it('keeps its place in the queue of attempts if services accept sessions and drop them', () => {
    virtually((tools) => {
      const drops = { cutAfterChunks: Array.from({ length: 100 }, () => 1) }
      const { seen, services } = run(tools, [drops, drops], { resumption: { budgetMs: 2_000 } })
      return () => {
        expect(seen.end).toBe('connection-lost')
        // Without a delay between rounds there would be a hundred.
        expect(services.map(({ dialedAtMs }) => dialedAtMs.length < 12)).toEqual([true, true])
      }
    })
  })
})

describe('the next session', () => {
  it('does not try a service that is down, before a probe has reached it', () => {
    virtually((tools) => {
      const { recognition, services } = run(tools, [{ cutAfterChunks: [5], outageMs: 60_000 }, {}], { count: 10 })
      let next: Seen | undefined
      tools.clock.schedule(() => (next = watch(tools, spoken(tools, 10).pipe(recognition))), 5_000)
      return () => {
        expect(next?.log[0]).toBe('1 streaming at 1')
        const probes = services[0]?.dialedAtMs ?? []
        // Nothing is probed while there is no session, which ends at 201 ms; the next one begins with a probe.
        expect(probes.filter((atMs) => atMs > 250 && atMs < 5_000)).toEqual([])
        expect(probes.find((atMs) => atMs >= 5_000)).toBe(5_000)
        expect(tools.clock.pending()).toBe(0)
      }
    })
  })
})

describe('a slow service', () => {
  it('is left once only if the other one is slow, too', () => {
    virtually((tools) => {
      const late = { fromMs: 0, byMs: 600 }
      const { seen } = run(tools, [{ late }, { late }, { late }], { slowMs: 400, count: 500 })
      return () => {
        expectWhole(seen, 500)
        expect(seen.log.filter((line) => line.includes('streaming')).map((line) => line.split(' at ')[1])).toEqual([
          '0',
          '1',
          '2',
        ])
      }
    })
  })

  it('is avoided by new sessions for a minute', () => {
    virtually((tools) => {
      const { recognition } = run(tools, [{ late: { fromMs: 100, byMs: 600, untilMs: 10_000 } }, {}], { slowMs: 400 })
      const later: Seen[] = []
      for (const atMs of [30_000, 62_000]) {
        tools.clock.schedule(() => later.push(watch(tools, spoken(tools, 10).pipe(recognition))), atMs)
      }
      return () => {
        expect(later.map(({ log }) => log[0])).toEqual(['1 streaming at 1', '1 streaming at 0'])
      }
    })
  })

  it('is not left with slowMs Infinity', () => {
    virtually((tools) => {
      const { seen } = run(tools, [{ late: { fromMs: 0, byMs: 5_000 } }, {}], { slowMs: Infinity })
      return () => {
        expectWhole(seen)
        expect(seen.log.filter((line) => line.includes('streaming'))).toEqual(['5001 streaming at 0'])
      }
    })
  })

  it('is one that does not read for as long', () => {
    virtually((tools) => {
      const { seen } = run(tools, [{ congestedFromMs: 500 }, {}], { slowMs: 1_000, count: 200 })
      return () => {
        expectWhole(seen, 200)
        expect(seen.log.at(-2)).toMatch(/^(1[5-9]|2[0-2])\d\d streaming at 1$/)
      }
    })
  })

  it('is not left by a source that is pulled, which waits for it', () => {
    virtually((tools) => {
      const services = servicesOf(tools, [{ late: { fromMs: 0, byMs: 5_000 } }, {}])
      const chunks = Array.from({ length: 300 }, (_none, index) => chunkOf(index))
      const seen = watch(tools, failover(services.map(({ recognition }) => recognition))(chunks))
      return () => {
        expectWhole(seen, 300)
        expect(services[1]?.dialedAtMs).toEqual([])
      }
    })
  })

  it('is used on if the other one cannot be reached', () => {
    virtually((tools) => {
      const { seen, services } = run(tools, [{ late: { fromMs: 100, byMs: 600 } }, { refuses: { with: refused } }], {
        slowMs: 400,
      })
      return () => {
        expectWhole(seen)
        expect(seen.log).toEqual(['1 streaming at 0'])
        expect(services[1]?.dialedAtMs.length).toBeGreaterThan(0)
      }
    })
  })
})

describe('failover', () => {
  const options = { url: 'ws://localhost', model: 'm', token: 'secret-token', format }
  const message = (act: () => unknown): string => {
    try {
      act()
    } catch (error) {
      return `${(error as SpeechError).code}: ${(error as SpeechError).message}`
    }
    return 'accepted'
  }

  it.each([
    ['an empty list', () => failover([])],
    ['something else', () => failover([() => NEVER])],
  ])('refuses %s', (_name, act) => {
    expect(message(act)).toBe('invalid-options: services must be a list of sessions of recognize and dataflow.')
  })

  it.each([
    ['format.sampleRateHz', { format: { ...format, sampleRateHz: 16_000 } }],
    ['format.channels', { format: { ...format, channels: 2 as const } }],
    ['stop$', { stop$: NEVER }],
    ['finalize$', { finalize$: of(1) }],
    ['continuous', { continuous: false }],
  ])('refuses services that differ in %s', (name, other) => {
    expect(message(() => failover([recognize(options), recognize({ ...options, ...other })]))).toBe(
      `invalid-options: ${name} must be the same for all services.`,
    )
  })

  it('refuses sessions that do not resume, and an unknown or wrong option', () => {
    expect(message(() => failover([recognize(options), recognize({ ...options, resumption: false })]))).toMatch(
      /resumption must not be false/,
    )
    expect(message(() => failover([recognize(options)], { slowMs: 0 }))).toMatch(/slowMs must be a number from 1/)
  })

  it('never has a token or a secret of an address in what it refuses', () => {
    const act = () => failover([recognize({ ...options, url: 'ws://example.com/?access_token=hidden' })])
    expect(message(act)).toMatch(/^invalid-options: url must begin with wss/)
    expect(message(act)).not.toContain('hidden')
  })

  it('presents to each service its own token', () => {
    virtually((tools) => {
      const presented: string[] = []
      const services = servicesOf(tools, [
        { cutAfterChunks: [10], options: { token: tokens('first', presented) } },
        { options: { token: tokens('second', presented) } },
      ])
      const seen = watch(tools, spoken(tools, 30).pipe(failover(services.map(({ recognition }) => recognition))))
      return () => {
        expectWhole(seen, 30)
        expect(presented.slice(0, 2)).toEqual(['first', 'second'])
      }
    })
  })

  it('sends updates and messages that each service accepts', () => {
    virtually((tools) => {
      const { clock, recognizing, flowing } = tools
      const service = scriptedService(clock, [plainDataflow(1)])
      const ulaw = { encoding: 'ulaw', sampleRateHz: 8000, channels: 1 } as const
      const more = { format: ulaw, resumption, buffer: { maxChunkBytes: 320 } }
      const session = failover([
        // Decodes: its messages are twice as long.
        recognizing({ dial: () => throwError(() => refused), ...more }),
        flowing({ dial: service.dial, update$: of({ settings: { Volume: 1 } }), ...more }),
      ])
      watch(tools, session([new Uint8Array(640)]))
      return () => {
        const received = service.received.map((line) => line.split(' ')[1])
        expect(received.filter((name) => name === 'audio')).toHaveLength(4)
        expect(received).toContain('Update')
      }
    })
  })

  it('releases everything when it is unsubscribed in the middle of a move', () => {
    virtually((tools) => {
      const { seen, services } = run(tools, [{ cutAfterChunks: [5] }, { isUnreachable: true }])
      tools.clock.schedule(() => seen.unsubscribe(), 500)
      return () => {
        expect(seen.end).toBeUndefined()
        expect(services.map(({ open }) => open)).toEqual([0, 0])
        expect(tools.clock.pending()).toBe(0)
      }
    })
  })

  it('ends with its stop signal, on any service', () => {
    virtually((tools) => {
      const stop$ = new Subject<void>()
      const settings = [{ cutAfterChunks: [5], options: { stop$ } }, { options: { stop$ } }]
      const { seen } = run(tools, settings, { count: 200 })
      tools.clock.schedule(() => stop$.next(), 1_000)
      return () => expect(seen.log.at(-1)).toBe('1001 stopped')
    })
  })
})

describe('stereo over several services', () => {
  const stereo = { format: { ...format, channels: 2 as const } }
  const wordsOn = ({ events }: Seen, channel: number): string =>
    events.map((event) => (event.type === 'milestone' && event.channel === channel ? event.text : '')).join('')

  it.each(transports)('moves each channel by itself from a socket to a service over %s', (over) => {
    virtually((tools) => {
      // Only the connection of the left channel is cut.
      const services = servicesOf(tools, [
        { cutAfterChunks: [53], options: stereo },
        { over, options: stereo },
      ])
      const audio$ = spoken(tools, 100).pipe(map((chunk) => interleaveChannels(chunk, chunk, 2)))
      const seen = watch(tools, audio$.pipe(failover(services.map(({ recognition }) => recognition))))
      return () => {
        expect(seen.end).toBe('complete')
        expect([wordsOn(seen, 0), wordsOn(seen, 1)]).toEqual([wordsOf(100), wordsOf(100)])
        const states = seen.events.filter((event) => event.type === 'connection' && event.state === 'streaming')
        expect(states).toEqual([
          { type: 'connection', state: 'streaming', service: 0 },
          { type: 'connection', state: 'streaming', channel: 0, service: 1 },
        ])
        expect(tools.clock.pending()).toBe(0)
      }
    })
  })

  it('names the service of each channel if they begin at different ones', () => {
    const streaming = (service: number): SessionEvent => ({ type: 'connection', state: 'streaming', service })
    const open = recognizeStereo(stereo.format, (_source, channel = 0) => of(streaming(channel + 3)))
    const events: SessionEvent[] = []
    open([]).subscribe((event) => events.push(event))
    expect(events).toEqual([
      { ...streaming(3), channel: 0 },
      { ...streaming(4), channel: 1 },
    ])
  })
})

import { happeningsOf } from './happenings.js'
import fc from 'fast-check'
import { concat, concatMap, defer, finalize, from, map, of, timer, type Observable, type ObservableInput } from 'rxjs'
import { describe, expect, it } from 'vitest'
import { isSpeechError, SpeechError } from '../../src/errors/speech-error.js'
import { transcript } from '../../src/operators/results/transcript.js'
import type { SessionEvent } from '../../src/protocol/session-event.js'
import type { SessionOptions } from '../../src/client/options.js'
import { chunkMs, chunksOf, wordOf, type Spoken } from './fake-recognition.js'
import { fakeDataflow, fakeRecognizer, type Behaviour, type Break, type FakeService } from './fake-service.js'
import { format, virtually, type Tools } from './virtual-session.js'
import { runs } from '../thorough.js'

type Over = 'websocket' | 'grpc'
const bothTransports: readonly Over[] = ['websocket', 'grpc']
/** How the audio is delivered: in real time, all at once, or on demand. */
type Pace = 'spoken' | 'at once' | 'pulled'

/** A buffer for all audio of a source that is sent at once. */
const maxReplayBytes = 10_000_000
const resumption = { firstDelayMs: 100, maxDelayMs: 2_000, budgetMs: 20_000, maxReplayBytes }

const speech = (count: number, from = 0, channels = 1): readonly Spoken[] =>
  Array.from({ length: count }, (_none, index) => Array.from({ length: channels }, () => from + index))
const silence = (ms: number, channels = 1): readonly Spoken[] =>
  Array.from({ length: ms / chunkMs }, () => Array.from({ length: channels }, () => undefined))

const isSilent = (item: Spoken): boolean => item.every((word) => word === undefined)

/** Silence is sent in longer messages. */
const messagesOf = (spoken: readonly Spoken[]): readonly (readonly Spoken[])[] => {
  const messages: Spoken[][] = []
  for (const chunk of spoken) {
    const last = messages.at(-1)
    if (last?.[0] !== undefined && isSilent(chunk) && isSilent(last[0]) && last.length < 25) last.push(chunk)
    else messages.push([chunk])
  }
  return messages
}

const sourceOf = (spoken: readonly Spoken[], pace: Pace, { clock }: Tools): ObservableInput<Uint8Array> => {
  const messages = messagesOf(spoken).map((message) => ({ bytes: chunksOf(message), forMs: message.length * chunkMs }))
  if (pace === 'pulled') return messages.map(({ bytes }) => bytes)
  if (pace === 'at once') return from(messages).pipe(map(({ bytes }) => bytes))
  return from(messages).pipe(concatMap(({ bytes, forMs }) => timer(forMs, clock).pipe(concatMap(() => of(bytes)))))
}

interface Seen {
  readonly events: SessionEvent[]
  readonly counts: FakeService<unknown>['counts']
  readonly words: FakeService<unknown>['words']
  end: string
}

const run = (
  over: Over,
  tools: Tools,
  endings: Behaviour,
  source: ObservableInput<Uint8Array>,
  given: Partial<SessionOptions> = {},
): Seen => {
  const { clock, recognizing, flowing } = tools
  const behaviour: Behaviour = { milestoneWords: [5, 5], ...endings }
  const options = {
    resumption,
    buffer: { maxMs: 300_000 },
    format: { ...format, channels: endings.channels ?? 1 },
    ...given,
  }
  const { gracefulMs = 0, heard = false } = endings
  // A half-close has no response, so a final that crosses it must state what it covers.
  const finalizeBy = heard ? 'half-close' : 'request'
  const open = (): [Observable<SessionEvent>, Pick<Seen, 'counts' | 'words'>] => {
    if (over === 'websocket') {
      const { dial, ...service } = fakeRecognizer(clock, behaviour)
      return [
        recognizing({ ...options, dial, voiceActivity: { gracefulSilenceThresholdMs: gracefulMs } })(source),
        service,
      ]
    }
    const { dial, ...service } = fakeDataflow(clock, behaviour)
    return [
      flowing({ ...options, dial, finalizeBy, settings: { VadGracefulSilenceThresholdMsec: gracefulMs } })(source),
      service,
    ]
  }
  const [session$, service] = open()
  const seen: Seen = { events: [], ...service, end: 'none' }
  session$.subscribe({
    next: (value) => seen.events.push(value),
    complete: () => (seen.end = 'complete'),
    error: (error: unknown) => (seen.end = isSpeechError(error) ? error.code : String(error)),
  })
  return seen
}

const wordsIn = (events: readonly SessionEvent[], type: 'milestone' | 'final', channel = 0): readonly string[] =>
  events
    .flatMap((event) => (event.type === type && (event.channel ?? 0) === channel ? [event.text] : []))
    .join(' ')
    .split(/\s+/)
    .filter((word) => word !== '')

const wordsOf = (spoken: readonly Spoken[], channel = 0): readonly string[] =>
  spoken.flatMap((chunk) => (chunk[channel] === undefined ? [] : [wordOf(channel, chunk[channel])]))

const ledgerOf = (events: readonly SessionEvent[], channel?: number): readonly number[] => {
  const last = events.flatMap((event) => (event.type === 'ledger' && event.channel === channel ? [event] : [])).at(-1)
  return last === undefined
    ? []
    : [last.capturedMs, last.finalizedMs, last.pendingMs + last.replayedPendingMs, last.droppedMs]
}
const statesOf = (events: readonly SessionEvent[]): readonly string[] => events.flatMap((event) => happeningsOf(event))
const gapsOf = (events: readonly SessionEvent[]) => events.flatMap((event) => (event.type === 'gap' ? [event] : []))

describe.each(bothTransports)('a session over %s whose service ends recognitions by itself', (over) => {
  it.each<Pace>(['spoken', 'at once', 'pulled'])('recognizes speech after silence, where the audio is %s', (pace) => {
    virtually((tools) => {
      const spoken = [...speech(40), ...silence(13_000), ...speech(40, 40)]
      const endings = { channels: 1, timed: true, gracefulMs: 10_000 } as const
      const seen = run(over, tools, endings, sourceOf(spoken, pace, tools))
      return () => {
        const { events, end, counts } = seen
        expect(wordsIn(events, 'milestone')).toEqual(wordsOf(spoken))
        expect(wordsIn(events, 'final')).toEqual(wordsOf(spoken))
        expect(events.filter(({ type }) => type === 'final')).toHaveLength(2)
        expect([end, counts.recognitions]).toEqual(['complete', 2])
        // On one socket; a stream has one recognition.
        expect(counts.connections).toBe(over === 'grpc' ? 2 : 1)
        const [captured = 0, finalized = 0, pending, dropped = 0] = ledgerOf(events)
        expect([captured, pending]).toEqual([14_600, 0])
        expect(finalized + dropped).toBe(captured)
        for (const { cause, fromMs, toMs } of gapsOf(events)) {
          expect([cause, fromMs >= 800, toMs <= 13_800 - 3_000]).toEqual(['silence', true, true])
        }
        expect(statesOf(events)).not.toContain('reconnecting')
      }
    })
  })

  it('counts time from the first sample of the source in all of them', () => {
    virtually((tools) => {
      const spoken = [...speech(5), ...silence(3_000), ...speech(5, 5), ...silence(3_000), ...speech(5, 10)]
      const seen = run(over, tools, { channels: 1, timed: true, gracefulMs: 1_000 }, sourceOf(spoken, 'spoken', tools))
      const times = (type: 'milestone' | 'final'): unknown =>
        seen.events.flatMap((event) => (event.type === type ? [[event.startMs, event.endMs]] : []))
      const expected = [
        [0, 100],
        [3_100, 3_200],
        [6_200, 6_300],
      ]
      return () => expect([times('milestone'), times('final')]).toEqual([expected, expected])
    })
  })

  it('loses no recognition and uses none of the retry budget in twenty silences of three minutes', () => {
    virtually((tools) => {
      const spoken = Array.from({ length: 20 }, (_none, nth) => [...speech(5, nth * 5), ...silence(180_000)]).flat()
      const endings = { channels: 1, timed: true, gracefulMs: 10_000, closesAfterMs: 30_000 } as const
      // A budget for at most one attempt.
      const given = { resumption: { ...resumption, budgetMs: 60 } }
      const seen = run(over, tools, endings, sourceOf(spoken, 'spoken', tools), given)
      return () => {
        const { events, end, counts } = seen
        expect(wordsIn(events, 'milestone')).toEqual(wordsOf(spoken))
        expect([end, counts.recognitions, counts.connections]).toEqual(['complete', 20, 20])
        expect(statesOf(events)).not.toContain('reconnecting')
        const [captured = 0, finalized = 0, pending, dropped = 0] = ledgerOf(events)
        expect([captured, pending, finalized + dropped]).toEqual([20 * 180_100, 0, captured])
        expect(new Set(gapsOf(events).map(({ cause }) => cause))).toEqual(new Set(['silence']))
      }
    })
  })

  it('continues after a muted microphone, which emits no bytes', () => {
    virtually((tools) => {
      const muted$ = timer(45_000, tools.clock).pipe(concatMap(() => []))
      const spokenSource = (item: readonly Spoken[]) => from(sourceOf(item, 'spoken', tools))
      const source$ = concat(spokenSource(speech(10)), muted$, spokenSource(speech(10, 10)))
      const seen = run(over, tools, { channels: 1, timed: true, idleMs: 30_000 }, source$)
      return () => {
        const { events, end, counts } = seen
        expect(wordsIn(events, 'milestone')).toEqual(wordsOf(speech(20)))
        expect([end, counts.recognitions]).toEqual(['complete', 2])
        expect(ledgerOf(events)).toEqual([400, 400, 0, 0])
      }
    })
  })

  it('starts no recognition in silence, and none for a source that ends in it', () => {
    virtually((tools) => {
      const spoken = [...speech(10), ...silence(600_000)]
      const seen = run(over, tools, { channels: 1, timed: true, gracefulMs: 10_000 }, sourceOf(spoken, 'spoken', tools))
      return () => {
        const { events, end, counts } = seen
        expect([end, counts.recognitions]).toEqual(['complete', 1])
        expect(ledgerOf(events)).toEqual([600_200, 200, 0, 600_000])
        expect(gapsOf(events).map(({ fromMs, toMs, cause }) => [fromMs, toMs, cause])).toEqual([
          [200, 600_200, 'silence'],
        ])
      }
    })
  })

  it('sends at least 3 s of the silence before a sound, so that no onset is cut', () => {
    virtually((tools) => {
      const spoken = [...speech(10), ...silence(60_000), ...speech(10, 10)]
      const seen = run(over, tools, { channels: 1, timed: true, gracefulMs: 10_000 }, sourceOf(spoken, 'spoken', tools))
      return () => expect(gapsOf(seen.events).map(({ toMs }) => toMs)).toEqual([60_200 - 3_000])
    })
  })

  it('gives up, within the budget, on a service that ends every recognition as soon as it has started', () => {
    virtually((tools) => {
      const endings = { channels: 1, timed: false, endsAfterChunks: Array<number>(10_000).fill(1) } as const
      const seen = run(over, tools, endings, sourceOf(speech(3_000), 'spoken', tools))
      return () => {
        const { events, end, counts } = seen
        expect(end).toBe('connection-lost')
        expect(counts.recognitions).toBeLessThan(60)
        const [captured = 0, finalized = 0, pending, dropped = 0] = ledgerOf(events)
        expect([pending, finalized + dropped]).toEqual([0, captured])
      }
    })
  })

  it('emits one final per recognition, whatever the service repeats', () => {
    virtually((tools) => {
      const spoken = [...speech(10), ...silence(3_000), ...speech(10, 10)]
      const endings = { channels: 1, timed: true, gracefulMs: 2_000, finalsTwice: true } as const
      const seen = run(over, tools, endings, sourceOf(spoken, 'spoken', tools))
      return () => {
        const { events } = seen
        expect(events.filter(({ type }) => type === 'final')).toHaveLength(2)
        const unknown = events.flatMap((event) => (event.type === 'unknown' ? [event.reason] : []))
        expect(unknown.length).toBeGreaterThan(0)
        expect(new Set(unknown)).toEqual(new Set(['A repeated final.']))
      }
    })
  })

  it('accumulates to the complete text, however many recognitions it took', () => {
    virtually((tools) => {
      const spoken = [...speech(10), ...silence(3_000), ...speech(10, 10), ...silence(3_000), ...speech(3, 20)]
      const seen = run(over, tools, { channels: 1, timed: true, gracefulMs: 2_000 }, sourceOf(spoken, 'spoken', tools))
      return () => {
        const { events } = seen
        let text = ''
        from(events)
          .pipe(transcript())
          .subscribe((transcript) => (text = transcript.text))
        expect(text).toBe(wordsOf(spoken).join(' '))
        expect(events.flatMap((event) => (event.type === 'milestone' ? [event.text] : [])).join('')).toBe(text)
      }
    })
  })

  it('ends with its first recognition if it is not continuous, and unsubscribes from the source immediately', () => {
    virtually((tools) => {
      const spoken = [...speech(40), ...silence(13_000), ...speech(40, 40)]
      let leftAtMs: number | undefined
      const startMs = tools.clock.now()
      const source$ = defer(() => sourceOf(spoken, 'spoken', tools)).pipe(
        finalize(() => (leftAtMs = tools.clock.now() - startMs)),
      )
      const endings = { channels: 1, timed: true, gracefulMs: 10_000 } as const
      const seen = run(over, tools, endings, source$, { continuous: false })
      return () => {
        const { events } = seen
        expect(wordsIn(events, 'milestone')).toEqual(wordsOf(speech(40)))
        expect([seen.end, leftAtMs]).toEqual(['complete', 10_800])
        // The connection takes a millisecond; audio captured meanwhile is sent late, and the last chunk was not
        // recognized.
        expect(gapsOf(events)).toMatchObject([{ fromMs: 800, toMs: 10_800, cause: 'ended' }])
        expect(ledgerOf(events)).toEqual([10_800, 800, 0, 10_000])
      }
    })
  })
})

describe('a stereo call', () => {
  // Two recognitions that share a pulled source wait for each other with promises, which do not use virtual time.
  it.each<[Over, Pace]>([
    ['websocket', 'spoken'],
    ['websocket', 'at once'],
    ['grpc', 'spoken'],
    ['grpc', 'pulled'],
  ])('over %s keeps a guest who is silent for the first 15 s, where it is %s', (over, pace) => {
    virtually((tools) => {
      const spoken = Array.from({ length: 1_000 }, (_none, index) => [
        index % 50 < 40 ? index : undefined,
        index < 750 || index % 50 < 10 ? undefined : index,
      ])
      const seen = run(over, tools, { channels: 2, timed: true, gracefulMs: 10_000 }, sourceOf(spoken, pace, tools))
      return () => {
        const { events, end } = seen
        for (const channel of [0, 1]) {
          const words = wordsIn(events, 'milestone', channel).map((word) => word.slice(1))
          expect(words).toEqual(wordsOf(spoken, channel).map((word) => word.slice(1)))
        }
        expect(end).toBe('complete')
        for (const { cause, channel } of gapsOf(events)) expect([cause, channel]).toEqual(['silence', 1])
      }
    })
  })
})

/** A service that ends recognitions at any time, and audio of speech and silence in any mixture. */
const plots = fc.record({
  over: fc.constantFrom(...bothTransports),
  channels: fc.constantFrom<(1 | 2)[]>(1, 2),
  timed: fc.boolean(),
  gracefulMs: fc.constantFrom(undefined, 400, 2_000, 10_000),
  endsAfterChunks: fc.array(fc.constantFrom(30, 60, 200, 900), { maxLength: 6 }),
  closesAfterMs: fc.constantFrom(undefined, 0, 1, 700),
  finalsTwice: fc.boolean(),
  heard: fc.boolean(),
  stretches: fc.array(fc.tuple(fc.integer({ min: 1, max: 60 }), fc.constantFrom(20, 500, 3_000, 15_000)), {
    minLength: 1,
    maxLength: 6,
  }),
  cutsAfterChunks: fc.constant<number[]>([]),
  continuous: fc.constantFrom(true, true, true, false),
})

type Plot = typeof plots extends fc.Arbitrary<infer One> ? One : never

/** The final of the last of these recognitions crosses the finalize request, and leaves words unread. */
const crossed: Plot = {
  ...{ over: 'grpc', channels: 1, timed: false, gracefulMs: 2_000, closesAfterMs: undefined, finalsTwice: false },
  ...{ heard: false, endsAfterChunks: [30, 30, 60], cutsAfterChunks: [], continuous: true },
  stretches: [
    [1, 3_000],
    [11, 20],
  ],
}
const crossedStereo: Plot = { ...crossed, channels: 2, endsAfterChunks: [30, 30], stretches: [[36, 20]] }
const crossedSocket: Plot = {
  ...{ ...crossed, over: 'websocket', gracefulMs: undefined, closesAfterMs: 0, endsAfterChunks: [200, 900, 30] },
  stretches: [
    [59, 20],
    [47, 15_000],
    [47, 20],
  ],
}
const crossings = [crossed, crossedStereo, crossedSocket]
/** Another connection reads all words again. */
const repeated: Plot = {
  ...{ ...crossedSocket, channels: 2, closesAfterMs: 1, finalsTwice: true, endsAfterChunks: [900, 200] },
  stretches: [
    [53, 3_000],
    [56, 500],
    [52, 3_000],
    [11, 3_000],
    [56, 3_000],
    [39, 3_000],
  ],
}

/** Every third breaks without the results of the same message. */
const breakOf = (afterChunks: number, nth: number): Break => ({
  afterChunks,
  sendsResults: nth % 3 !== 2,
  cause: new SpeechError(nth % 2 === 1 ? 'connection-lost' : 'going-away', 'Cut.'),
})

const play = (plot: Plot, wanted: Pace): Seen & { readonly spoken: readonly Spoken[] } => {
  const pace = plot.over === 'websocket' && plot.channels === 2 && wanted === 'pulled' ? 'at once' : wanted
  const { channels, stretches, continuous, gracefulMs, closesAfterMs, cutsAfterChunks, ...endings } = plot
  let word = 0
  const spoken = stretches.flatMap(([count, silentMs]) => {
    word += count
    return [...speech(count, word - count, channels), ...silence(silentMs, channels)]
  })
  let seen: Seen | undefined
  virtually((tools) => {
    const given = {
      ...endings,
      breaks: cutsAfterChunks.map(breakOf),
      channels,
      ...(gracefulMs && { gracefulMs }),
      ...(closesAfterMs !== undefined && { closesAfterMs }),
    }
    // Each connection may read seconds of silence again, which is no progress.
    const patient = { ...resumption, budgetMs: 600_000 }
    const playing = run(plot.over, tools, given, sourceOf(spoken, pace, tools), { continuous, resumption: patient })
    return () => {
      seen = playing
      expect(tools.clock.pending()).toBe(0)
    }
  })
  if (seen === undefined) throw new Error('It was not run.')
  return { ...seen, spoken }
}

const checkAccount = (
  events: readonly SessionEvent[],
  spoken: readonly Spoken[],
  channel: number | undefined,
): void => {
  const ledgers = events.flatMap((event) => (event.type === 'ledger' && event.channel === channel ? [event] : []))
  for (const ledger of ledgers) {
    const { capturedMs, finalizedMs, pendingMs, replayedPendingMs, droppedMs, sentMs } = ledger
    expect(finalizedMs + pendingMs + replayedPendingMs + droppedMs).toBeCloseTo(capturedMs, 6)
    expect(Math.min(finalizedMs, pendingMs, replayedPendingMs, droppedMs)).toBeGreaterThanOrEqual(0)
    expect(finalizedMs).toBeLessThanOrEqual(sentMs)
  }
  const gaps = gapsOf(events).filter((gap) => gap.channel === channel)
  const droppedMs = gaps.reduce((sum, { fromMs, toMs }) => sum + toMs - fromMs, 0)
  expect(ledgers.at(-1)?.droppedMs).toBeCloseTo(droppedMs, 6)
  expect([ledgers.at(-1)?.pendingMs, ledgers.at(-1)?.replayedPendingMs]).toEqual([0, 0])
  for (const { cause, fromMs, toMs } of gaps.filter((gap) => gap.cause === 'silence')) {
    const lost = spoken.filter(
      (chunk, at) => chunk.some((word) => word !== undefined) && at * chunkMs < toMs && (at + 1) * chunkMs > fromMs,
    )
    expect([cause, lost]).toEqual(['silence', []])
  }
}

const check = (plot: Plot, pace: Pace): ReturnType<typeof play> => {
  const seen = play(plot, pace)
  const { events, end, spoken } = seen
  expect(end).toBe('complete')
  const accounts = plot.over === 'websocket' && plot.channels === 2 ? [0, 1] : [undefined]
  for (const account of accounts) checkAccount(events, spoken, account)
  for (let channel = 0; channel < plot.channels; channel++) {
    const words = [...new Set([...wordsIn(events, 'milestone', channel), ...wordsIn(events, 'final', channel)])]
    expect(wordsIn(events, 'milestone', channel)).toHaveLength(new Set(wordsIn(events, 'milestone', channel)).size)
    const numbers = words.map((word) => Number(word.slice(1)))
    const whole = wordsOf(spoken, channel).map((word) => Number(word.slice(1)))
    if (plot.continuous) expect(numbers.sort((a, b) => a - b)).toEqual(whole)
    else expect(whole.slice(0, numbers.length)).toEqual(numbers.sort((a, b) => a - b))
  }
  return seen
}

describe('a session with a service that ends recognitions at any time', () => {
  it('emits every word once and accounts for all audio', { timeout: 120_000 }, () => {
    fc.assert(
      fc.property(
        plots,
        fc.constantFrom<Pace[]>('spoken', 'at once', 'pulled'),
        (plot, pace) => void check(plot, pace),
      ),
      {
        numRuns: runs(150),
        examples: [[repeated, 'at once'], ...crossings.map((plot): [Plot, Pace] => [plot, 'pulled'])],
      },
    )
  })

  it('emits the same text and loses nothing at any pace, if the service sends times', { timeout: 120_000 }, () => {
    const results = ({ events }: Seen): unknown => ({
      text: events.flatMap((event) => (event.type === 'milestone' ? [event.text] : [])).join(''),
      causes: [...new Set(gapsOf(events).map(({ cause }) => cause))].filter((cause) => cause !== 'silence'),
      estimated: events.some((event) => event.type === 'ledger' && event.estimated),
    })
    fc.assert(
      fc.property(plots, (plot) => {
        const timed = { ...plot, timed: true, channels: 1, continuous: true } as const
        const expected = results(check(timed, 'spoken'))
        for (const pace of ['at once', 'pulled'] as const) expect(results(check(timed, pace))).toEqual(expected)
      }),
      { numRuns: runs(60) },
    )
  })

  it(
    'neither loses a word nor claims what the service has not received, also if connections break',
    { timeout: 240_000 },
    () => {
      const cuts = fc.array(fc.constantFrom(1, 7, 40, 110, 300, 800), { minLength: 1, maxLength: 5 })
      fc.assert(
        fc.property(
          plots,
          cuts,
          fc.constantFrom<Pace[]>('spoken', 'at once', 'pulled'),
          (plot, cutsAfterChunks, pace) => {
            const { events, words, spoken } = check({ ...plot, continuous: true, cutsAfterChunks }, pace)
            const isPair = plot.over === 'websocket' && plot.channels === 2
            for (let channel = 0; channel < plot.channels; channel++) {
              const gaps = gapsOf(events).filter((gap) => !isPair || gap.channel === channel)
              for (const [at, item] of spoken.entries()) {
                const word = item[channel]
                const isLost = gaps.some(({ fromMs, toMs }) => fromMs < (at + 1) * chunkMs && toMs > at * chunkMs)
                if (word !== undefined && !isLost)
                  expect([word, words[isPair ? 0 : channel]?.has(word)]).toEqual([word, true])
              }
            }
          },
        ),
        { numRuns: runs(160), examples: crossings.map((plot) => [plot, [800], 'pulled']) },
      )
    },
  )
})
